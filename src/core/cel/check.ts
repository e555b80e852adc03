// What a CEL expression results in, as far as that is known before it runs: names must be declared, objects have the fields that are asked for,
// operators and functions fit what they are given. Called by the plugin rules. Pure.
import { fail, ok, type Result } from '../../base/result.js';
import { FUNCTIONS, METHODS } from './functions.js';
import { type Expression, parse } from './parser.js';
import type { CelFunction } from './signature.js';
import { ANY, fits, innerOf, isList, isMap, joined, listOf, mapOf, type Type, WHOLE } from './types.js';

export type { Type } from './types.js';

export interface Environment {
  readonly variables: Readonly<Record<string, Type>>;
  /** The type of a field of a declared object type; false where it has no such field, undefined for types that are not declared. */
  readonly fieldOf: (type: Type, field: string) => Type | false | undefined;
  /** The declared type that a name in an object literal means. */
  readonly typeNamed: (name: string) => Type | undefined;
  /** Functions (by their dotted names) and methods beyond the language's own. */
  readonly functions?: Readonly<Record<string, readonly CelFunction[]>>;
  readonly methods?: Readonly<Record<string, readonly CelFunction[]>>;
  /** Numbers of different types can be compared. */
  readonly comparesNumbers?: boolean;
}

class Fault extends Error {}

/** Names come from whoever wrote the expression: `constructor` is one like any other. */
const own = <T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  table && Object.hasOwn(table, name) ? table[name] : undefined;

const NUMBERS: readonly Type[] = ['int', 'uint', 'double', WHOLE];
const ORDERED: readonly Type[] = [...NUMBERS, 'string', 'bytes', 'bool', 'duration', 'timestamp'];
/** What comes of adding and taking away points in time and spans of it. */
const TIMES: Readonly<Record<string, Type>> = {
  'duration + duration': 'duration',
  'duration - duration': 'duration',
  'timestamp + duration': 'timestamp',
  'duration + timestamp': 'timestamp',
  'timestamp - duration': 'timestamp',
  'timestamp - timestamp': 'duration',
};
const ADDED: readonly Type[] = [...NUMBERS, 'string', 'bytes'];
const TYPE_NAMES = ['int', 'uint', 'double', 'string', 'bytes', 'bool', 'list', 'map', 'null_type', 'type'];
const MACROS = ['all', 'exists', 'exists_one', 'map', 'filter'];

type Scope = Readonly<Record<string, Type>>;
type Args = readonly Expression[];

/** Where a function is called: what is known there, and what it is asked of. */
interface Place {
  readonly scope: Scope;
  readonly of?: readonly Type[];
}

function overload(sign: string, ...types: Type[]): never {
  throw new Fault(`operator ${sign} cannot be used with ${types.join(' and ')}`);
}

/** Objects and lists may be compared with null; plain values never are null. */
function comparable(left: Type, right: Type): boolean {
  if (fits(left, right)) return true;
  return [left, right].includes('null') && ![left, right].some((type) => ORDERED.includes(type));
}

/** Operators that result in true or false, and of what they ask. */
const ASKING: Readonly<Record<string, 'truth' | 'equality' | 'order'>> = {
  ...Object.fromEntries(['&&', '||'].map((sign) => [sign, 'truth'])),
  ...Object.fromEntries(['==', '!='].map((sign) => [sign, 'equality'])),
  ...Object.fromEntries(['<', '<=', '>', '>='].map((sign) => [sign, 'order'])),
};
const areTruths = (left: Type, right: Type): boolean => fits(left, 'bool') && fits(right, 'bool');

/** What the elements are that a macro goes through: of a list its items, of a map its keys. */
function elementsOf(of: Type): Type | undefined {
  return innerOf(of, 'list') ?? (of === ANY || isMap(of) ? ANY : undefined);
}

class Checker {
  private readonly env: Environment;

  constructor(env: Environment) {
    this.env = env;
  }

