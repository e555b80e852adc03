// What CEL's specification says of expressions, by its chapters: the same results, and errors where it wants errors. Protocol buffers and optional
// values are left out, as plugins have none (docs/adr/0013-cel-by-library.md).
import { describe, expect, it } from 'vitest';
import { evaluate } from './evaluate.js';
import { CelMap, type CelValue, Uint } from './values.js';

const FAULT = Symbol('fault');
type Row = readonly [string, CelValue | typeof FAULT];

function shown(value: CelValue): unknown {
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof CelMap) return new Map(value.keys().map((key) => [shown(key), shown(value.entry(key) ?? null)]));
  return Array.isArray(value) ? value.map(shown) : value;
}

const check = ([text, expected]: Row): void => {
  const result = evaluate(text, { x: 3n, name: 'Ω' });
  if (expected === FAULT) expect(result.ok ? shown(result.value) : 'fault').toBe('fault');
  else expect(result.ok ? shown(result.value) : result.error).toEqual(shown(expected));
};

const MAX = 9223372036854775807n;

const CHAPTERS: Readonly<Record<string, readonly Row[]>> = {
  literals: [
    ['0x55555555', 1431655765n],
    ['4u', new Uint(4n)],
    ['-2.3e1', -23],
    ['"\\x41\\u00c5\\101"', 'AÅA'],
    ["r'\\x'", '\\x'],
    ['null', null],
    ['{"k": [1, 2.0]}', new CelMap([['k', [1n, 2]]])],
    ['{1: 1, 1: 2}', FAULT],
    ['{1.5: 1}', FAULT],
  ],
  'whole numbers': [
    [`${MAX} + 1`, FAULT],
    [`-${MAX} - 2`, FAULT],
    [`${MAX} * 2`, FAULT],
    ['7 / -2', -3n],
    ['-7 % 3', -1n],
    ['1 % 0', FAULT],
    ['0u - 1u', FAULT],
    ['18446744073709551615u + 1u', FAULT],
    ['43u % 10u', new Uint(3n)],
    ['-(5)', -5n],
    ['-(5u)', FAULT],
  ],
  'floating point': [
    ['1.0 / 0.0 > 1e308', true],
    ['0.0 / 0.0 == 0.0 / 0.0', false],
    ['1.5 + 1.5', 3],
    ['1.5 % 1.0', FAULT],
    ['1 + 1.0', FAULT],
  ],
  comparisons: [
    ['1 == 1.0 && 1u == 1 && 1.0 == 1u', true],
    ['1 < 1.5 && 2u > 1.5', true],
    ['"a" < "b" && "A" < "a"', true],
    ['false < true', true],
    ['[1, 2] == [1.0, 2u]', true],
    ['{"a": 1} == {"a": 1.0}', true],
    ['"1" == 1', false],
    ['null == 0', false],
    ['1 < "a"', FAULT],
    ['2 in [1, 2.0]', true],
    ['"k" in {"k": 1} && !("v" in {"k": "v"})', true],
  ],
  logic: [
    ['true || 1 / 0 == 1', true],
    ['1 / 0 == 1 || true', true],
    ['false && 1 / 0 == 1', false],
    ['1 / 0 == 1 && true', FAULT],
    ['true && 1', FAULT],
    ['true ? 1 : 1 / 0', 1n],
    ['1 ? 2 : 3', FAULT],
  ],
  macros: [
    ['[1, 2].all(e, e > 0)', true],
    ['[1, 2].all(e, 1 / (e - 1) > 5)', false],
    ['[0, 2].exists(e, 4 / e == 2)', true],
    ['[0].exists(e, 4 / e == 2)', FAULT],
    ['[].exists_one(e, true)', false],
    ['{"a": 1, "b": 2}.filter(k, k == "b")', ['b']],
    ['[1, 2, 3].map(e, e > 1, e * e)', [4n, 9n]],
    ['[[1], [2]].map(x, x.map(x, x + 1))', [[2n], [3n]]],
    ['[1].map(x, x + 1)[0] + x', 5n],
    ['has({"a": null}.a)', true],
    ['has({"a": 1}.b)', false],
    ['{"a": 1}.b', FAULT],
    ['{"a-b": 1}.`a-b`', 1n],
  ],
  'texts and lists': [
    ['size("Ωé😀")', 3n],
    ['name + "!"', 'Ω!'],
    ['"hubba".matches("ubb") && !"hubba".matches("^ubb")', true],
    ['"A".matches("(?i)a")', true],
    ['"aa".matches("(a)\\\\1")', FAULT],
    ['"abc".contains("") && "abc".endsWith("bc")', true],
    ['[1] + [2.0, "x"]', [1n, 2, 'x']],
    ['[7, 8][0.0] + [7, 8][1u]', 15n],
    ['[7][1]', FAULT],
    ['[7][-1]', FAULT],
  ],
  conversions: [
    ['int("-9") + int(2.9) + int(3u)', -4n],
    ['int(1e19)', FAULT],
    ['uint(-1)', FAULT],
    ['uint("7")', new Uint(7n)],
    ['double("-inf") < 0.0 && double(7) == 7.0', true],
    ['string(1u) + string(-2) + string(true) + string(1.5)', '1-2true1.5'],
    ['bool("t") && !bool("FALSE")', true],
    ['bool("yes")', FAULT],
    ['dyn(1) == 1', true],
    ['type(1u) == uint && type([]) == list && type(type(1)) == type', true],
  ],
  'points in time and spans of it': [
    ['string(timestamp("2009-02-13T23:31:30.5Z"))', '2009-02-13T23:31:30.5Z'],
    ['int(timestamp("2009-02-13T23:31:30Z")) + int(timestamp(1))', 1234567891n],
    ['string(duration("-1h30m0.25s")) + string(duration("0"))', '-5400.25s0s'],
    ['duration("3600s") == duration("1h") && duration("1ns") < duration("1us")', true],
    ['timestamp("2024-02-28T12:00:00Z") + duration("24h") == timestamp("2024-02-29T12:00:00Z")', true],
    ['string(timestamp(10) - timestamp(70)) + string(timestamp(0) - duration("1s"))', '-60s1969-12-31T23:59:59Z'],
    ['timestamp(0) + timestamp(0)', FAULT],
    ['timestamp("9999-12-31T23:59:59Z") + duration("1s")', FAULT],
    ['timestamp("2009-02-30")', FAULT],
    ['duration("1")', FAULT],
    ['timestamp("2009-02-13T23:31:30Z").getMonth() + timestamp("2009-02-13T23:31:30Z").getDate()', 14n],
    ['timestamp("2009-02-13T23:31:30Z").getHours("02:00")', 1n],
    ['timestamp("2009-02-13T23:31:30Z").getDayOfWeek("Australia/Sydney")', 6n],
    ['timestamp("2009-02-13T23:31:30Z").getHours("nowhere")', FAULT],
    ['timestamp("2009-02-13T23:31:30Z").getDayOfYear()', 43n],
    ['duration("90m").getHours() + duration("90m").getMinutes()', 91n],
    ['[duration("2s"), duration("1s")].exists(d, d > duration("1s"))', true],
  ],
  'functions for node hooks': [
    ['"tacocat".indexOf("a", 3) + "tacocat".lastIndexOf("c")', 9n],
    ['"ABCé".lowerAscii() + "é".upperAscii()', 'abcéé'],
    ['"hello".substring(1, 3) + "hello".charAt(4)', 'elo'],
    ['"hello".substring(3, 1)', FAULT],
    ['"a,b,c".split(",", 2)', ['a', 'b,c']],
    ['["x", "y"].join("-") + "abab".replace("a", "_", 1)', 'x-y_bab'],
    ['"\\u00a0 x ".trim() + "abc".reverse()', 'xcba'],
    ['"%s is %d of %.1f %x %e %%".format(["a", 2, 3.25, 255, 1.0])', 'a is 2 of 3.2 ff 1.000000e+00 %'],
    ['"%d".format(["a"])', FAULT],
    ['strings.quote("a\\n\\"b\\"")', '"a\\n\\"b\\""'],
    ['math.greatest(1, 5.5, 3u) == 5.5 && math.least([3, 1]) == 1', true],
    ['math.abs(-3) + math.sign(-9)', 2n],
    ['math.round(-1.5) + math.ceil(0.2) + math.floor(-0.2) + math.trunc(1.9)', -1],
    ['math.bitAnd(6u, 3u)', new Uint(2n)],
    ['math.bitShiftRight(-1024, 3)', 2305843009213693824n],
    ['math.isNaN(0.0 / 0.0) && math.isInf(1.0 / 0.0) && math.isFinite(1.0)', true],
    ['[3, 1, 2, 1].distinct().sort()', [1n, 2n, 3n]],
    ['[1, [2, [3]]].flatten()', [1n, 2n, [3n]]],
    ['lists.range(3).reverse().slice(0, 2)', [2n, 1n]],
  ],
};

