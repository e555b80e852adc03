// resource.Quantity as exact arithmetic: parse, canonical form, sum, difference, comparison. An amount is a bigint count of nano-units, the
// finest step Kubernetes keeps, so nothing is ever rounded but what the Kubernetes parser rounds itself (towards more, never to zero).
// Used wherever a quantity is compared or calculated; text that is only passed on needs none of this.
import { KvError } from '../base/errors.js';
import type { Quantity } from './meta.js';

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** A parsed quantity. `text` is set when the written form is already canonical and is repeated as it stands. */
export interface Amount {
  readonly nano: bigint;
  readonly format: QuantityFormat;
  readonly text?: string;
}

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

const NANO = 1_000_000_000n;
/** Binary amounts are capped at the largest int64. */
const MAX_BINARY = (2n ** 63n - 1n) * NANO;
/** int64 holds this many decimal digits with certainty. */
const INT64_DIGITS = 18;
/** Beyond this no sensible amount exists; refused so that a short text cannot make a gigantic number. */
const MAX_EXPONENT = 256;

const DECIMAL_SUFFIXES = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'] as const;
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

const SUFFIXES: ReadonlyMap<string, Suffix> = new Map<string, Suffix>([
  ...DECIMAL_SUFFIXES.map((s, i): [string, Suffix] => [s, { base: 10, exponent: 3 * i - 9, format: 'DecimalSI' }]),
  ...BINARY_SUFFIXES.slice(1).map((s, i): [string, Suffix] => [s, { base: 2, exponent: 10 * (i + 1), format: 'BinarySI' }]),
]);

const SHAPE = /^([+-]?)(?=\d|\.\d)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|([numkKMGTPEi]*))$/;

interface Parts {
  readonly negative: boolean;
  /** Without leading zeros, at least one digit. */
  readonly integer: string;
  readonly fraction: string;
  readonly suffix: Suffix;
}

/** Throws KvError Invalid for anything that is not a quantity. */
export function parseQuantity(quantity: Quantity): Amount {
  const text = String(quantity).trim();
  const parts = split(text);
  if (!parts) {
    throw new KvError(
      'Invalid',
      `${JSON.stringify(quantity)} is not a quantity: write a number with an optional suffix such as m, k, Mi or e3`,
    );
  }
  const { nano, format } = magnitudeOf(parts);
  return { nano: parts.negative ? -nano : nano, format, ...(repeatsText(parts) ? { text } : {}) };
}

function split(text: string): Parts | undefined {
  const [, sign, integer = '', fraction = '', exponent, letters = ''] = SHAPE.exec(text) ?? [];
  const suffix = sign === undefined ? undefined : suffixOf(exponent, letters);
  return suffix && { negative: sign === '-', integer: integer.replace(/^0+/, '') || '0', fraction, suffix };
}

function magnitudeOf({ integer, fraction, suffix }: Parts): Amount {
  const exact = toNano(BigInt(integer + fraction), fraction.length, suffix);
  if (suffix.format !== 'BinarySI') return { nano: exact, format: suffix.format };
  const nano = exact > MAX_BINARY ? MAX_BINARY : exact;
  // A fraction of one has no binary form.
  return { nano, format: fraction !== '' && nano > 0n && nano < NANO ? 'DecimalSI' : 'BinarySI' };
}

function suffixOf(exponent: string | undefined, letters: string): Suffix | undefined {
  if (exponent === undefined) return SUFFIXES.get(letters);
  const value = Number(exponent.slice(1));
  return Math.abs(value) > MAX_EXPONENT ? undefined : { base: 10, exponent: value, format: 'DecimalExponent' };
}

function toNano(digits: bigint, fractionDigits: number, suffix: Suffix): bigint {
  const scaled = suffix.base === 2 ? digits * 2n ** BigInt(suffix.exponent) : digits;
  const exponent = 9 - fractionDigits + (suffix.base === 10 ? suffix.exponent : 0);
  return exponent >= 0 ? scaled * 10n ** BigInt(exponent) : divideUp(scaled, 10n ** BigInt(-exponent));
}

