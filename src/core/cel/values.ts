// Values of CEL expressions, and what the operators make of them. API objects appear under the names of the reference's own structures (Spec, CPU):
// their JSON names in other capitals. What an object lacks is the zero value of its type, which nothing here knows: it equals every zero. Pure.

/** A field that an object lacks. */
export const ABSENT: unique symbol = Symbol('absent');

/** A JSON object: fields by name in any capitals, or entries by exact key. */
export class CelObject {
  readonly json: Readonly<Record<string, unknown>>;
  /** Objects whose fields are its own as well. */
  readonly #embedded: readonly string[];

  constructor(json: Readonly<Record<string, unknown>>, embedded: readonly string[] = []) {
    this.json = json;
    this.#embedded = embedded;
  }

  field(name: string): CelValue {
    const found = fieldOf(this.json, name);
    if (found !== undefined) return celOf(found);
    for (const part of this.#embedded) {
      const inner = this.json[part];
      const value = typeof inner === 'object' && inner !== null ? fieldOf(inner as Record<string, unknown>, name) : undefined;
      if (value !== undefined) return celOf(value);
    }
    return ABSENT;
  }
}

export type CelValue = boolean | bigint | number | string | null | typeof ABSENT | readonly CelValue[] | CelObject;

function fieldOf(json: Readonly<Record<string, unknown>>, name: string): unknown {
  const wanted = name.toLowerCase();
  const key = Object.keys(json).find((each) => each.toLowerCase() === wanted);
  return key === undefined ? undefined : json[key];
}

/** JSON as CEL sees it. */
export function celOf(json: unknown): CelValue {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (Array.isArray(json)) return json.map(celOf);
  if (typeof json === 'object' && json !== null) return new CelObject(json as Record<string, unknown>);
  return json as CelValue;
}

const isNumber = (value: CelValue): value is bigint | number => typeof value === 'bigint' || typeof value === 'number';

function isZero(value: CelValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof CelObject) return Object.keys(value.json).length === 0;
  return value === null || value === ABSENT || value === '' || value === false || (isNumber(value) && Number(value) === 0);
}

/** What has() says of a field. */
export const isSet = (value: CelValue): boolean => !isZero(value);

const sameList = (a: readonly CelValue[], b: readonly CelValue[]): boolean =>
  a.length === b.length && a.every((item, i) => equal(item, b[i] ?? null));

function sameObject({ json: a }: CelObject, { json: b }: CelObject): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && equal(celOf(a[key]), celOf(b[key])));
}

export function equal(a: CelValue, b: CelValue): boolean {
  if (a === ABSENT || b === ABSENT) return isZero(a === ABSENT ? b : a);
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b);
  if (Array.isArray(a) && Array.isArray(b)) return sameList(a, b);
  return a instanceof CelObject && b instanceof CelObject ? sameObject(a, b) : a === b;
}

/** Below 0, 0, above 0; undefined for what has no order. */
export function compare(a: CelValue, b: CelValue): number | undefined {
  const x: CelValue = a === ABSENT ? zeroLike(b) : a;
  const y: CelValue = b === ABSENT ? zeroLike(a) : b;
  if (isNumber(x) && isNumber(y)) return Number(x) - Number(y);
  if (typeof x === 'string' && typeof y === 'string') return x < y ? -1 : Number(x > y);
  return typeof x === 'boolean' && typeof y === 'boolean' ? Number(x) - Number(y) : undefined;
}

function zeroLike(other: CelValue): CelValue {
  if (typeof other === 'string') return '';
  return typeof other === 'boolean' ? false : 0n;
}

/** undefined where the operator does not fit, or for a division by zero. */
export function arithmetic(sign: string, a: CelValue, b: CelValue): CelValue | undefined {
  if (sign === '+' && !isNumber(a)) return joined(a, b);
  if (typeof a === 'bigint' && typeof b === 'bigint') return WHOLE[sign]?.(a, b);
  return typeof a === 'number' && typeof b === 'number' ? REAL[sign]?.(a, b) : undefined;
}

function joined(a: CelValue, b: CelValue): CelValue | undefined {
  if (typeof a === 'string' && typeof b === 'string') return a + b;
  return Array.isArray(a) && Array.isArray(b) ? [...a, ...b] : undefined;
}

const WHOLE: Readonly<Record<string, (a: bigint, b: bigint) => bigint | undefined>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0n ? undefined : a / b),
  '%': (a, b) => (b === 0n ? undefined : a % b),
};
const REAL: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

export const listOf = (value: CelValue): readonly CelValue[] | undefined => {
  if (value === ABSENT || value === null) return [];
  if (value instanceof CelObject) return Object.keys(value.json);
  return Array.isArray(value) ? value : undefined;
};

export function sizeOf(value: CelValue): bigint | undefined {
  if (typeof value === 'string') return BigInt([...value].length);
  const list = listOf(value);
  return list === undefined ? undefined : BigInt(list.length);
}