describe.each(Object.entries(CHAPTERS))('%s', (_, rows) => {
  it.each(rows.map((row): [string, Row] => [row[0], row]))('%s', (_text, row) => check(row));
});

describe('what would never end, or break its reader,', () => {
  const doubled = 'abcdefghijklmnopqrstuvwxyz'.split('').reduce((inner, name) => `["xxxx"].map(${name}, ${inner})`, '1');
  it.each([
    ['too long', `"${'x'.repeat(20_000)}"`, 'longer than'],
    ['brackets', `${'['.repeat(2_000)}${']'.repeat(2_000)}`, 'nested too deeply'],
    ['signs', `${'!'.repeat(9_000)}true`, 'nested too deeply'],
    ['a chain of sums', `1${' + 1'.repeat(3_000)}`, 'nested too deeply'],
    ['a chain of fields', `x${'.a'.repeat(5_000)}`, 'nested too deeply'],
    ['loops in loops', '[1,2,3,4,5,6,7,8,9,0]'.concat('.all(a, true)').replace('true', nested(6)), 'takes more than'],
    ['texts that double', `["${'x'.repeat(64)}"]${growing(24)}`, 'takes more than'],
    ['lists that double', `[[1, 2, 3]]${growing(24)}`, 'takes more than'],
    ['no loop at all', doubled, undefined],
  ])('%s', (_, text, fault) => {
    const result = evaluate(text, {});
    expect(result.ok ? undefined : result.error).toEqual(fault && expect.stringContaining(fault));
  });
});

function nested(depth: number): string {
  return depth === 0 ? 'true' : `[1,2,3,4,5,6,7,8,9,0].all(${'abcdefgh'[depth]}, ${nested(depth - 1)})`;
}

function growing(times: number): string {
  return '.map(v, v + v)'.repeat(times);
}
