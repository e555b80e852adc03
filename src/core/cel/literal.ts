// What a literal of a CEL expression stands for. Pure; called by the parser, whose words are well-formed literals.
import type { TokenKind } from './tokens.js';

export type LiteralValue = bigint | number | string | boolean | null;

const PLAIN: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xX]([0-9a-fA-F]{2})|([0-3][0-7]{2})|([\s\S]))/g;

function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, u?: string, long?: string, hex?: string, octal?: string, plain = '') => {
    const code = u ?? long ?? hex;
    if (code !== undefined) return String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(code, 16)));
    return octal === undefined ? (PLAIN[plain] ?? plain) : String.fromCodePoint(Number.parseInt(octal, 8));
  });
}

function textOf(word: string): string {
  const [, prefix = '', quote = ''] = /^([a-zA-Z]*)("""|'''|"|')/.exec(word) ?? [];
  const body = word.slice(prefix.length + quote.length, -quote.length);
  return /r/i.test(prefix) ? body : unescaped(body);
}

export function literalOf(kind: TokenKind, word: string): LiteralValue {
  if (kind === 'int') return BigInt(word);
  if (kind === 'uint') return BigInt(word.slice(0, -1));
  return kind === 'double' ? Number(word) : textOf(word);
}
