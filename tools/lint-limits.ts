// Fails when a file or a function is larger than the house allows (limits.ts), or the converter makes elements of no type (element-types.ts). Generated
// files are exempt.
import { globSync, readFileSync } from 'node:fs';
import { findUntyped } from './element-types.js';
import { findExcesses, LIMITS } from './limits.js';

const files = globSync('{src,test,tools,images}/**/*.ts', { exclude: (path) => /(^|\/)(generated|node_modules)(\/|$)/.test(path) }).sort();
const excesses = files.flatMap((file) => findExcesses(file, readFileSync(file, 'utf8')));
for (const { file, line, what, value, limit } of excesses) console.log(`${file}:${line}: ${value} ${what}, more than ${limit}`);
const untyped = files.flatMap((file) => findUntyped(file, readFileSync(file, 'utf8')));
for (const { file, line } of untyped)
  console.log(`${file}:${line}: this function makes an object; state its return type, so that misspelt keys do not compile`);
if (untyped.length > 0) process.exitCode = 1;
if (excesses.length > 0) {
  console.log(
    `${excesses.length} over the limits: split them (limits: ${LIMITS.fileLines} lines a file, ${LIMITS.functionLines} a function, complexity ${LIMITS.complexity})`,
  );
  process.exitCode = 1;
} else {
  console.log(`${files.length} files are within the limits`);
}
