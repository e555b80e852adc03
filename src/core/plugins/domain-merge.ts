// Writes what an expression of a Plugin built into the XML of a domain: fields that it names are set, lists replaced as a whole, everything else
// stays as it is. Pure.
import { KvError } from '../../base/errors.js';
import { ABSENT, BuiltObject, CelObject, type CelValue, Uint } from '../cel/values.js';
import type { XmlNode } from '../converter/index.js';
import { DomainObject } from './domain-object.js';
import { type Mark, type Place, type Places, placesOf } from './domain-schema.js';

/** An element while it is being changed. */
interface Draft {
  tag: string;
  attrs: Record<string, string>;
  children: Draft[];
  text?: string;
}

const QEMU_PREFIX = 'xmlns:qemu';
const QEMU_SPACE = 'http://libvirt.org/schemas/domain/qemu/1.0';

export function mergeDomain(domain: XmlNode, change: BuiltObject): XmlNode {
  const draft = draftOf(domain);
  merge(draft, undefined, change);
  if (draft.children.some(({ tag }) => tag.startsWith('qemu:'))) draft.attrs[QEMU_PREFIX] ??= QEMU_SPACE;
  return draft;
}

const draftOf = (node: XmlNode): Draft => structuredClone(node) as Draft;
const empty = (tag: string): Draft => ({ tag, attrs: {}, children: [] });

function placesIn(value: BuiltObject | DomainObject): Places {
  const places = placesOf(value.type.replace(/^libvirtxml\./, ''));
  if (places) return places;
  throw new KvError('Invalid', `${value.type} is no part of a domain`);
}

function merge(into: Draft, parent: Draft | undefined, value: BuiltObject | DomainObject): void {
  const places = placesIn(value);
  for (const name of value.keys()) {
    const place = places.get(name);
    if (!place) throw new KvError('Invalid', `${value.type} has no field ${name}`);
    SETTERS[place.kind]({ into, parent, where: `${value.type}.${name}` }, place, value.field(name));
  }
}

interface Spot {
  readonly into: Draft;
  readonly parent: Draft | undefined;
  /** For messages. */
  readonly where: string;
}

const isNothing = (value: CelValue): boolean => value === null || value === ABSENT || value === '';

type Setter = (spot: Spot, place: Place, value: CelValue) => void;

const SETTERS: Readonly<Record<Place['kind'], Setter>> = {
  attribute({ into, where }, place, value) {
    if (isNothing(value)) delete into.attrs[place.xml];
    else into.attrs[place.xml] = written(where, place, value);
  },
  content({ into, where }, place, value) {
    into.text = isNothing(value) ? '' : written(where, place, value);
  },
  text({ into, where }, place, value) {
    replace(into, place.xml, isNothing(value) ? [] : [textOf(where, place, value)]);
  },
  texts({ into, where }, place, value) {
    const texts = itemsOf(where, value).map((item) => textOf(where, place, item));
    replace(into, place.xml, texts);
  },
  elements({ into, where }, place, value) {
    const elements = itemsOf(where, value).map((item) => made(where, place, item));
    replace(into, place.xml, elements);
  },
  element: setElement,
  variant: setVariant,
};

const textOf = (where: string, place: Place, value: CelValue): Draft => ({ ...empty(place.xml), text: written(where, place, value) });

function itemsOf(where: string, value: CelValue): readonly CelValue[] {
  if (value === null || value === ABSENT) return [];
  if (Array.isArray(value)) return value;
  throw new KvError('Invalid', `${where} takes a list`);
}

function objectOf(where: string, { type }: Place, value: CelValue): BuiltObject | DomainObject {
  const isObject = value instanceof BuiltObject || value instanceof DomainObject;
  if (isObject && value.type.replace(/^libvirtxml\./, '') === type) return value;
  throw new KvError('Invalid', `${where} takes a ${type}, not ${value instanceof CelObject ? 'another object' : 'a plain value'}`);
}

/** One that the domain has already is taken over with all that is in it, also what no expression could name. */
function made(where: string, place: Place, value: CelValue): Draft {
  const object = objectOf(where, place, value);
  if (object instanceof DomainObject) return { ...draftOf(object.node), tag: place.xml };
  const draft = empty(place.xml);
  merge(draft, undefined, object);
  return draft;
}

function setElement({ into, where }: Spot, place: Place, value: CelValue): void {
  if (!(value instanceof BuiltObject)) {
    const whole = value === null || value === ABSENT ? [] : [made(where, place, value)];
    replace(into, place.xml, whole);
    return;
  }
  const known = into.children.find(({ tag }) => tag === place.xml);
  const child = known ?? empty(place.xml);
  if (!known) into.children.push(child);
  merge(child, into, objectOf(where, place, value));
}

function setVariant({ into, parent, where }: Spot, place: Place, value: CelValue): void {
  if (value === null || value === ABSENT) return;
  const object = objectOf(where, place, value);
  if (place.mark) setMark(place.mark, into, parent);
  merge(into, parent, object);
}

function setMark({ on, attrs }: Mark, into: Draft, parent: Draft | undefined): void {
  const marked = on === 'self' ? into : parent;
  if (marked) Object.assign(marked.attrs, attrs);
}

/** In the place of the first of those that were there. */
function replace(into: Draft, tag: string, by: readonly Draft[]): void {
  const first = into.children.findIndex((child) => child.tag === tag);
  const others = into.children.filter((child) => child.tag !== tag);
  const place = first < 0 ? others.length : into.children.slice(0, first).filter((child) => child.tag !== tag).length;
  into.children = [...others.slice(0, place), ...by, ...others.slice(place)];
}

function written(where: string, { type, digits }: Place, value: CelValue): string {
  if (type === 'string' && typeof value === 'string') return value;
  const number = value instanceof Uint ? value.value : value;
  if (type === 'string' || typeof number !== 'bigint') throw new KvError('Invalid', `${where} takes a ${type}`);
  if (type === 'uint' && number < 0n) throw new KvError('Invalid', `${where} cannot be below zero`);
  return digits === undefined ? String(number) : `0x${number.toString(16).padStart(digits, '0')}`;
}
