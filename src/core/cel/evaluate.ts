// What a CEL expression results in, for given variables: the language itself with its macros and the functions for texts, lists and numbers. Objects
// are not built here. An expression that cannot be evaluated says why; one that takes too many steps is cut off. Pure.
import { fail, ok, type Result } from '../../base/result.js';
import { type Expression, parse } from './parser.js';
import { ABSENT, arithmetic, CelObject, type CelValue, celOf, compare, equal, isSet, listOf, sizeOf } from './values.js';

export type Variables = Readonly<Record<string, CelValue>>;

class Fault extends Error {}

const MOST_STEPS = 1_000_000;

type TextMethod = (text: string, argument: string) => boolean;

const TEXT_METHODS: Readonly<Record<string, TextMethod>> = {
  contains: (text, part) => text.includes(part),
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  matches: (text, pattern) => regular(pattern).test(text),
};

function regular(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    throw new Fault(`${JSON.stringify(pattern)} is no regular expression`);
  }
}

function wholeOf(value: CelValue): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return BigInt(Math.trunc(value));
  return typeof value === 'string' && /^[+-]?\d+$/.test(value) ? BigInt(value) : undefined;
}

const CONVERSIONS: Readonly<Record<string, (value: CelValue) => CelValue | undefined>> = {
  int: wholeOf,
  uint: wholeOf,
  double: (value) => (['bigint', 'number', 'string'].includes(typeof value) && !Number.isNaN(Number(value)) ? Number(value) : undefined),
  string: (value) => (['bigint', 'number', 'string', 'boolean'].includes(typeof value) ? String(value) : undefined),
  bool: (value) => (typeof value === 'boolean' ? value : ({ true: true, false: false } as Record<string, boolean>)[String(value)]),
  dyn: (value) => value,
  size: sizeOf,
};

type Macro = (items: readonly CelValue[], each: (item: CelValue, part: number) => CelValue, parts: number) => CelValue;

const isTrue = (value: CelValue): boolean => {
  if (typeof value !== 'boolean') throw new Fault('a condition results in something else than true or false');
  return value;
};

const MACROS: Readonly<Record<string, Macro>> = {
  all: (items, each) => items.every((item) => isTrue(each(item, 0))),
  exists: (items, each) => items.some((item) => isTrue(each(item, 0))),
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

class Evaluator {
  #steps = 0;

  of(e: Expression, scope: Variables): CelValue {
    this.#steps += 1;
    if (this.#steps > MOST_STEPS) throw new Fault(`it takes more than ${MOST_STEPS} steps`);
    switch (e.is) {
      case 'literal':
        return e.value;
      case 'name':
        return this.#named(e.name, scope);
      case 'select':
        return this.#selected(this.of(e.of, scope), e.field);
      case 'index':
        return this.#indexed(this.of(e.of, scope), this.of(e.key, scope));
      case 'list':
        return e.items.map((item) => this.of(item, scope));
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
    if (e.is === 'object') throw new Fault(`objects such as ${e.type} cannot be built in this version`);
    throw new Fault('maps cannot be built in this version');
  }

  #named(name: string, scope: Variables): CelValue {
    const value = Object.hasOwn(scope, name) ? scope[name] : undefined;
    if (value === undefined) throw new Fault(`${name} is not known in this version`);
    return value;
  }

  #selected(of: CelValue, field: string): CelValue {
    if (of instanceof CelObject) return of.field(field);
    if (of === ABSENT || of === null) return ABSENT;
    throw new Fault(`there is no field ${field} in what is no object`);
  }

  #indexed(of: CelValue, key: CelValue): CelValue {
    if (of instanceof CelObject && typeof key === 'string' && Object.hasOwn(of.json, key)) return celOf(of.json[key]);
    const list = Array.isArray(of) ? of : undefined;
    const item = typeof key === 'bigint' ? list?.[Number(key)] : undefined;
    if (item !== undefined) return item;
    throw new Fault(`there is no entry ${String(key)}`);
  }

  #unary(sign: string, value: CelValue): CelValue {
    if (sign === '!') return !isTrue(value);
    if (typeof value === 'bigint' || typeof value === 'number') return -value;
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
        fault ??= err;
      }
    }
    if (fault !== undefined) throw fault;
    return !deciding;
  }

  #binary({ sign, left, right }: Expression & { is: 'binary' }, scope: Variables): CelValue {
    const a = this.of(left, scope);
    const b = this.of(right, scope);
    if (sign === '==' || sign === '!=') return equal(a, b) === (sign === '==');
    if (sign === 'in') return this.#member(a, b);
    const order = ORDERS[sign];
    const result = order ? compare(a, b) : arithmetic(sign, a, b);
    if (result === undefined) throw new Fault(`operator ${sign} does not fit its operands`);
    return order ? order(result as number) : (result as CelValue);
  }

  #member(value: CelValue, within: CelValue): boolean {
    const list = listOf(within);
    if (list === undefined) throw new Fault('only lists and maps can be looked into with "in"');
    return list.some((item) => equal(item, value));
  }

  #called(e: Expression & { is: 'call' }, scope: Variables): CelValue {
    const { of, name, args } = e;
    if (of === undefined && name === 'has') return this.#has(args, scope);
    const macro = of && Object.hasOwn(MACROS, name) ? MACROS[name] : undefined;
    if (of && macro) return this.#comprehension(macro, of, args, scope);
    const operands = [...(of ? [of] : []), ...args].map((each) => this.of(each, scope));
    const result = this.#applied(name, operands);
    if (result === undefined) throw new Fault(`${name}() cannot be evaluated for what it is given, or not in this version`);
    return result;
  }

  #applied(name: string, [first = ABSENT, second]: readonly CelValue[]): CelValue | undefined {
    if (second === undefined) return Object.hasOwn(CONVERSIONS, name) ? CONVERSIONS[name]?.(first) : undefined;
    const method = Object.hasOwn(TEXT_METHODS, name) ? TEXT_METHODS[name] : undefined;
    const text = first === ABSENT ? '' : first;
    return typeof text === 'string' && typeof second === 'string' ? method?.(text, second) : undefined;
  }

  #has([argument]: readonly Expression[], scope: Variables): boolean {
    if (argument?.is !== 'select') throw new Fault('has() takes one field, as in has(a.b)');
    return isSet(this.of(argument, scope));
  }

  #comprehension(macro: Macro, of: Expression, [element, ...parts]: readonly Expression[], scope: Variables): CelValue {
    const items = listOf(this.of(of, scope));
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
    if (err instanceof Fault) return fail(err.message);
    throw err;
  }
}

/** As evaluate, for an expression that says yes or no. */
export function evaluateCondition(text: string, variables: Variables): Result<boolean, string> {
  const result = evaluate(text, variables);
  if (!result.ok) return result;
  return typeof result.value === 'boolean' ? ok(result.value) : fail('it results in something else than true or false');
}
