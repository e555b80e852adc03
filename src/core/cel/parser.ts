// CEL expressions as trees. Knows the grammar, nothing of types. Called by the checker; the first thing that does not fit ends it. Pure.
import { fail, ok, type Result } from '../../base/result.js';
import { type LiteralValue, literalOf } from './literal.js';
import { type Token, type TokenKind, tokensOf } from './tokens.js';

export type Literal = 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'bool' | 'null';

export type Expression =
  | { readonly is: 'literal'; readonly type: Literal; readonly value: LiteralValue }
  | { readonly is: 'name'; readonly name: string }
  | { readonly is: 'select'; readonly of: Expression; readonly field: string }
  | { readonly is: 'index'; readonly of: Expression; readonly key: Expression }
  | { readonly is: 'call'; readonly of?: Expression; readonly name: string; readonly args: readonly Expression[] }
  | { readonly is: 'list'; readonly items: readonly Expression[] }
  | { readonly is: 'map'; readonly parts: readonly Expression[] }
  | { readonly is: 'object'; readonly type: string; readonly fields: readonly (readonly [string, Expression])[] }
  | { readonly is: 'unary'; readonly sign: string; readonly of: Expression }
  | { readonly is: 'binary'; readonly sign: string; readonly left: Expression; readonly right: Expression }
  | { readonly is: 'choice'; readonly condition: Expression; readonly yes: Expression; readonly no: Expression };

class SyntaxFault extends Error {}

/** Loosest first. */
const LEVELS: readonly (readonly string[])[] = [['||'], ['&&'], ['<', '<=', '>=', '>', '==', '!=', 'in'], ['+', '-'], ['*', '/', '%']];
const WORDS: Readonly<Record<string, readonly [Literal, LiteralValue]>> = {
  true: ['bool', true],
  false: ['bool', false],
  null: ['null', null],
};
const LITERALS: readonly TokenKind[] = ['int', 'uint', 'double', 'string', 'bytes'];
/** Bounds that nobody reaches who writes by hand: whoever walks through the tree must come to an end, and not run out of stack. */
const LONGEST = 16_384;
const DEEPEST = 250;
const LONGEST_CHAIN = 1_000;

class Parser {
  private readonly tokens: readonly Token[];
  private place = 0;
  private depth = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  private get token(): Token {
    return this.tokens[this.place] as Token;
  }

  private next(): Token {
    const { token } = this;
    if (token.kind !== 'end') this.place += 1;
    return token;
  }

  private wrong(wanted: string): never {
    const { text, column } = this.token;
    throw new SyntaxFault(`column ${column}: ${text === '' ? 'the expression ends' : `there is "${text}"`} where ${wanted} is expected`);
  }

  private accepts(sign: string): boolean {
    const fits = this.token.text === sign && (this.token.kind === 'sign' || this.token.kind === 'name');
    if (fits) this.next();
    return fits;
  }

  private expect(sign: string): void {
    if (!this.accepts(sign)) this.wrong(`"${sign}"`);
  }

  private name(): string {
    return this.token.kind === 'name' ? this.next().text : this.wrong('a name');
  }

  whole(): Expression {
    const expression = this.expression();
    return this.token.kind === 'end' ? expression : this.wrong('an operator or the end');
  }

  private expression(): Expression {
    this.depth += 1;
    this.bound(this.depth, DEEPEST);
    const condition = this.level(0);
    const choice = this.accepts('?') ? this.choice(condition) : condition;
    this.depth -= 1;
    return choice;
  }

  private bound(reached: number, most: number): void {
    if (reached > most) this.wrong('an end: the expression is nested too deeply, and something simpler');
  }

  private choice(condition: Expression): Expression {
    const yes = this.level(0);
    this.expect(':');
    return { is: 'choice', condition, yes, no: this.expression() };
  }