  typeOf(e: Expression, scope: Scope): Type {
    switch (e.is) {
      case 'literal':
        return e.type;
      case 'name':
        return this.named(e.name, scope);
      case 'select':
        return this.selected(this.typeOf(e.of, scope), e.field);
      case 'list':
        return listOf(this.common(e.items, scope));
      case 'map':
        return this.map(e.parts, scope);
      case 'binary':
        return this.binary(e.sign, this.typeOf(e.left, scope), this.typeOf(e.right, scope));
      case 'call':
        return this.called(e, scope);
      case 'object':
        return this.literal(e, scope);
      default:
        return this.other(e, scope);
    }
  }

  private other(e: Expression & { is: 'index' | 'unary' | 'choice' }, scope: Scope): Type {
    if (e.is === 'choice') return this.chosen(e, scope);
    const type = this.typeOf(e.of, scope);
    if (e.is === 'unary') {
      const sound = e.sign === '!' ? fits(type, 'bool') : [ANY, WHOLE, 'int', 'double'].includes(type);
      return sound ? type : overload(e.sign, type);
    }
    return this.indexed(type, this.typeOf(e.key, scope));
  }

  private indexed(type: Type, key: Type): Type {
    const item = innerOf(type, 'list');
    if (item !== undefined && NUMBERS.some((number) => fits(key, number))) return item;
    const value = item === undefined ? (innerOf(type, 'map') ?? (type === ANY ? ANY : undefined)) : undefined;
    return value ?? overload('[]', type, key);
  }

  private chosen({ condition, yes, no }: Expression & { is: 'choice' }, scope: Scope): Type {
    const asked = this.typeOf(condition, scope);
    if (!fits(asked, 'bool')) overload('?', asked);
    const [left, right] = [this.typeOf(yes, scope), this.typeOf(no, scope)];
    if (!comparable(left, right)) overload(':', left, right);
    return joined(left, right);
  }

  /** The type that all of these have; `any` where they differ. */
  private common(items: readonly Expression[], scope: Scope): Type {
    const types = items.map((item) => this.typeOf(item, scope));
    return types.length === 0 ? ANY : types.reduce(joined);
  }

  private map(parts: readonly Expression[], scope: Scope): Type {
    this.common(
      parts.filter((_, i) => i % 2 === 0),
      scope,
    );
    return mapOf(
      this.common(
        parts.filter((_, i) => i % 2 === 1),
        scope,
      ),
    );
  }

  private binary(sign: string, left: Type, right: Type): Type {
    if (sign === 'in') return this.member(left, right);
    const asks = ASKING[sign];
    if (asks === undefined) return TIMES[`${left} ${sign} ${right}`] ?? this.arithmetic(sign, left, right);
    const sound = asks === 'order' ? this.isOrdered(left, right) : asks === 'equality' ? comparable(left, right) : areTruths(left, right);
    return sound ? 'bool' : overload(sign, left, right);
  }

  private isOrdered(left: Type, right: Type): boolean {
    if (this.env.comparesNumbers && NUMBERS.includes(left) && NUMBERS.includes(right)) return true;
    return fits(left, right) && [left, right].every((type) => type === ANY || ORDERED.includes(type));
  }

  private member(left: Type, right: Type): Type {
    const item = innerOf(right, 'list');
    if (right === ANY || isMap(right)) return 'bool';
    return item !== undefined && comparable(left, item) ? 'bool' : overload('in', left, right);
  }

  private arithmetic(sign: string, left: Type, right: Type): Type {
    if (!fits(left, right)) return overload(sign, left, right);
    const type = left === ANY ? right : joined(left, right);
    const added = sign === '+' && (ADDED.includes(type) || isList(type));
    const counted = NUMBERS.includes(type) && !(sign === '%' && type === 'double');
    return added || counted || type === ANY ? type : overload(sign, left, right);
  }

  private named(name: string, scope: Scope): Type {
    const type = own(scope, name) ?? own(this.env.variables, name) ?? (TYPE_NAMES.includes(name) ? 'type' : undefined);
    if (type !== undefined) return type;
    throw new Fault(`${name} is not declared: there is ${Object.keys(this.env.variables).join(', ')}`);
  }

  private selected(type: Type, field: string): Type {
    const value = type === ANY ? ANY : innerOf(type, 'map');
    if (value !== undefined) return value;
    const found = this.env.fieldOf(type, field);
    if (found) return found;
    throw new Fault(found === false ? `${type} has no field ${field}` : `a ${type} has no fields, so not ${field}`);
  }