/** The parser keeps the written text when a cheap check shows that it is canonical (or near enough: "1.500" stays). */
function repeatsText({ integer, fraction, suffix }: Parts): boolean {
  if (suffix.base === 2) {
    const room = INT64_DIGITS - 4 - integer.length - Math.trunc((suffix.exponent * 3) / 10);
    return fraction === '' && room >= 0 && suffix.exponent % 10 === 0 && (BigInt(integer) & 7n) !== 0n;
  }
  const scale = suffix.exponent - fraction.length;
  const digits = integer + fraction;
  return digits.length <= INT64_DIGITS && scale >= -9 && scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
}

/** Division that rounds away from zero. */
function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  if (value % by === 0n) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

/** The canonical text of an amount. */
export function formatQuantity(amount: Amount): string {
  if (amount.text !== undefined) return amount.text;
  if (amount.nano === 0n) return '0';
  const whole = amount.nano % NANO === 0n;
  const small = amount.nano > -1024n * NANO && amount.nano < 1024n * NANO;
  if (amount.format === 'BinarySI' && whole && !small) return formatBinary(amount.nano / NANO);
  return formatDecimal(amount.nano, amount.format === 'BinarySI' ? 'DecimalSI' : amount.format);
}

function formatBinary(units: bigint): string {
  let rest = units;
  let step = 0;
  while (rest % 1024n === 0n && step < BINARY_SUFFIXES.length - 1) {
    rest /= 1024n;
    step++;
  }
  return `${rest}${BINARY_SUFFIXES[step]}`;
}

function formatDecimal(nano: bigint, format: QuantityFormat): string {
  let rest = nano;
  let exponent = -9;
  while (rest % 1000n === 0n) {
    rest /= 1000n;
    exponent += 3;
  }
  const suffix = format === 'DecimalSI' ? DECIMAL_SUFFIXES[(exponent + 9) / 3] : undefined;
  return `${rest}${suffix ?? (exponent === 0 ? '' : `e${exponent}`)}`;
}

export function isQuantity(value: unknown): value is Quantity {
  return (typeof value === 'string' || typeof value === 'number') && split(String(value).trim()) !== undefined;
}

/** Sum; a zero left side takes over the right side's format, as Kubernetes does. */
export function addAmounts(a: Amount, b: Amount): Amount {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format };
}

export function subtractAmounts(a: Amount, b: Amount): Amount {
  return { nano: a.nano - b.nano, format: a.nano === 0n ? b.format : a.format };
}

/** Whole units, rounded away from zero (Quantity.Value). */
export function amountValue(amount: Amount): bigint {
  return divideUp(amount.nano, NANO);
}

/** Thousandths, rounded away from zero (Quantity.MilliValue). */
export function amountMilli(amount: Amount): bigint {
  return divideUp(amount.nano, NANO / 1000n);
}

export function amountOf(units: bigint | number, format: QuantityFormat = 'BinarySI'): Amount {
  return { nano: BigInt(units) * NANO, format };
}

export function amountOfMilli(milli: bigint | number, format: QuantityFormat = 'DecimalSI'): Amount {
  return { nano: BigInt(milli) * (NANO / 1000n), format };
}

// The same on the wire form.

export const quantityValue = (quantity: Quantity): bigint => amountValue(parseQuantity(quantity));
export const quantityMilli = (quantity: Quantity): bigint => amountMilli(parseQuantity(quantity));
export const canonicalQuantity = (quantity: Quantity): string => formatQuantity(parseQuantity(quantity));
export const quantityOf = (units: bigint | number, format: QuantityFormat = 'BinarySI'): string => formatQuantity(amountOf(units, format));
export const quantityOfMilli = (milli: bigint | number): string => formatQuantity(amountOfMilli(milli));
export const addQuantities = (a: Quantity, b: Quantity): string => formatQuantity(addAmounts(parseQuantity(a), parseQuantity(b)));
export const subtractQuantities = (a: Quantity, b: Quantity): string => formatQuantity(subtractAmounts(parseQuantity(a), parseQuantity(b)));
export const isZeroQuantity = (quantity: Quantity): boolean => parseQuantity(quantity).nano === 0n;

export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  const left = parseQuantity(a).nano;
  const right = parseQuantity(b).nano;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