  private level(index: number): Expression {
    const signs = LEVELS[index];
    if (!signs) return this.unary();
    let left = this.level(index + 1);
    let links = 0;
    for (let sign = signs.find((s) => this.accepts(s)); sign !== undefined; sign = signs.find((s) => this.accepts(s))) {
      links += 1;
      this.bound(links, LONGEST_CHAIN);
      left = { is: 'binary', sign, left, right: this.level(index + 1) };
    }
    return left;
  }

  private unary(): Expression {
    const sign = ['!', '-'].find((s) => this.accepts(s));
    if (sign === undefined) return this.member();
    this.depth += 1;
    this.bound(this.depth, DEEPEST);
    const negated: Expression = { is: 'unary', sign, of: this.unary() };
    this.depth -= 1;
    return negated;
  }

  private member(): Expression {
    let of = this.primary();
    for (let links = 0; ; links++) {
      this.bound(links, LONGEST_CHAIN);
      if (this.accepts('.')) of = this.selection(of);
      else if (this.accepts('[')) {
        of = { is: 'index', of, key: this.expression() };
        this.expect(']');
      } else if (this.token.text === '{' && pathOf(of) !== undefined) of = this.object(pathOf(of) ?? '');
      else return of;
    }
  }

  private selection(of: Expression): Expression {
    if (this.token.kind === 'field') return { is: 'select', of, field: this.next().text.slice(1, -1) };
    const name = this.name();
    return this.accepts('(') ? { is: 'call', of, name, args: this.items(')') } : { is: 'select', of, field: name };
  }

  /** Up to the closing sign, which is consumed. */
  private items(end: string): Expression[] {
    const items: Expression[] = [];
    while (!this.accepts(end)) {
      items.push(this.expression());
      if (!this.accepts(',') && this.token.text !== end) this.wrong(`"," or "${end}"`);
    }
    return items;
  }

  private object(type: string): Expression {
    const fields: (readonly [string, Expression])[] = [];
    this.expect('{');
    while (!this.accepts('}')) {
      const name = this.name();
      this.expect(':');
      fields.push([name, this.expression()]);
      if (!this.accepts(',') && this.token.text !== '}') this.wrong('"," or "}"');
    }
    return { is: 'object', type, fields };
  }

  private map(): Expression {
    const parts: Expression[] = [];
    while (!this.accepts('}')) {
      parts.push(this.expression());
      this.expect(':');
      parts.push(this.expression());
      if (!this.accepts(',') && this.token.text !== '}') this.wrong('"," or "}"');
    }
    return { is: 'map', parts };
  }

  private primary(): Expression {
    const { kind } = this.token;
    if (LITERALS.includes(kind)) return { is: 'literal', type: kind as Literal, value: literalOf(kind, this.next().text) };
    if (this.accepts('(')) {
      const inner = this.expression();
      this.expect(')');
      return inner;
    }
    if (this.accepts('[')) return { is: 'list', items: this.items(']') };
    if (this.accepts('{')) return this.map();
    this.accepts('.');
    const name = this.name();
    const literal = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined;
    if (literal) return { is: 'literal', type: literal[0], value: literal[1] };
    if (name === 'in') this.wrong('a name');
    return this.accepts('(') ? { is: 'call', name, args: this.items(')') } : { is: 'name', name };
  }
}

/** The dotted name that an expression spells, if it is one. */
function pathOf(expression: Expression): string | undefined {
  if (expression.is === 'name') return expression.name;
  if (expression.is !== 'select') return undefined;
  const path = pathOf(expression.of);
  return path === undefined ? undefined : `${path}.${expression.field}`;
}

export function parse(text: string): Result<Expression, string> {
  if (text.length > LONGEST) return fail(`it is longer than ${LONGEST} characters`);
  const tokens = tokensOf(text);
  if (!tokens.ok) return tokens;
  try {
    return ok(new Parser(tokens.value).whole());
  } catch (err) {
    if (err instanceof SyntaxFault) return fail(err.message);
    throw err;
  }
}