  private called(e: Expression & { is: 'call' }, scope: Scope): Type {
    const { of, name, args } = e;
    if (of === undefined) return this.plainCall(name, args, scope);
    const dotted = of.is === 'name' && !own(this.env.variables, of.name) && !own(scope, of.name) ? `${of.name}.${name}` : undefined;
    if (dotted !== undefined) return this.result(own(this.env.functions, dotted), dotted, args, { scope });
    const type = this.typeOf(of, scope);
    if (MACROS.includes(name)) return this.comprehension(name, type, args, scope);
    const methods = [...(own(METHODS, name) ?? []), ...(own(this.env.methods, name) ?? [])];
    return this.result(methods, name, args, { scope, of: [type] });
  }

  private plainCall(name: string, args: readonly Expression[], scope: Scope): Type {
    if (name === 'has') return this.presence(args, scope);
    if (name === 'type' && args.length === 1)
      return this.types(args, scope)
        .map(() => 'type')
        .join();
    return this.result(own(FUNCTIONS, name), name, args, { scope });
  }

  private types(args: readonly Expression[], scope: Scope): Type[] {
    return args.map((arg) => this.typeOf(arg, scope));
  }

  private result(overloads: readonly CelFunction[] = [], name: string, args: Args, { scope, of = [] }: Place): Type {
    if (overloads.length === 0) throw new Fault(`there is no function ${name}`);
    const types = [...of, ...this.types(args, scope)];
    const fitting = overloads.filter(({ takes }) => takes.length === types.length && takes.every((type, i) => fits(types[i] ?? ANY, type)));
    if (fitting.length === 0) overload(`${name}()`, ...(types.length > 0 ? types : ['nothing']));
    return fitting.map(({ gives }) => (typeof gives === 'string' ? gives : gives(types))).reduce(joined);
  }

  private presence(args: readonly Expression[], scope: Scope): Type {
    const [argument] = args;
    if (args.length !== 1 || argument?.is !== 'select') throw new Fault('has() takes one field, as in has(a.b)');
    this.typeOf(argument, scope);
    return 'bool';
  }

  /** The first argument names the element that the others speak of. */
  private comprehension(macro: string, of: Type, [element, ...rest]: Args, scope: Scope): Type {
    if (element?.is !== 'name' || rest.length === 0 || rest.length > (macro === 'map' ? 2 : 1)) {
      throw new Fault(`${macro} takes a name and an expression of it`);
    }
    const item = elementsOf(of) ?? overload(`${macro}()`, of);
    const types = this.types(rest, { ...scope, [element.name]: item });
    const asked = macro === 'map' ? types.slice(0, -1) : types;
    const wrong = asked.find((type) => !fits(type, 'bool'));
    if (wrong !== undefined) throw new Fault(`${macro} takes an expression that is true or false, not ${articled(wrong)}`);
    if (macro === 'map') return listOf(types.at(-1) ?? ANY);
    return macro === 'filter' ? listOf(item) : 'bool';
  }

  private literal({ type: name, fields }: Expression & { is: 'object' }, scope: Scope): Type {
    const type = this.env.typeNamed(name);
    if (type === undefined) throw new Fault(`there is no type ${name}`);
    for (const [field, value] of fields) {
      const [wanted, given] = [this.selected(type, field), this.typeOf(value, scope)];
      const clears = given === 'null' && !ORDERED.includes(wanted);
      if (!clears && !fits(given, wanted)) throw new Fault(`${type}.${field} is ${articled(wanted)}, not ${articled(given)}`);
    }
    return type;
  }
}

const articled = (type: Type): string => `${/^[aeiou](?!nt$|int)/i.test(type) || type === 'int' ? 'an' : 'a'} ${type}`;

/** The type of the result, or what is wrong with the expression. */
export function typeOfExpression(text: string, env: Environment): Result<Type, string> {
  const expression = parse(text);
  if (!expression.ok) return expression;
  try {
    return ok(new Checker(env).typeOf(expression.value, {}));
  } catch (err) {
    if (err instanceof Fault) return fail(err.message);
    throw err;
  }
}

export const mayBe = (type: Type, wanted: Type): boolean => fits(type, wanted);
