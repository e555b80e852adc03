// What a CEL expression results in, as far as that is known before it runs: names must be declared, operators fit their operands. Fields of
// API objects deeper than the first level are not followed: they count as of any type. Called by the plugin rules. Pure.
import { fail, ok, type Result } from '../../base/result.js';
import { type Expression, parse } from './parser.js';

/** `any` is what is only known when the expression runs; anything else that is no CEL type names a declared object type. */
export type Type = string;

export interface Environment {
  readonly variables: Readonly<Record<string, Type>>;
  /** Whether an object type has the field; undefined for types that are not declared. */
  readonly hasField: (type: Type, field: string) => boolean | undefined;
  /** The declared type that a name in an object literal means. */
  readonly typeNamed: (name: string) => Type | undefined;
  /** Result types of functions and methods beyond the language's own. */
  readonly functions: Readonly<Record<string, Type>>;
}

class Fault extends Error {}

const ANY = 'any';
const NUMBERS = ['int', 'uint', 'double'];
const JOINED = ['string', 'bytes', 'list', 'duration', 'timestamp'];
const SIZED = ['string', 'bytes', 'list', 'map'];
const CONVERSIONS = ['int', 'uint', 'double', 'string', 'bytes', 'bool', 'duration', 'timestamp', 'type'];
const MACROS: Readonly<Record<string, Type>> = { all: 'bool', exists: 'bool', exists_one: 'bool', map: 'list', filter: 'list' };

const FUNCTIONS: Readonly<Record<string, Type>> = {
  ...Object.fromEntries(CONVERSIONS.map((name) => [name, name])),
  dyn: ANY,
  size: 'int',
  matches: 'bool',
};
const METHODS: Readonly<Record<string, Type>> = {
  size: 'int',
  matches: 'bool',
  contains: 'bool',
  startsWith: 'bool',
  endsWith: 'bool',
  ...Object.fromEntries(
    ['FullYear', 'Month', 'Date', 'DayOfMonth', 'DayOfWeek', 'DayOfYear', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'].map((part) => [
      `get${part}`,
      'int',
    ]),
  ),
};

/** What methods and functions of these names can be asked of. */
const RECEIVERS: Readonly<Record<string, readonly Type[]>> = {
  size: SIZED,
  ...Object.fromEntries(['matches', 'contains', 'startsWith', 'endsWith'].map((name) => [name, ['string']])),
};

type Scope = ReadonlySet<string>;

const fits = (type: Type, wanted: Type): boolean => type === ANY || type === wanted;

function overload(sign: string, ...types: Type[]): never {
  throw new Fault(`operator ${sign} cannot be used with ${types.join(' and ')}`);
}

function comparable(left: Type, right: Type): boolean {
  const nullable = [left, right].includes('null') && ![left, right].some((t) => NUMBERS.includes(t) || ['string', 'bool'].includes(t));
  return left === right || [left, right].includes(ANY) || nullable;
}

type Operator = (sign: string, left: Type, right: Type) => Type;

const logic: Operator = (sign, left, right) => (fits(left, 'bool') && fits(right, 'bool') ? 'bool' : overload(sign, left, right));
const membership: Operator = (sign, left, right) => ([ANY, 'list', 'map'].includes(right) ? 'bool' : overload(sign, left, right));
const equality: Operator = (sign, left, right) => (comparable(left, right) ? 'bool' : overload(sign, left, right));
const order: Operator = (sign, left, right) =>
  (NUMBERS.includes(left) && NUMBERS.includes(right)) || comparable(left, right) ? 'bool' : overload(sign, left, right);

const arithmetic: Operator = (sign, left, right) => {
  if (left !== right && left !== ANY && right !== ANY) return overload(sign, left, right);
  const type = left === ANY ? right : left;
  const isJoined = sign === '+' && JOINED.includes(type);
  return isJoined || type === ANY || NUMBERS.includes(type) ? type : overload(sign, left, right);
};

const OPERATORS: Readonly<Record<string, Operator>> = {
  ...Object.fromEntries(['&&', '||'].map((sign) => [sign, logic])),
  ...Object.fromEntries(['==', '!='].map((sign) => [sign, equality])),
  ...Object.fromEntries(['<', '<=', '>', '>='].map((sign) => [sign, order])),
  in: membership,
};

