// The words of a CEL expression: names, literals and signs with their positions. Called by the parser. Pure.
import { fail, ok, type Result } from '../../base/result.js';

/** `field` is a name in backquotes: of a key that is no word. */
export type TokenKind = 'name' | 'field' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'sign' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Counted from 1. */
  readonly column: number;
}

const STRING = String.raw`"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`;

/** In order: the first that fits at a place wins. */
const SHAPES: readonly (readonly [TokenKind | 'blank', RegExp])[] = [
  ['blank', /(?:\s|\/\/[^\n]*)+/y],
  ['bytes', new RegExp(`(?:[bB][rR]?|[rR][bB])(?:${STRING})`, 'y')],
  ['string', new RegExp(`[rR]?(?:${STRING})`, 'y')],
  ['double', /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y],
  ['uint', /(?:0x[0-9a-fA-F]+|\d+)[uU]/y],
  ['int', /0x[0-9a-fA-F]+|\d+/y],
  ['name', /[A-Za-z_][A-Za-z0-9_]*/y],
  ['field', /`[A-Za-z0-9_.\-/ ]+`/y],
  ['sign', /&&|\|\||[<>=!]=|[-+*/%<>!?:.,()[\]{}]/y],
];

function at(text: string, place: number): readonly [TokenKind | 'blank', string] | undefined {
  for (const [kind, shape] of SHAPES) {
    shape.lastIndex = place;
    const found = shape.exec(text);
    if (found) return [kind, found[0]];
  }
  return undefined;
}

export function tokensOf(text: string): Result<readonly Token[], string> {
  const tokens: Token[] = [];
  for (let place = 0; place < text.length; ) {
    const found = at(text, place);
    if (!found) return fail(`column ${place + 1}: ${JSON.stringify(text[place])} starts nothing that CEL knows`);
    const [kind, word] = found;
    if (kind !== 'blank') tokens.push({ kind, text: word, column: place + 1 });
    place += word.length;
  }
  return ok([...tokens, { kind: 'end', text: '', column: text.length + 1 }]);
}
