// Values of CEL expressions, and what the operators make of them. API objects appear under the names of the reference's own structures (Spec, CPU):
// their JSON names in other capitals. What an object lacks is the zero value of its type, which nothing here knows: it equals every zero. Pure.
import { KvError } from '../../base/errors.js';
import { Duration, reckoned, Timestamp } from './time.js';

/** A field that an object lacks. */
export const ABSENT: unique symbol = Symbol('absent');

/** An unsigned number; signed ones are bigints. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

type Time = Duration | Timestamp;
const isTime = (value: CelValue): value is Time => value instanceof Duration || value instanceof Timestamp;

/** What has fields to select or entries to look up. */
export abstract class CelObject {
  abstract field(name: string): CelValue;

  /** What has() says. */
  has(name: string): boolean {
    return isSet(this.field(name));
  }

  /** By exact key; undefined where there is none. */
  abstract entry(key: CelValue): CelValue | undefined;
  abstract keys(): readonly CelValue[];
}

export type CelValue = boolean | bigint | Uint | number | string | null | typeof ABSENT | Time | readonly CelValue[] | CelObject;

/** Fields of the reference's structures whose JSON has another name; asked where there is none of their own. */
const JSON_NAMES: Readonly<Record<string, string>> = {
  enabled: 'present',
  retries: 'spinlocks',
  ip: 'ipAddress',
  ips: 'ipAddresses',
  userdatasecretref: 'secretRef',
  experimentalmigrationoptions: 'experimental',
  vmimconfigurationoptions: 'migrationConfiguration',
  deprecatedchecksum: 'checksum',
  deprecatedslirp: 'slirp',
  deprecatedmacvtap: 'macvtap',
  deprecatedpasst: 'passt',
};
/** Structures within structures: in JSON their fields are those of the outer one. */
const EMBEDDED = [
  ...['typemeta', 'volumesource', 'networksource', 'diskdevice', 'interfacebindingmethod', 'watchdogdevice', 'featurestate', 'clockoffset'],
  ...['handler', 'claimrequest', 'localobjectreference', 'persistentvolumeclaimvolumesource', 'virtualmachineinstancecommonmigrationstate'],
];

export const isEmbedded = (name: string): boolean => EMBEDDED.includes(name.toLowerCase());
/** The JSON key that a structure's field has, among those that there are. */
export function jsonKeyOf(keys: readonly string[], name: string): string | undefined {
  const wanted = name.toLowerCase();
  const other = Object.hasOwn(JSON_NAMES, wanted) ? JSON_NAMES[wanted] : undefined;
  return keys.find((key) => key === name) ?? keys.find((key) => key.toLowerCase() === wanted) ?? keys.find((key) => key === other);
}

/** A JSON object: fields by name in any capitals, or entries by exact key. */
export class JsonObject extends CelObject {
  readonly json: Readonly<Record<string, unknown>>;
  /** The object whose fields are its own as well. */
  readonly #metadata: boolean;

  constructor(json: Readonly<Record<string, unknown>>, { hasMetadata = false } = {}) {
    super();
    this.json = json;
    this.#metadata = hasMetadata;
  }

  field(name: string): CelValue {
    const found = this.#own(name);
    if (found !== ABSENT || !this.#metadata) return found;
    const metadata = this.#own('metadata');
    if (name === 'ObjectMeta') return metadata;
    return metadata instanceof CelObject ? metadata.field(name) : ABSENT;
  }

  #own(name: string): CelValue {
    const key = jsonKeyOf(Object.keys(this.json), name);
    if (key !== undefined) return celOf(this.json[key]);
    return isEmbedded(name) ? this : ABSENT;
  }

  entry(key: CelValue): CelValue | undefined {
    return typeof key === 'string' && Object.hasOwn(this.json, key) ? celOf(this.json[key]) : undefined;
  }

  keys(): readonly string[] {
    return Object.keys(this.json);
  }
}

/** A map that an expression wrote. */
export class CelMap extends CelObject {
  readonly #pairs: readonly (readonly [CelValue, CelValue])[];

  constructor(pairs: readonly (readonly [CelValue, CelValue])[]) {
    super();
    this.#pairs = pairs;
  }

  field(name: string): CelValue {
    const value = this.entry(name);
    if (value !== undefined) return value;
    throw new KvError('Invalid', `there is no entry ${name}`);
  }

  override has(name: string): boolean {
    return this.entry(name) !== undefined;
  }

  entry(key: CelValue): CelValue | undefined {
    return this.#pairs.find(([each]) => equal(each, key))?.[1];
  }

  keys(): readonly CelValue[] {
    return this.#pairs.map(([key]) => key);
  }
}

/** An object that an expression wrote: only what it says. */
export class BuiltObject extends CelObject {
  readonly type: string;
  readonly fields: ReadonlyMap<string, CelValue>;

  constructor(type: string, fields: ReadonlyMap<string, CelValue>) {
    super();
    this.type = type;
    this.fields = fields;
  }

  field(name: string): CelValue {
    return this.fields.get(name) ?? ABSENT;
  }

  entry(key: CelValue): CelValue | undefined {
    return typeof key === 'string' ? this.fields.get(key) : undefined;
  }

  keys(): readonly string[] {
    return [...this.fields.keys()];
  }
}

/** JSON as CEL sees it. */
export function celOf(json: unknown): CelValue {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (Array.isArray(json)) return json.map(celOf);
  if (typeof json === 'object' && json !== null) return new JsonObject(json as Record<string, unknown>);
  return json as CelValue;
}

