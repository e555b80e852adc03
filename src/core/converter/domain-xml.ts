// Domain ⇄ XML, by the fields of domain.ts. Reading loses nothing: what no field can give back as it stood (words of a later libvirt, elements of
// a hook) is kept unread in its place and written again. Used for what is defined, and for what libvirt says of a running guest.
import { KvError } from '../../base/errors.js';
import { DOMAIN, type Domain } from './domain.js';
import { devices as DEVICES, type DomainDevices } from './domain-devices.js';
import type { Codec, Field, Shape } from './domain-fields.js';
import { parseXml } from './parse-xml.js';
import { renderXml, type XmlNode } from './xml.js';

type Values = Readonly<Record<string, unknown>>;
type Part = Partial<Pick<XmlNode, 'text'>> & { readonly attrs?: Readonly<Record<string, string>>; readonly children?: readonly XmlNode[] };

const isUnread = (key: string): boolean => /^[@<#]/.test(key);

function elementOf(tag: string, shape: Shape, values: Values): XmlNode {
  const parts = Object.entries(values).map(([key, value]) => (value === undefined ? {} : partOf(tag, shape, values, key)));
  const text = parts.find((part) => part.text !== undefined)?.text;
  return {
    tag,
    attrs: Object.assign({}, ...parts.map(({ attrs }) => attrs)) as XmlNode['attrs'],
    children: parts.flatMap(({ children = [] }) => children),
    ...(text ? { text } : {}),
  };
}

function partOf(tag: string, shape: Shape, values: Values, key: string): Part {
  if (isUnread(key)) return unreadPart(shape, values, key);
  if (!Object.hasOwn(shape, key))
    throw new KvError('Internal', `<${tag}> has no field ${key} in the model of a domain: add it to domain.ts`);
  return fieldPart(shape[key] as Field, key, values[key]);
}

function fieldPart(field: Field, key: string, value: unknown): Part {
  const name = field.name ?? key;
  switch (field.kind) {
    case 'attribute':
      return value === '' ? {} : { attrs: { [name]: field.codec.write(value) } };
    case 'content':
      return { text: field.codec.write(value) };
    case 'leaf':
      return { children: [leafOf(name, field.codec.write(value))] };
    case 'flag':
      return value === true ? { children: [leafOf(name, '')] } : {};
    case 'element':
      return { children: [elementOf(name, field.shape, value as Values)] };
    case 'elements':
      return { children: (value as readonly Values[]).map((each) => elementOf(name, field.shape, each)) };
  }
}

const leafOf = (tag: string, text: string): XmlNode => ({ tag, attrs: {}, children: [], ...(text === '' ? {} : { text }) });

/** A field that has been set since takes the place of the attribute that could not be read. */
function unreadPart(shape: Shape, values: Values, key: string): Part {
  const value = values[key];
  if (key.startsWith('<')) return { children: value as readonly XmlNode[] };
  if (key === '#text') return { text: value as string };
  const name = key.slice(1);
  const isSet = Object.hasOwn(values, name) && shape[name]?.kind === 'attribute';
  return isSet ? {} : { attrs: { [name]: value as string } };
}

interface Known {
  readonly attributes: ReadonlyMap<string, [key: string, codec: Codec<unknown>]>;
  readonly children: ReadonlyMap<string, [key: string, field: Field]>;
  readonly content: [key: string, codec: Codec<unknown>] | undefined;
}

const KNOWN = new WeakMap<Shape, Known>();

function knownOf(shape: Shape): Known {
  const found = KNOWN.get(shape);
  if (found) return found;
  const attributes = new Map<string, [string, Codec<unknown>]>();
  const children = new Map<string, [string, Field]>();
  let content: Known['content'];
  for (const [key, field] of Object.entries(shape)) {
    if (field.kind === 'attribute') attributes.set(field.name ?? key, [key, field.codec]);
    else if (field.kind === 'content') content = [key, field.codec];
    else children.set(field.name ?? key, [key, field]);
  }
  const made = { attributes, children, content };
  KNOWN.set(shape, made);
  return made;
}

/** Undefined when it would not be written as it stands. */
function decoded(codec: Codec<unknown>, text: string): unknown {
  const value = codec.read(text);
  return value !== undefined && codec.write(value) === text ? value : undefined;
}

function valuesOf(shape: Shape, node: XmlNode): Values {
  const known = knownOf(shape);
  const values: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(node.attrs)) {
    const [key, value] = attributeOf(known, name, text);
    values[key] = value;
  }
  for (const child of node.children) {
    const [key, field] = known.children.get(child.tag) ?? [];
    if (key === undefined || field === undefined || !addChild(values, key, field, child)) append(values, `<${child.tag}>`, child);
  }
  if (node.text !== undefined) {
    const [key = '', codec] = known.content ?? [];
    const value = codec && decoded(codec, node.text);
    values[value === undefined ? '#text' : key] = value ?? node.text;
  }
  return values;
}

function attributeOf({ attributes }: Known, name: string, text: string): [key: string, value: unknown] {
  const [key = '', codec] = attributes.get(name) ?? [];
  // Empty attributes are not written.
  const value = codec === undefined || text === '' ? undefined : decoded(codec, text);
  return value === undefined ? [`@${name}`, text] : [key, value];
}

function append(values: Record<string, unknown>, key: string, value: unknown): void {
  const before = values[key] as unknown[] | undefined;
  if (before) before.push(value);
  else values[key] = [value];
}

/** False when the field cannot hold it: the second of a kind, or more in it than there should be. */
function addChild(values: Record<string, unknown>, key: string, field: Field, node: XmlNode): boolean {
  if (field.kind === 'elements') {
    append(values, key, valuesOf(field.shape, node));
    return true;
  }
  if (values[key] !== undefined) return false;
  const value = childValueOf(field, node);
  if (value !== undefined) values[key] = value;
  return value !== undefined;
}

function childValueOf(field: Field, node: XmlNode): unknown {
  if (field.kind === 'element') return valuesOf(field.shape, node);
  if (node.children.length > 0 || Object.keys(node.attrs).length > 0) return undefined;
  if (field.kind === 'flag') return node.text === undefined ? true : undefined;
  return field.kind === 'leaf' ? decoded(field.codec, node.text ?? '') : undefined;
}

export const domainToXml = (domain: Domain): XmlNode => elementOf('domain', DOMAIN, domain as Values);
export const domainFromXml = (node: XmlNode): Domain => valuesOf(DOMAIN, node) as Domain;

export const renderDomain = (domain: Domain): string => renderXml(domainToXml(domain));

/** Invalid when it is not well-formed or no domain; `what` is named then. */
export function readDomain(xml: string, what = "libvirt's description of the domain"): Domain {
  const root = parseXml(xml, what);
  if (root.tag !== 'domain') throw new KvError('Invalid', `${what} is no domain: it begins with <${root.tag}>`);
  return domainFromXml(root);
}

/** A kind of device that is a list. */
export type DeviceKind = {
  [K in keyof typeof DEVICES]: DomainDevices[K] extends readonly unknown[] | undefined ? K : never;
}[keyof typeof DEVICES];
export type DeviceOf<K extends DeviceKind> = NonNullable<DomainDevices[K]>[number];

/** The element of one device, as libvirt takes it for a running guest. */
export const renderDevice = <K extends DeviceKind>(kind: K, device: DeviceOf<K>): string =>
  renderXml(elementOf(kind, DEVICES[kind].shape, device as Values));
