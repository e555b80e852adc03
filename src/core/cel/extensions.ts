// Functions and methods for texts, lists and numbers beyond CEL's own, as its extensions have them: conditions of node hooks may use them. In the
// form of ./functions.ts. Pure.
import { formatted } from './format.js';
import { type CelFunction, def, type FunctionTable, index, letters, ofTexts, type Run, text, wholeNumber } from './signature.js';
import { joined, listOf, type Type } from './types.js';
import { ABSENT, arithmetic, type CelValue, compare, equal, listed, Uint, uintOf } from './values.js';

const mapText = (work: (value: string) => string): readonly CelFunction[] => [
  def(
    ['string'],
    'string',
    ofTexts((value = '') => work(value)),
  ),
];

/** Places are counted in letters, not in the halves that JavaScript counts. */
function placeOf(value: string, part: string, from: number, backwards: boolean): bigint | undefined {
  const [all, wanted] = [letters(value), letters(part)];
  if (from < 0 || from > all.length) return undefined;
  const fitsAt = (place: number): boolean => wanted.every((letter, i) => all[place + i] === letter);
  const places = Array.from({ length: Math.max(0, all.length - wanted.length + 1) }, (_, place) => place);
  const found = backwards ? places.findLast((place) => place <= from && fitsAt(place)) : places.find((p) => p >= from && fitsAt(p));
  return BigInt(found ?? -1);
}

const placing = (backwards: boolean): readonly CelFunction[] => [
  def(
    ['string', 'string'],
    'int',
    ofTexts((value = '', part = '') => placeOf(value, part, backwards ? letters(value).length : 0, backwards)),
  ),
  def(['string', 'string', 'int'], 'int', (value, part, from) => placeOf(text(value) ?? '', text(part) ?? '', index(from), backwards)),
];

function cut(value: CelValue | undefined, from: CelValue | undefined, to?: CelValue): string | undefined {
  const all = letters(text(value) ?? '');
  const [start, end] = [index(from), to === undefined ? all.length : index(to)];
  return start < 0 || start > end || end > all.length ? undefined : all.slice(start, end).join('');
}

function split(value: CelValue | undefined, by: CelValue | undefined, most = -1n as CelValue): CelValue {
  const parts = (text(value) ?? '').split(text(by) ?? '');
  const limit = index(most);
  if (limit < 0 || parts.length <= limit) return parts;
  return limit === 0 ? [] : [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(text(by) ?? '')];
}

function replaced(
  value: CelValue | undefined,
  old: CelValue | undefined,
  by: CelValue | undefined,
  most: CelValue = -1n,
): CelValue | undefined {
  const pieces = split(value, old, index(most) < 0 ? -1n : BigInt(index(most) + 1));
  return listed(pieces)?.join(text(by) ?? '');
}

const ofList =
  (work: (list: readonly CelValue[], ...args: CelValue[]) => CelValue | undefined): Run =>
  (first = ABSENT, ...args) => {
    const list = listed(first);
    return list && work(list, ...args);
  };
const same = ([type = 'list']: readonly Type[]): Type => type;

function flat(list: readonly CelValue[], depth: number): readonly CelValue[] {
  return list.flatMap((item) => (Array.isArray(item) && depth > 0 ? flat(item, depth - 1) : [item]));
}

function sorted(list: readonly CelValue[]): CelValue | undefined {
  const [first] = list;
  if (list.some((item) => compare(item, first ?? null) === undefined)) return undefined;
  return [...list].sort((a, b) => compare(a, b) ?? 0);
}

function sliced(list: readonly CelValue[], from: CelValue | undefined, to: CelValue | undefined): CelValue | undefined {
  const [start, end] = [index(from), index(to)];
  return start < 0 || start > end || end > list.length ? undefined : list.slice(start, end);
}

/** Unicode's white space, which JavaScript's own trim() takes otherwise. */
const SPACE = /^[\p{White_Space}]+|[\p{White_Space}]+$/gu;

