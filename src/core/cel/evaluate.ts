// What a CEL expression results in, for given variables: the language itself with its macros and the functions of ./functions.ts. An expression that
// cannot be evaluated says why; one that takes too many steps is cut off. How long a step may take is bounded by whoever calls this. Pure.
import { isKvError } from '../../base/errors.js';
import { fail, ok, type Result } from '../../base/result.js';
import { MORE_FUNCTIONS, MORE_METHODS } from './extensions.js';
import { FUNCTIONS, isOf, METHODS } from './functions.js';
import { type Expression, type Literal, parse } from './parser.js';
import type { CelFunction, FunctionTable } from './signature.js';
import { Duration, Timestamp } from './time.js';
import {
  ABSENT,
  arithmetic,
  BuiltObject,
  CelMap,
  CelObject,
  type CelValue,
  compare,
  equal,
  isSet,
  listed,
  Uint,
  weightOf,
} from './values.js';

export type Variables = Readonly<Record<string, CelValue>>;

class Fault extends Error {}

const MOST_STEPS = 1_000_000;

type Macro = (items: readonly CelValue[], each: (item: CelValue, part: number) => CelValue, parts: number) => CelValue;

const isTrue = (value: CelValue): boolean => {
  if (value === ABSENT) return false;
  if (typeof value !== 'boolean') throw new Fault('a condition results in something else than true or false');
  return value;
};

/** One item that decides is enough, whatever is wrong with the others. */
function decided(items: readonly CelValue[], deciding: boolean, each: (item: CelValue) => CelValue): boolean {
  let fault: unknown;
  for (const item of items) {
    try {
      if (isTrue(each(item)) === deciding) return deciding;
    } catch (err) {
      if (!isFault(err)) throw err;
      fault ??= err;
    }
  }
  if (fault !== undefined) throw fault;
  return !deciding;
}

const MACROS: Readonly<Record<string, Macro>> = {
  all: (items, each) => decided(items, false, (item) => each(item, 0)),
  exists: (items, each) => decided(items, true, (item) => each(item, 0)),
  exists_one: (items, each) => items.filter((item) => isTrue(each(item, 0))).length === 1,
  filter: (items, each) => items.filter((item) => isTrue(each(item, 0))),
  map: (items, each, parts) =>
    parts === 1 ? items.map((item) => each(item, 0)) : items.filter((item) => isTrue(each(item, 0))).map((item) => each(item, 1)),
};

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** Something is wrong with what the expression works on; anything else is no answer to it. */
const isFault = (err: unknown): err is Error => (err instanceof Fault || isKvError(err)) && !(err instanceof Exhausted);

class Exhausted extends Fault {}

const literal = (type: Literal, value: Exclude<CelValue, object | symbol>): CelValue =>
  type === 'uint' && typeof value === 'bigint' ? new Uint(value) : value;

const FUNCTION_TABLES = [FUNCTIONS, MORE_FUNCTIONS];
const METHOD_TABLES = [METHODS, MORE_METHODS];

const overloadsOf = (name: string, tables: readonly FunctionTable[]): readonly CelFunction[] =>
  tables.flatMap((table) => (Object.hasOwn(table, name) ? (table[name] ?? []) : []));

const TYPE_NAMES = ['int', 'uint', 'double', 'string', 'bytes', 'bool', 'list', 'map', 'null_type', 'type'];
const typeValue = (name: string): BuiltObject => new BuiltObject('type', new Map([['name', name]]));
const NAMES: Readonly<Record<string, string>> = { bigint: 'int', number: 'double', string: 'string', boolean: 'bool', symbol: 'null_type' };

function typeNameOf(value: CelValue): string {
  if (value === null) return 'null_type';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof BuiltObject) return value.type;
  if (value instanceof CelObject) return 'map';
  return Array.isArray(value) ? 'list' : (NAMES[typeof value] ?? 'null_type');
}

const isKey = (value: CelValue): boolean => ['string', 'bigint', 'boolean'].includes(typeof value) || value instanceof Uint;

