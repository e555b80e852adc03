// Fails when a file or a function is larger than the house allows (limits.ts). Generated files are exempt.
import { globSync, readFileSync } from 'node:fs';
import { findExcesses, LIMITS } from './limits.js';

const files = globSync('{src,test,tools,images}/**/*.ts', { exclude: (path) => /(^|\/)(generated|node_modules)(\/|$)/.test(path) }).sort();
const excesses = files.flatMap((file) => findExcesses(file, readFileSync(file, 'utf8')));
for (const { file, line, what, value, limit } of excesses) console.log(`${file}:${line}: ${value} ${what}, more than ${limit}`);
if (excesses.length > 0) {
  console.log(
    `${excesses.length} over the limits: split them (limits: ${LIMITS.fileLines} lines a file, ${LIMITS.functionLines} a function, complexity ${LIMITS.complexity})`,
  );
  process.exitCode = 1;
} else {
  console.log(`${files.length} files are within the limits`);
}
