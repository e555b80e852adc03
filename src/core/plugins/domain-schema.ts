// The parts of a domain by the names that CEL expressions know them by, and where each stands in the XML. Reads the generated table when it is first
// asked. Pure; called for the check of expressions, and by those who read and change domains for them.
import { listOf, type Type } from '../cel/types.js';
import { DOMAIN_TYPES } from './generated/domain-types.js';

/** What tells one variant of an element from the others: attributes of the element itself or of the one around it. */
export interface Mark {
  readonly on: 'self' | 'parent';
  readonly attrs: Readonly<Record<string, string>>;
}

export interface Place {
  readonly kind: 'attribute' | 'text' | 'content' | 'element' | 'elements' | 'texts' | 'variant';
  /** Of the value, or of one of a list. */
  readonly type: Type;
  /** Name of the attribute or element; empty where the place is the element itself. */
  readonly xml: string;
  /** Numbers are written in hexadecimal, with so many digits at least. */
  readonly digits?: number;
  readonly mark?: Mark;
}

export type Places = ReadonlyMap<string, Place>;

const KINDS: Readonly<Record<string, Place['kind']>> = {
  '@': 'attribute',
  '=': 'text',
  '#': 'content',
  '>': 'element',
  '*': 'elements',
  '%': 'texts',
  '^': 'variant',
};
const SCALARS: Readonly<Record<string, Type>> = { '': 'string', u: 'uint', i: 'int' };
const PART = /^(\w+):([@=#>*%^])(\w*)(?::(.*))?$/;

function markOf(text: string): Mark | undefined {
  if (text === '') return undefined;
  return { on: text.startsWith('<') ? 'parent' : 'self', attrs: Object.fromEntries(new URLSearchParams(text.slice(1))) };
}

function placeOf(part: string): [string, Place] {
  const [, name = '', sign = '', given = '', xml = ''] = PART.exec(part) ?? [];
  const kind = KINDS[sign] ?? 'attribute';
  if (kind === 'variant') {
    const mark = markOf(xml);
    return [name, { kind, type: given, xml: '', ...(mark ? { mark } : {}) }];
  }
  const [, scalar = '', digits] = /^([ui]?)(?:x(\d))?$/.exec(given) ?? [];
  const type = kind === 'element' || kind === 'elements' ? given : (SCALARS[scalar] ?? 'string');
  return [name, { kind, type, xml, ...(digits === undefined ? {} : { digits: Number(digits) }) }];
}

let lines: ReadonlyMap<string, string> | undefined;
const read = new Map<string, Places>();

function lineOf(type: string): string | undefined {
  lines ??= new Map(
    DOMAIN_TYPES.trim()
      .split('\n')
      .map((line): [string, string] => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)]),
  );
  return lines.get(type);
}

/** undefined for what is no part of a domain. */
export function placesOf(type: Type): Places | undefined {
  const known = read.get(type);
  if (known) return known;
  const line = lineOf(type);
  if (line === undefined) return undefined;
  const places = new Map(line === type ? [] : line.split(' ').map(placeOf));
  read.set(type, places);
  return places;
}

/** The type of the value at a place. */
export const valueType = ({ kind, type }: Place): Type => (kind === 'elements' || kind === 'texts' ? listOf(type) : type);

/** A name in an expression, with or without that of the reference's package. */
export function domainTypeNamed(name: string): Type | undefined {
  const bare = name.replace(/^libvirtxml\./, '');
  return placesOf(bare) ? bare : undefined;
}