class Evaluator {
  #steps = 0;

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MOST_STEPS) throw new Exhausted(`it takes more than ${MOST_STEPS} steps`);
  }

  of(e: Expression, scope: Variables): CelValue {
    this.#spend(1);
    switch (e.is) {
      case 'literal':
        return literal(e.type, e.value);
      case 'name':
        return this.#named(e.name, scope);
      case 'select':
        return this.#selected(this.of(e.of, scope), e.field);
      case 'index':
        return this.#indexed(this.of(e.of, scope), this.of(e.key, scope));
      case 'list':
        return this.#all(e.items, scope);
      case 'choice':
        return this.of(isTrue(this.of(e.condition, scope)) ? e.yes : e.no, scope);
      case 'unary':
        return this.#unary(e.sign, this.of(e.of, scope));
      default:
        return this.#other(e, scope);
    }
  }

  #other(e: Expression & { is: 'binary' | 'call' | 'map' | 'object' }, scope: Variables): CelValue {
    if (e.is === 'call') return this.#called(e, scope);
    if (e.is === 'binary') return e.sign === '&&' || e.sign === '||' ? this.#logic(e, scope) : this.#binary(e, scope);
    if (e.is === 'object') return new BuiltObject(e.type, this.#fields(e, scope));
    const parts = this.#all(e.parts, scope);
    const pairs = parts.flatMap((key, i): [CelValue, CelValue][] => (i % 2 === 0 ? [[key, parts[i + 1] ?? null]] : []));
    for (const [i, [key]] of pairs.entries()) {
      if (!isKey(key)) throw new Fault('a key of a map is a text, a whole number or a truth');
      if (pairs.slice(0, i).some(([earlier]) => equal(earlier, key))) throw new Fault('a map has the same key twice');
    }
    return new CelMap(pairs);
  }

  #fields({ fields }: Expression & { is: 'object' }, scope: Variables): Map<string, CelValue> {
    return new Map(fields.map(([name, value]) => [name, this.of(value, scope)]));
  }

  #named(name: string, scope: Variables): CelValue {
    const value = Object.hasOwn(scope, name) ? scope[name] : undefined;
    if (value !== undefined) return value;
    if (TYPE_NAMES.includes(name)) return typeValue(name);
    throw new Fault(`${name} is not known here: there is ${Object.keys(scope).join(', ') || 'nothing'}`);
  }

  #selected(of: CelValue, field: string): CelValue {
    if (of instanceof CelObject) return of.field(field);
    if (of === ABSENT || of === null) return ABSENT;
    throw new Fault(`there is no field ${field} in what is no object`);
  }

  #indexed(of: CelValue, key: CelValue): CelValue {
    const list = Array.isArray(of) ? of : undefined;
    const place = key instanceof Uint ? key.value : key;
    const isPlace = typeof place === 'bigint' || (typeof place === 'number' && Number.isInteger(place));
    const item = of instanceof CelObject ? of.entry(key) : isPlace ? list?.[Number(place)] : undefined;
    if (item !== undefined) return item;
    throw new Fault(`there is no entry ${String(key === ABSENT ? '' : key instanceof Uint ? key.value : key)}`);
  }

  #unary(sign: string, value: CelValue): CelValue {
    if (sign === '!') return !isTrue(value);
    const result = typeof value === 'number' ? -value : arithmetic('-', 0n, value);
    if (result !== undefined && !(value instanceof Uint)) return result;
    throw new Fault('only numbers can be negated');
  }

  /** One side that decides is enough, whatever is wrong with the other. */
  #logic({ sign, left, right }: Expression & { is: 'binary' }, scope: Variables): boolean {
    const deciding = sign === '||';
    let fault: unknown;
    for (const side of [left, right]) {
      try {
        if (isTrue(this.of(side, scope)) === deciding) return deciding;
      } catch (err) {
        if (!isFault(err)) throw err;
        fault ??= err;
      }
    }
    if (fault !== undefined) throw fault;
    return !deciding;
  }

  #binary({ sign, left, right }: Expression & { is: 'binary' }, scope: Variables): CelValue {
    const a = this.of(left, scope);
    const b = this.of(right, scope);
    this.#spend(weightOf(a) + weightOf(b));
    if (sign === '==' || sign === '!=') return equal(a, b) === (sign === '==');
    if (sign === 'in') return this.#member(a, b);
    const order = ORDERS[sign];
    const result = order ? compare(a, b) : arithmetic(sign, a, b);
    if (result === undefined) throw new Fault(`operator ${sign} does not fit its operands`);
    return order ? order(result as number) : (result as CelValue);
  }

  #member(value: CelValue, within: CelValue): boolean {
    const list = listed(within);
    if (list === undefined) throw new Fault('only lists and maps can be looked into with "in"');
    return list.some((item) => equal(item, value));
  }

  #called(e: Expression & { is: 'call' }, scope: Variables): CelValue {
    const { of, name, args } = e;
    if (of === undefined) return this.#plainCall(name, args, scope);
    const macro = Object.hasOwn(MACROS, name) ? MACROS[name] : undefined;
    if (macro) return this.#comprehension(macro, of, args, scope);
    const isDotted = of.is === 'name' && !Object.hasOwn(scope, of.name);
    if (isDotted) return this.#applied(`${of.name}.${name}`, FUNCTION_TABLES, this.#all(args, scope));
    return this.#applied(name, METHOD_TABLES, this.#all([of, ...args], scope));
  }

  #plainCall(name: string, args: readonly Expression[], scope: Variables): CelValue {
    if (name === 'has') return this.#has(args, scope);
    const values = this.#all(args, scope);
    return name === 'type' ? typeValue(typeNameOf(values[0] ?? null)) : this.#applied(name, FUNCTION_TABLES, values);
  }

  #all(items: readonly Expression[], scope: Variables): CelValue[] {
    return items.map((item) => this.of(item, scope));
  }

  #applied(name: string, tables: readonly FunctionTable[], operands: readonly CelValue[]): CelValue {
    this.#spend(operands.reduce<number>((sum, each) => sum + weightOf(each), 0));
    for (const { takes, run } of overloadsOf(name, tables)) {
      if (takes.length !== operands.length || !takes.every((type, i) => isOf(operands[i] ?? null, type))) continue;
      const result = run(...operands);
      if (result !== undefined) return result;
    }
    throw new Fault(`${name}() cannot be evaluated for what it is given`);
  }

  #has([argument]: readonly Expression[], scope: Variables): boolean {
    if (argument?.is !== 'select') throw new Fault('has() takes one field, as in has(a.b)');
    const of = this.of(argument.of, scope);
    return of instanceof CelObject ? of.has(argument.field) : isSet(this.#selected(of, argument.field));
  }

  #comprehension(macro: Macro, of: Expression, [element, ...parts]: readonly Expression[], scope: Variables): CelValue {
    const items = listed(this.of(of, scope));
    if (element?.is !== 'name' || items === undefined) throw new Fault('all, exists, map and filter take a list, a name and an expression');
    const each = (item: CelValue, part: number): CelValue => {
      const body = parts[part];
      if (body === undefined) throw new Fault('all, exists, map and filter take a list, a name and an expression');
      return this.of(body, { ...scope, [element.name]: item });
    };
    return macro(items, each, parts.length);
  }
}

/** The result, or why there is none. */
export function evaluate(text: string, variables: Variables): Result<CelValue, string> {
  const expression = parse(text);
  if (!expression.ok) return expression;
  try {
    return ok(new Evaluator().of(expression.value, variables));
  } catch (err) {
    if (err instanceof Exhausted || isFault(err)) return fail(err.message);
    throw err;
  }
}

/** As evaluate, for an expression that says yes or no. */
export function evaluateCondition(text: string, variables: Variables): Result<boolean, string> {
  const result = evaluate(text, variables);
  if (!result.ok) return result;
  if (result.value === ABSENT) return ok(false);
  return typeof result.value === 'boolean' ? ok(result.value) : fail('it results in something else than true or false');
}