type CelNumber = bigint | Uint | number;
const isNumber = (value: CelValue): value is CelNumber => typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
/** Without its sign's type: what numbers of several types are compared by. */
export const plain = (value: CelNumber): bigint | number => (value instanceof Uint ? value.value : value);

function isZero(value: CelValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof CelObject) return value.keys().length === 0;
  return value === null || value === ABSENT || value === '' || value === false || (isNumber(value) && Number(plain(value)) === 0);
}

/** What has() says of a field: an object or a truth that is written down is there, whatever it says. */
export const isSet = (value: CelValue): boolean => typeof value === 'boolean' || value instanceof CelObject || !isZero(value);

const sameList = (a: readonly CelValue[], b: readonly CelValue[]): boolean =>
  a.length === b.length && a.every((item, i) => equal(item, b[i] ?? null));

function sameObject(a: CelObject, b: CelObject): boolean {
  const keys = a.keys();
  return keys.length === b.keys().length && keys.every((key) => equal(a.entry(key) ?? ABSENT, b.entry(key) ?? ABSENT));
}

/** undefined for a point and a span. */
function compareTimes(a: Time, b: Time): number | undefined {
  return a instanceof Duration === b instanceof Duration ? order(a.ns, b.ns) : undefined;
}

function sameThings(a: CelValue, b: CelValue): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return sameList(a, b);
  if (isTime(a) && isTime(b)) return compareTimes(a, b) === 0;
  return a instanceof CelObject && b instanceof CelObject ? a === b || sameObject(a, b) : a === b;
}

export function equal(a: CelValue, b: CelValue): boolean {
  if (a === ABSENT || b === ABSENT) return isZero(a === ABSENT ? b : a);
  return isNumber(a) && isNumber(b) ? order(plain(a), plain(b)) === 0 : sameThings(a, b);
}

/** Below 0, 0, above 0, NaN for numbers that are none; undefined for what has no order. */
export function compare(a: CelValue, b: CelValue): number | undefined {
  const x: CelValue = a === ABSENT ? zeroLike(b) : a;
  const y: CelValue = b === ABSENT ? zeroLike(a) : b;
  if (isNumber(x) && isNumber(y)) return order(plain(x), plain(y));
  if (isTime(x) && isTime(y)) return compareTimes(x, y);
  return typeof x === 'boolean' && typeof y === 'boolean' ? Number(x) - Number(y) : compareTexts(x, y);
}

const compareTexts = (x: CelValue, y: CelValue): number | undefined =>
  typeof x === 'string' && typeof y === 'string' ? order(x, y) : undefined;

/** By value: a bigint and a number are compared exactly. */
function order<T extends bigint | number | string>(x: T, y: T): number {
  if (x < y) return -1;
  if (x > y) return 1;
  return x >= y ? 0 : Number.NaN;
}

function zeroLike(other: CelValue): CelValue {
  if (typeof other === 'string') return '';
  return typeof other === 'boolean' ? false : 0n;
}

const INT_MIN = -(2n ** 63n);
const INT_MAX = 2n ** 63n - 1n;
const UINT_MAX = 2n ** 64n - 1n;

/** undefined where the number does not fit into 64 bits. */
export const intOf = (value: bigint): bigint | undefined => (value >= INT_MIN && value <= INT_MAX ? value : undefined);
export const uintOf = (value: bigint): Uint | undefined => (value >= 0n && value <= UINT_MAX ? new Uint(value) : undefined);

/** undefined where the operator does not fit, for a division by zero, and for what does not fit into 64 bits. */
export function arithmetic(sign: string, left: CelValue, right: CelValue): CelValue | undefined {
  const a = left === ABSENT ? zeroFor(right) : left;
  const b = right === ABSENT ? zeroFor(left) : right;
  if (!isNumber(a) || !isNumber(b)) return ofOthers(sign, a, b);
  if (typeof a === 'number' || typeof b === 'number') return typeof a === typeof b ? REAL[sign]?.(a as number, b as number) : undefined;
  const result = WHOLE[sign]?.(plain(a) as bigint, plain(b) as bigint);
  return result === undefined ? undefined : counted(result, a, b);
}

/** Numbers of API objects are read as signed: the other side tells what they are. */
const counted = (result: bigint, a: CelValue, b: CelValue): CelValue | undefined =>
  a instanceof Uint || b instanceof Uint ? uintOf(result) : intOf(result);

const zeroFor = (other: CelValue): CelValue => (typeof other === 'number' ? 0 : Array.isArray(other) ? [] : zeroLike(other));

const ofOthers = (sign: string, a: CelValue, b: CelValue): CelValue | undefined =>
  isTime(a) && isTime(b) ? reckoned(sign, a, b) : sign === '+' ? concatenated(a, b) : undefined;

function concatenated(a: CelValue, b: CelValue): CelValue | undefined {
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

export const listed = (value: CelValue): readonly CelValue[] | undefined => {
  if (value === ABSENT || value === null) return [];
  if (value instanceof CelObject) return value.keys();
  return Array.isArray(value) ? value : undefined;
};

/** How much of a value there is to look through: what an operation on it costs. */
export function weightOf(value: CelValue): number {
  if (typeof value === 'string') return value.length;
  return Array.isArray(value) ? value.length : 1;
}