const binaryType: Operator = (sign, left, right) => (OPERATORS[sign] ?? arithmetic)(sign, left, right);

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
        return this.all(e.items, scope, 'list');
      case 'map':
        return this.all(e.parts, scope, 'map');
      case 'binary':
        return binaryType(e.sign, this.typeOf(e.left, scope), this.typeOf(e.right, scope));
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
      const sound = e.sign === '!' ? fits(type, 'bool') : [ANY, 'int', 'double'].includes(type);
      return sound ? type : overload(e.sign, type);
    }
    this.typeOf(e.key, scope);
    return [ANY, 'list', 'map'].includes(type) ? ANY : overload('[]', type);
  }

  private chosen({ condition, yes, no }: Expression & { is: 'choice' }, scope: Scope): Type {
    const asked = this.typeOf(condition, scope);
    if (!fits(asked, 'bool')) overload('?', asked);
    const [left, right] = [this.typeOf(yes, scope), this.typeOf(no, scope)];
    if (!comparable(left, right)) overload(':', left, right);
    return left === right ? left : ANY;
  }

  private all(parts: readonly Expression[], scope: Scope, type: Type): Type {
    for (const part of parts) this.typeOf(part, scope);
    return type;
  }

  private named(name: string, scope: Scope): Type {
    if (scope.has(name)) return ANY;
    const type = this.env.variables[name] ?? (CONVERSIONS.includes(name) ? 'type' : undefined);
    if (type !== undefined) return type;
    throw new Fault(`${name} is not declared: there is ${Object.keys(this.env.variables).join(', ')}`);
  }

  private selected(type: Type, field: string): Type {
    if (type === ANY || type === 'map') return ANY;
    const has = this.env.hasField(type, field);
    if (has === true) return ANY;
    throw new Fault(has === false ? `${type} has no field ${field}` : `a ${type} has no fields, so not ${field}`);
  }

  private called({ of, name, args }: Expression & { is: 'call' }, scope: Scope): Type {
    if (of === undefined && name === 'has') return this.presence(args, scope);
    if (of === undefined) return this.result(FUNCTIONS[name] ?? this.env.functions[name], name, args, scope);
    if (of.is === 'name' && !this.env.variables[of.name] && !scope.has(of.name)) {
      return this.result(this.env.functions[`${of.name}.${name}`], `${of.name}.${name}`, args, scope);
    }
    const type = this.typeOf(of, scope);
    const macro = MACROS[name];
    if (macro !== undefined) return this.comprehension(macro, args, scope);
    if (type !== ANY && RECEIVERS[name]?.includes(type) === false) overload(`${name}()`, type);
    return this.result(METHODS[name] ?? this.env.functions[name], name, args, scope);
  }

  private result(type: Type | undefined, name: string, args: readonly Expression[], scope: Scope): Type {
    if (type === undefined) throw new Fault(`there is no function ${name}`);
    return this.all(args, scope, type);
  }

  private presence(args: readonly Expression[], scope: Scope): Type {
    const [argument] = args;
    if (args.length !== 1 || argument?.is !== 'select') throw new Fault('has() takes one field, as in has(a.b)');
    this.typeOf(argument, scope);
    return 'bool';
  }

  /** The first argument names the element that the others speak of. */
  private comprehension(type: Type, [element, ...rest]: readonly Expression[], scope: Scope): Type {
    if (element?.is !== 'name' || rest.length === 0) throw new Fault('all, exists, map and filter take a name and an expression of it');
    return this.all(rest, new Set([...scope, element.name]), type);
  }

  private literal({ type: name, fields }: Expression & { is: 'object' }, scope: Scope): Type {
    const type = this.env.typeNamed(name);
    if (type === undefined) throw new Fault(`there is no type ${name}`);
    for (const [field, value] of fields) {
      this.selected(type, field);
      this.typeOf(value, scope);
    }
    return type;
  }
}

/** The type of the result, or what is wrong with the expression. */
export function typeOfExpression(text: string, env: Environment): Result<Type, string> {
  const expression = parse(text);
  if (!expression.ok) return expression;
  try {
    return ok(new Checker(env).typeOf(expression.value, new Set()));
  } catch (err) {
    if (err instanceof Fault) return fail(err.message);
    throw err;
  }
}

export const mayBe = (type: Type, wanted: Type): boolean => fits(type, wanted);
