// Which functions of the converter must say what they make.
import { expect, it } from 'vitest';
import { findUntyped } from './element-types.js';

const STEP = 'src/core/converter/steps/x.ts';

it.each<[string, string, number[]]>([
  ['a callback', 'const a = xs.map((x) => ({ x }));', [1]],
  ['one of a choice, and of a list', 'const a = xs.map((x) =>\n x ? [{ x }] : []);', [1]],
  ['one that there may be', 'const a = (x) => x && { x };', [1]],
  ['a method', '\nconst a = { render() { if (x) return y; return { x }; } };', [2]],
  ['the function inside, not the one around', 'function a() {\n const b = () => ({ x });\n return b; }', [2]],
  ['not one that says it', 'const a = xs.map((x): X => ({ x })); function b(): X { return { x }; }', []],
  ['not one that makes no object', 'const a = xs.map((x) => f({ x }));', []],
])('finds %s', (_title, text, lines) => {
  expect(findUntyped(STEP, text).map(({ line }) => line)).toEqual(lines);
});

it('looks at the converter only, and not at tests', () => {
  for (const file of ['src/core/storage/x.ts', 'src/core/converter/steps/x.test.ts', 'src/core/converter/scope.ts'])
    expect(findUntyped(file, 'const a = () => ({});')).toEqual([]);
});
