// The format() method of texts: %s, %d, %f, %e, %b, %o, %x and %X with their precisions. Pure; called through ./functions.ts.
import { Duration, Timestamp } from './time.js';
import { BuiltObject, CelObject, type CelValue, Uint } from './values.js';

const CLAUSE = /%(?:%|(?:\.(\d{1,3}))?([a-zA-Z]))/g;
const DEFAULT_PRECISION = 6;

const wholeOf = (value: CelValue): bigint | undefined =>
  typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined;

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? undefined : value > 0 ? 'Infinity' : '-Infinity';
}

/** %s: as people read it, also what is nested. */
function shown(value: CelValue): string {
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Duration || value instanceof Timestamp) return value.toString();
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (value instanceof BuiltObject && value.type === 'type') return String(value.field('name'));
  if (value instanceof CelObject) {
    const entries = value.keys().map((key) => `${shown(key)}: ${shown(value.entry(key) ?? null)}`);
    return `{${entries.sort().join(', ')}}`;
  }
  return typeof value === 'number' ? (special(value) ?? String(value)) : typeof value === 'symbol' ? '' : String(value);
}

function decimal(value: CelValue): string | undefined {
  if (typeof value === 'number') return special(value);
  return wholeOf(value)?.toString();
}

function real(value: CelValue, write: (value: number) => string): string | undefined {
  const number = typeof value === 'number' ? value : Number(wholeOf(value) ?? Number.NaN);
  if (typeof value !== 'number' && Number.isNaN(number)) return undefined;
  return special(number) ?? write(number);
}

/** The exponent has two digits at least. */
const scientific = (value: number, precision: number): string => value.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2');

/** Halves go to the even neighbour, as far as a half can be told from what is near it. */
function fixed(value: number, precision: number): string {
  const scaled = value * 10 ** precision;
  const isHalf = Math.abs(scaled % 1) === 0.5;
  return (isHalf ? (2 * Math.round(scaled / 2)) / 10 ** precision : value).toFixed(precision);
}

function hexadecimal(value: CelValue): string | undefined {
  if (typeof value === 'string') return [...new TextEncoder().encode(value)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return wholeOf(value)?.toString(16);
}

const binary = (value: CelValue): string | undefined => (typeof value === 'boolean' ? String(Number(value)) : wholeOf(value)?.toString(2));

const WRITERS: Readonly<Record<string, (value: CelValue, precision: number) => string | undefined>> = {
  s: shown,
  d: decimal,
  f: (value, precision) => real(value, (number) => fixed(number, precision)),
  e: (value, precision) => real(value, (number) => scientific(number, precision)),
  b: binary,
  o: (value) => wholeOf(value)?.toString(8),
  x: hexadecimal,
  X: (value) => hexadecimal(value)?.toUpperCase(),
};

/** undefined where a clause is not known, or does not fit its argument, or has none. */
export function formatted(template: string, values: readonly CelValue[]): string | undefined {
  let next = 0;
  let isSound = !template.replace(CLAUSE, '').includes('%');
  const result = template.replace(CLAUSE, (clause, precision?: string, kind?: string) => {
    if (kind === undefined) return '%';
    const value = values[next];
    next += 1;
    const write = Object.hasOwn(WRITERS, kind) ? WRITERS[kind] : undefined;
    const words = value === undefined ? undefined : write?.(value, precision === undefined ? DEFAULT_PRECISION : Number(precision));
    isSound &&= words !== undefined;
    return words ?? clause;
  });
  return isSound ? result : undefined;
}
