// Domain ⇄ XML, by the fields of domain.ts. Reading loses nothing: what no field can give back as it stood (words of a later libvirt, elements of
// a hook) is kept unread in its place and written again. Used for what is defined, and for what libvirt says of a running guest.
import { KvError } from '../../base/errors.js';
import { DOMAIN, type Domain } from './domain.js';
import { devices as DEVICES, type DomainDevices } from './domain-devices.js';
import type { Field, Shape } from './domain-fields.js';
import { parseXml } from './parse-xml.js';
import { renderXml, type XmlNode } from './xml.js';

type Values = Readonly<Record<string, unknown>>;

interface Written {
  readonly tag: string;
  readonly attrs: Record<string, string>;
  readonly children: XmlNode[];
  text?: string;
}

function elementOf(tag: string, shape: Shape, values: Values): XmlNode {
  const node: Written = { tag, attrs: {}, children: [] };
  for (const key of Object.keys(values)) {
    if (values[key] === undefined) continue;
    if (isUnread(key)) writeUnread(node, shape, values, key);
    else if (Object.hasOwn(shape, key)) writeField(node, shape[key] as Field, key, values[key]);
    else throw new KvError('Internal', `<${tag}> has no field ${key} in the model of a domain: add it to domain.ts`);
  }
  return node;
}

const isUnread = (key: string): boolean => key.startsWith('@') || key.startsWith('<') || key.startsWith('#');

function writeField(node: Written, field: Field, key: string, value: unknown): void {
  const { name = key } = field;
  switch (field.kind) {
    case 'attribute':
      if (value !== '') node.attrs[name] = field.codec.write(value);
      break;
    case 'content':
      writeText(node, field.codec.write(value));
      break;
    case 'leaf':
      node.children.push(leafOf(name, field.codec.write(value)));
      break;
    case 'flag':
      if (value === true) node.children.push(leafOf(name, ''));
      break;
    case 'element':
      node.children.push(elementOf(name, field.shape, value as Values));
      break;
    case 'elements':
      for (const each of value as readonly Values[]) node.children.push(elementOf(name, field.shape, each));
  }
}

function leafOf(tag: string, text: string): XmlNode {
  const node: Written = { tag, attrs: {}, children: [] };
  writeText(node, text);
  return node;
}

function writeText(node: Written, text: string): void {
  if (text !== '') node.text = text;
}

/** A field that has been set since takes the place of the attribute that could not be read. */
function writeUnread(node: Written, shape: Shape, values: Values, key: string): void {
  const value = values[key];
  const name = key.slice(1);
  if (key.startsWith('<')) node.children.push(...(value as readonly XmlNode[]));
  else if (key.startsWith('#')) node.text = value as string;
  else if (!Object.hasOwn(values, name) || shape[name]?.kind !== 'attribute') node.attrs[name] = value as string;
}

/** The field that stands under a name in XML, where it is of a kind that can stand there. */
function fieldNamed(shape: Shape, name: string, fits: (field: Field) => boolean): [key: string, field: Field] | undefined {
  const own = Object.hasOwn(shape, name) ? shape[name] : undefined;
  if (own !== undefined && own.name === undefined && fits(own)) return [name, own];
  for (const key of Object.keys(shape)) {
    const field = shape[key];
    if (field?.name === name && fits(field)) return [key, field];
  }
  return undefined;
}

const isAttribute = ({ kind }: Field): boolean => kind === 'attribute';
const isChild = ({ kind }: Field): boolean => kind !== 'attribute' && kind !== 'content';

/** Undefined when it would not be written as it stands. */
function decoded(field: Field, text: string): unknown {
  if (!('codec' in field)) return undefined;
  const value = field.codec.read(text);
  return value !== undefined && field.codec.write(value) === text ? value : undefined;
}

function valuesOf(shape: Shape, node: XmlNode): Values {
  const values: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(node.attrs)) {
    const [key, value] = attributeOf(shape, name, text);
    values[key] = value;
  }
  for (const child of node.children) {
    const [key, field] = fieldNamed(shape, child.tag, isChild) ?? [];
    if (key === undefined || field === undefined || !addChild(values, key, field, child)) append(values, `<${child.tag}>`, child);
  }
  if (node.text !== undefined) {
    const [key, value] = contentOf(shape, node.text);
    values[key] = value;
  }
  return values;
}

function attributeOf(shape: Shape, name: string, text: string): [key: string, value: unknown] {
  const [key = '', field] = fieldNamed(shape, name, isAttribute) ?? [];
  // Empty attributes are not written.
  const value = field === undefined || text === '' ? undefined : decoded(field, text);
  return value === undefined ? [`@${name}`, text] : [key, value];
}

function contentOf(shape: Shape, text: string): [key: string, value: unknown] {
  const key = Object.keys(shape).find((each) => shape[each]?.kind === 'content');
  const value = key === undefined ? undefined : decoded(shape[key] as Field, text);
  return key === undefined || value === undefined ? ['#text', text] : [key, value];
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
  return decoded(field, node.text ?? '');
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
