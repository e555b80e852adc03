// The limits are measured on real syntax: what counts as a branch, as a function, as a suite of tests.
import { describe, expect, it } from 'vitest';
import { findExcesses } from './limits.js';

const whats = (text: string, file = 'src/x.ts') => findExcesses(file, text).map(({ line, what, value }) => `${line}: ${value} ${what}`);
const filler = (lines: number) => '  x();\n'.repeat(lines);

describe('lines', () => {
  it.each([
    ['400 lines are allowed', `${'\n'.repeat(399)}x`, []],
    ['401 are not', `${'\n'.repeat(400)}x`, ['1: 401 lines in the file']],
    ['a function of 60', `function f() {\n${filler(58)}}`, []],
    ['a function of 61', `function f() {\n${filler(59)}}`, ['1: 61 lines in f']],
    ['an arrow has the name of its variable', `\nconst g = () => {\n${filler(59)}};`, ['2: 61 lines in g']],
    ['a method', `class A {\nm() {\n${filler(59)}}\n}`, ['2: 61 lines in m']],
    ['a describe is a list', `describe('a', () => {\n${filler(70)}});`, []],
    ['so is describe.each', `describe.each([1])('a', () => {\n${filler(70)}});`, []],
    ['and a shared suite', `function suite() {\n${filler(70)}it('a', () => {});\n}`, []],
    ['a test is not', `describe('a', () => {\nit('b', () => {\n${filler(60)}});\n});`, ['2: 62 lines in a function without a name']],
  ])('%s', (_title, text, expected) => {
    expect(whats(text)).toEqual(expected);
  });
});

describe('complexity', () => {
  const many = (code: string, count: number) => `function f() {\n${`${code};`.repeat(count)}\n}`;
  it.each([
    ['nine ifs', many('if (a) b()', 9), []],
    ['ten ifs', many('if (a) b()', 10), ['1: 11 complexity of f']],
    ['loops', many('for (const x of y) z()', 10), ['1: 11 complexity of f']],
    ['and, or', many('a && b || c', 5), ['1: 11 complexity of f']],
    ['a choice', many('a ? b : c', 10), ['1: 11 complexity of f']],
    ['defaults are no branches', many('a ?? b', 20), []],
    ['a switch counts its cases', `function f() { switch (a) { ${'case 1: break;'.repeat(10)} default: } }`, ['1: 11 complexity of f']],
    [
      'a function inside counts for itself',
      `function f() {\n${'if (a) b();'.repeat(6)}\nconst g = () => {${'if (a) b();'.repeat(6)}};\n}`,
      [],
    ],
  ])('%s', (_title, text, expected) => {
    expect(whats(text)).toEqual(expected);
  });
});
