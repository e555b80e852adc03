// The functions and methods of CEL itself: what they can be asked of, what they result in, and how. The checker and the evaluator share the table, so
// that what is admitted can also be evaluated. Pure.
import { compilePattern } from './pattern.js';
import { type CelFunction, def, type FunctionTable, letters, ofTexts, type Run, text, wholeNumber } from './signature.js';
import { DATE_PARTS, Duration, datePart, ofSeconds, parseSpan, parseTimestamp, SPAN_PARTS, secondsOf, Timestamp } from './time.js';
import type { Type } from './types.js';
import { ABSENT, CelObject, type CelValue, intOf, listed, Uint, uintOf } from './values.js';

function sizeOf(value: CelValue): CelValue | undefined {
  if (typeof value === 'string') return BigInt(letters(value).length);
  const list = listed(value);
  return list === undefined ? undefined : BigInt(list.length);
}

/** Its whole part, of numbers and of texts in decimal. */
function truncated(value: CelValue): bigint | undefined {
  if (value === ABSENT) return 0n;
  // Of doubles at the very edges nobody can tell whether they still fit.
  if (typeof value === 'number') return Math.abs(value) < 2 ** 64 && value > -(2 ** 63) ? BigInt(Math.trunc(value)) : undefined;
  if (typeof value === 'string') return /^[+-]?\d+$/.test(value) ? BigInt(value) : undefined;
  return wholeNumber(value);
}

const within = <T>(narrow: (value: bigint) => T | undefined): Run =>
  ((value: CelValue) => {
    const whole = truncated(value);
    return whole === undefined ? undefined : narrow(whole);
  }) as Run;

function realOf(value: CelValue): number | undefined {
  if (value === ABSENT) return 0;
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return wholeNumber(value) === undefined ? undefined : Number(wholeNumber(value));
  if (value === 'NaN') return Number.NaN;
  const number = Number(value.trim().replace(/^([+-]?)inf$/i, '$1Infinity') || 'none');
  return Number.isNaN(number) ? undefined : number;
}

function stringOf(value: CelValue): string | undefined {
  if (value === ABSENT) return '';
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Duration || value instanceof Timestamp) return value.toString();
  return ['bigint', 'number', 'string', 'boolean'].includes(typeof value) ? String(value) : undefined;
}

const TRUTHS: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 't', 'true', 'TRUE', 'True'].map((word) => [word, true])),
  ...Object.fromEntries(['0', 'f', 'false', 'FALSE', 'False'].map((word) => [word, false])),
};
const boolOf = (value: CelValue): boolean | undefined => {
  if (typeof value !== 'string') return value === ABSENT ? false : typeof value === 'boolean' ? value : undefined;
  return Object.hasOwn(TRUTHS, value) ? TRUTHS[value] : undefined;
};

const SCALARS: readonly Type[] = ['int', 'uint', 'double', 'string', 'bool', 'bytes'];
const converting = (gives: Type, from: readonly Type[], run: Run): readonly CelFunction[] => from.map((type) => def([type], gives, run));
const SIZED = ['string', 'bytes', 'list', 'map'].map((type) => def([type], 'int', sizeOf as Run));

/** Called by name. */
export const FUNCTIONS: FunctionTable = {
  int: [
    ...converting('int', ['int', 'uint', 'double', 'string'], within(intOf)),
    def(['timestamp'], 'int', (value) => (value instanceof Timestamp ? secondsOf(value) : undefined)),
  ],
  uint: converting('uint', ['int', 'uint', 'double', 'string'], within(uintOf)),
  double: converting('double', ['int', 'uint', 'double', 'string'], realOf as Run),
  string: converting('string', [...SCALARS, 'duration', 'timestamp'], stringOf as Run),
  bool: converting('bool', ['bool', 'string'], boolOf as Run),
  bytes: converting('bytes', ['string', 'bytes'], (value) => value),
  duration: [
    def(
      ['string'],
      'duration',
      ofTexts((value = '') => parseSpan(value)),
    ),
    def(['duration'], 'duration', (value) => value),
  ],
  timestamp: [
    def(
      ['string'],
      'timestamp',
      ofTexts((value = '') => parseTimestamp(value)),
    ),
    def(['int'], 'timestamp', (value) => ofSeconds(wholeNumber(value) ?? 0n)),
    def(['timestamp'], 'timestamp', (value) => value),
  ],
  dyn: [def(['any'], 'any', (value) => value)],
  size: SIZED,
  matches: [
    def(
      ['string', 'string'],
      'bool',
      ofTexts((value, pattern) => compilePattern(pattern ?? '').test(value ?? '')),
    ),
  ],
};

const asking = (work: (value: string, part: string) => boolean): readonly CelFunction[] => [
  def(
    ['string', 'string'],
    'bool',
    ofTexts((value = '', part = '') => work(value, part)),
  ),
];

/** Called on a value, which is the first they take. */
export const METHODS: FunctionTable = {
  size: SIZED,
  contains: asking((value, part) => value.includes(part)),
  startsWith: asking((value, part) => value.startsWith(part)),
  endsWith: asking((value, part) => value.endsWith(part)),
  matches: FUNCTIONS.matches ?? [],
  ...Object.fromEntries(DATE_PARTS.map((part) => [`get${part}`, timePart(part)])),
};

function timePart(part: string): readonly CelFunction[] {
  const ofSpan = SPAN_PARTS[part];
  const ofPoint: Run = (value, zone) => (value instanceof Timestamp ? datePart(part, value, text(zone) || 'UTC') : undefined);
  return [
    def(['timestamp'], 'int', (value) => ofPoint(value as CelValue, 'UTC')),
    def(['timestamp', 'string'], 'int', ofPoint),
    ...(ofSpan ? [def(['duration'], 'int', (value) => (value instanceof Duration ? ofSpan(value) : undefined))] : []),
  ];
}

/** Whether a value is, when the expression runs, of a type that a function takes. */
export function isOf(value: CelValue, type: Type): boolean {
  if (type === 'any' || value === ABSENT) return true;
  if (type.startsWith('list')) return Array.isArray(value);
  if (type === 'map') return value instanceof CelObject;
  if (type === 'int' || type === 'uint') return wholeNumber(value) !== undefined;
  if (type === 'duration') return value instanceof Duration;
  if (type === 'timestamp') return value instanceof Timestamp;
  const is: Readonly<Record<string, string>> = { double: 'number', string: 'string', bytes: 'string', bool: 'boolean' };
  return typeof value === is[type];
}
