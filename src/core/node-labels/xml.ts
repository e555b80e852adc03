// Reads libvirt's XML documents into trees. Only what the node labels need: elements, attributes, text; order and comments are dropped.
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { KvError } from '../../base/errors.js';

export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

const ATTRIBUTES = ':@';
const TEXT = '#text';
const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: true,
});

type Raw = Readonly<Record<string, unknown>>;

function element(raw: Raw): XmlElement[] {
  const name = Object.keys(raw).find((key) => key !== ATTRIBUTES);
  if (name === undefined || name === TEXT || name.startsWith('?')) return [];
  const inner = (raw[name] ?? []) as readonly Raw[];
  return [
    {
      name,
      attributes: (raw[ATTRIBUTES] ?? {}) as Record<string, string>,
      children: inner.flatMap(element),
      text: inner.map((child) => String(child[TEXT] ?? '')).join(''),
    },
  ];
}

/** The root element; Invalid names what document it was and where it breaks. */
export function parseXml(text: string, what: string): XmlElement {
  const verdict = XMLValidator.validate(text);
  if (verdict !== true) throw new KvError('Invalid', `${what} is no XML: ${verdict.err.msg} (line ${verdict.err.line})`);
  const [root] = (parser.parse(text) as readonly Raw[]).flatMap(element);
  if (!root) throw new KvError('Invalid', `${what} is an empty document`);
  return root;
}

export const childrenOf = (of: XmlElement | undefined, name: string): readonly XmlElement[] =>
  of?.children.filter((child) => child.name === name) ?? [];

/** Follows first children by name. */
export const at = (of: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined =>
  path.reduce<XmlElement | undefined>((found, name) => childrenOf(found, name)[0], of);