/** Methods for texts and lists that conditions of node hooks have besides. */
export const MORE_METHODS: FunctionTable = {
  charAt: [
    def(['string', 'int'], 'string', (value, at) =>
      index(at) === letters(text(value) ?? '').length ? '' : cut(value, at, BigInt(index(at) + 1)),
    ),
  ],
  indexOf: placing(false),
  lastIndexOf: placing(true),
  lowerAscii: mapText((value) => value.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
  upperAscii: mapText((value) => value.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  trim: mapText((value) => value.replace(SPACE, '')),
  reverse: [
    ...mapText((value) => letters(value).reverse().join('')),
    def(
      ['list'],
      same,
      ofList((list) => [...list].reverse()),
    ),
  ],
  replace: [def(['string', 'string', 'string'], 'string', replaced), def(['string', 'string', 'string', 'int'], 'string', replaced)],
  split: [def(['string', 'string'], 'list<string>', split), def(['string', 'string', 'int'], 'list<string>', split)],
  substring: [def(['string', 'int'], 'string', cut), def(['string', 'int', 'int'], 'string', cut)],
  format: [def(['string', 'list'], 'string', (value, list = ABSENT) => formatted(text(value) ?? '', listed(list) ?? []))],
  join: [
    def(
      ['list<string>'],
      'string',
      ofList((list) => list.map((item) => text(item) ?? '').join('')),
    ),
    def(
      ['list<string>', 'string'],
      'string',
      ofList((list, by) => list.map((item) => text(item) ?? '').join(text(by) ?? '')),
    ),
  ],
  distinct: [
    def(
      ['list'],
      same,
      ofList((list) => list.filter((item, i) => list.findIndex((other) => equal(item, other)) === i)),
    ),
  ],
  flatten: [
    def(
      ['list'],
      'list',
      ofList((list) => flat(list, 1)),
    ),
    def(
      ['list', 'int'],
      'list',
      ofList((list, depth) => flat(list, index(depth))),
    ),
  ],
  slice: [def(['list', 'int', 'int'], same, ofList(sliced))],
  sort: [def(['list'], same, ofList(sorted))],
};

const NUMBERS: readonly Type[] = ['int', 'uint', 'double'];
const eachNumber = (gives: (type: Type) => Type, run: Run): readonly CelFunction[] => NUMBERS.map((type) => def([type], gives(type), run));
const ofReal = (work: (value: number) => CelValue): readonly CelFunction[] => [
  def(['double'], typeof work(1) === 'boolean' ? 'bool' : 'double', (value) => (typeof value === 'number' ? work(value) : undefined)),
];
const ofWholes = (work: (a: bigint, b: bigint) => bigint): readonly CelFunction[] =>
  ['int', 'uint'].map((type) =>
    def([type, type], type, (a, b) => {
      const [x, y] = [wholeNumber(a), wholeNumber(b)];
      if (x === undefined || y === undefined) return undefined;
      return a instanceof Uint || b instanceof Uint ? uintOf(BigInt.asUintN(64, work(x, y))) : BigInt.asIntN(64, work(x, y));
    }),
  );

function extreme(list: readonly CelValue[], sign: 1 | -1): CelValue | undefined {
  return list.reduce<CelValue | undefined>((best, item) => {
    const order = best === undefined ? undefined : compare(item, best);
    return best === undefined || (order !== undefined && order * sign > 0) ? item : best;
  }, undefined);
}

/** As many numbers as one likes, or a list of them. */
const MOST_ARGUMENTS = 8;
const extremes = (sign: 1 | -1): readonly CelFunction[] => [
  def(
    ['list'],
    'any',
    ofList((list) => extreme(list, sign)),
  ),
  ...Array.from({ length: MOST_ARGUMENTS }, (_, n) =>
    def(
      Array.from({ length: n + 1 }, () => 'any'),
      (types) => types.reduce(joined),
      (...list) => extreme(list, sign),
    ),
  ),
];

const negative = (value: CelValue): boolean => (compare(value, typeof value === 'number' ? 0 : 0n) ?? 0) < 0;

const PLAIN_ESCAPES: Readonly<Record<string, string>> = { '\\u0007': '\\a', '\\u000b': '\\v' };
const quoted = (value: string): string => JSON.stringify(value).replace(/\\u0007|\\u000b/g, (code) => PLAIN_ESCAPES[code] ?? code);

const shifting = (shift: (bits: bigint, by: bigint) => bigint): readonly CelFunction[] =>
  ['int', 'uint'].map((type) =>
    def([type, 'int'], type, (a, b) => {
      const [value, by] = [wholeNumber(a), wholeNumber(b)];
      if (value === undefined || by === undefined || by < 0n) return undefined;
      const bits = by > 63n ? 0n : shift(BigInt.asUintN(64, value), by);
      return a instanceof Uint ? uintOf(BigInt.asUintN(64, bits)) : BigInt.asIntN(64, bits);
    }),
  );
const inverted = ['int', 'uint'].map((type) =>
  def([type], type, (value = ABSENT) => {
    const whole = wholeNumber(value);
    return whole === undefined ? undefined : value instanceof Uint ? uintOf(BigInt.asUintN(64, ~whole)) : ~whole;
  }),
);

/** Called by a dotted name. */
export const MORE_FUNCTIONS: FunctionTable = {
  'lists.range': [
    def(['int'], listOf('int'), (n) =>
      index(n) > 100_000 ? undefined : Array.from({ length: Math.max(0, index(n)) }, (_, i) => BigInt(i)),
    ),
  ],
  'strings.quote': mapText(quoted),
  'math.greatest': extremes(1),
  'math.least': extremes(-1),
  'math.abs': eachNumber(
    (type) => type,
    (value = ABSENT) => (negative(value) ? arithmetic('-', typeof value === 'number' ? 0 : 0n, value) : value),
  ),
  'math.sign': eachNumber(
    (type) => type,
    (value = ABSENT) => signOf(value),
  ),
  'math.ceil': ofReal(Math.ceil),
  'math.floor': ofReal(Math.floor),
  'math.trunc': ofReal(Math.trunc),
  'math.round': ofReal((value) => Math.sign(value) * Math.round(Math.abs(value))),
  'math.isNaN': ofReal(Number.isNaN),
  'math.isInf': ofReal((value) => Math.abs(value) === Number.POSITIVE_INFINITY),
  'math.isFinite': ofReal(Number.isFinite),
  'math.bitAnd': ofWholes((a, b) => a & b),
  'math.bitOr': ofWholes((a, b) => a | b),
  'math.bitXor': ofWholes((a, b) => a ^ b),
  'math.bitNot': inverted,
  'math.bitShiftLeft': shifting((bits, by) => bits << by),
  'math.bitShiftRight': shifting((bits, by) => bits >> by),
  'math.sqrt': eachNumber(
    () => 'double',
    (value = ABSENT) => Math.sqrt(Number(wholeNumber(value) ?? value)),
  ),
};

function signOf(value: CelValue): CelValue | undefined {
  if (typeof value === 'number') return Math.sign(value);
  const whole = wholeNumber(value);
  if (whole === undefined) return undefined;
  const sign = whole > 0n ? 1n : whole < 0n ? -1n : 0n;
  return value instanceof Uint ? new Uint(sign) : sign;
}
