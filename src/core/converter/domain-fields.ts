// The words in which domain.ts says what an element may hold: attributes, text and children, each with the type that it has in the model. The
// model's types follow from them, and domain-xml.ts reads and writes by them.
import type { XmlNode } from './xml.js';

/** How a value stands in XML. What does not come back as it was written counts as not readable, and is kept as it is. */
export interface Codec<T> {
  read(text: string): T | undefined;
  write(value: T): string;
}

/** Carries a field's type; never there at run time. */
declare const TYPE: unique symbol;

interface Typed<T> {
  readonly [TYPE]?: T;
  /** Its name in XML, where that is not the key: an attribute and a child may have the same. */
  readonly name?: string;
}

export interface Attribute<T> extends Typed<T> {
  readonly kind: 'attribute';
  readonly codec: Codec<T>;
}

/** 'content': the element's own text. 'leaf': a child with nothing but text. */
interface Text<T> extends Typed<T> {
  readonly kind: 'content' | 'leaf';
  readonly codec: Codec<T>;
}

interface Flag extends Typed<boolean> {
  readonly kind: 'flag';
}

interface Child<T> extends Typed<T> {
  readonly kind: 'element' | 'elements';
  readonly shape: Shape;
}

export type Field<T = unknown> = Attribute<T> | Text<T> | Flag | Child<T>;

/** What an element may hold. */
export type Shape = Readonly<Record<string, Field>>;

/** XML that no field reads, kept where it was. */
interface Unread {
  readonly [attribute: `@${string}`]: string | undefined;
  readonly [child: `<${string}>`]: readonly XmlNode[] | undefined;
  readonly '#text'?: string | undefined;
}

type TypeOf<F> = F extends { readonly [TYPE]?: infer T } ? T : never;

/** An element as a value: a key a field, in the order of the document. Attributes that are undefined or '' are not written. */
export type Model<S extends Shape> = { readonly [K in keyof S]?: TypeOf<S[K]> | undefined } & Unread;

/**
 * One of a list of elements. A function that returns an element literal must say so, by this or a name: the compiler looks for keys too many only
 * where it knows the type already, not in what a callback happens to return.
 */
export type ItemOf<List> = NonNullable<List> extends readonly (infer Item)[] ? Item : never;

const attribute = <T>(codec: Codec<T>): Attribute<T> => ({ kind: 'attribute', codec });

/** Any text; what the VMI chooses and admission has looked at. */
export const text: Attribute<string> = attribute({ read: (given) => given, write: (value) => value });

/** One of these words. */
export const word = <const W extends string>(...words: readonly W[]): Attribute<W> =>
  attribute({ read: (given) => words.find((known) => known === given), write: (value) => value });

const pair = (yes: string, no: string): Attribute<boolean> =>
  attribute({ read: (given) => ([yes, no].includes(given) ? given === yes : undefined), write: (value) => (value ? yes : no) });

export const onOff: Attribute<boolean> = pair('on', 'off');
export const yesNo: Attribute<boolean> = pair('yes', 'no');

const DECIMAL = /^-?\d+$/;

export const int: Attribute<number> = attribute({ read: (given) => (DECIMAL.test(given) ? Number(given) : undefined), write: String });
/** An amount of bytes. */
export const big: Attribute<bigint> = attribute({ read: (given) => (DECIMAL.test(given) ? BigInt(given) : undefined), write: String });

export const content = <T>({ codec }: Attribute<T>): Text<T> => ({ kind: 'content', codec });
export const leaf = <T>({ codec }: Attribute<T>): Text<T> => ({ kind: 'leaf', codec });
/** A child that says something by being there. */
export const flag: Flag = { kind: 'flag' };
export const child = <S extends Shape>(shape: S): Child<Model<S>> => ({ kind: 'element', shape });
export const children = <S extends Shape>(shape: S): Child<readonly Model<S>[]> => ({ kind: 'elements', shape });
export const named = <F extends Field>(name: string, field: F): F => ({ ...field, name });
