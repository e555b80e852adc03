// The XML tree that converter steps build and the text libvirt reads. Attributes keep their order of creation; there is no parser here:
// what comes back from libvirt is read where it is needed.

export interface XmlNode {
  readonly tag: string;
  readonly attrs: Readonly<Record<string, string>>;
  readonly children: readonly XmlNode[];
  readonly text?: string;
}

type AttrValue = string | number | bigint | undefined;
/** Absent children are left out, so that a step can write `condition && el(…)`. */
export type XmlChild = XmlNode | false | undefined;

/** An element with children; undefined attributes and empty texts are left out, numbers written in decimal. */
export function el(tag: string, attrs: Readonly<Record<string, AttrValue>> = {}, children: readonly XmlChild[] = []): XmlNode {
  const given = Object.entries(attrs).filter(([, value]) => value !== undefined && value !== '');
  return {
    tag,
    attrs: Object.fromEntries(given.map(([key, value]) => [key, String(value)])),
    children: children.filter((child): child is XmlNode => child !== undefined && child !== false),
  };
}

/** An element with text. */
export const textEl = (tag: string, text: AttrValue, attrs: Readonly<Record<string, AttrValue>> = {}): XmlNode => ({
  ...el(tag, attrs),
  text: String(text ?? ''),
});

export const childOf = (node: XmlNode | undefined, tag: string): XmlNode | undefined => node?.children.find((child) => child.tag === tag);
export const childrenOf = (node: XmlNode | undefined, tag: string): readonly XmlNode[] => node?.children.filter((c) => c.tag === tag) ?? [];

/** The node at the end of a path of tags. */
export const nodeAt = (node: XmlNode | undefined, ...path: readonly string[]): XmlNode | undefined =>
  path.reduce<XmlNode | undefined>((at, tag) => childOf(at, tag), node);

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  '\n': '&#xA;',
  '\r': '&#xD;',
  '\t': '&#x9;',
};
// XML 1.0 has no way to write these; a name or argument that holds one would make libvirt refuse the whole document.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const escapeXml = (text: string): string => text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"\n\r\t]/g, (c) => ESCAPES[c] ?? c);

/** Two blanks a level; an element without content is closed at once. */
export function renderXml(node: XmlNode, indent = ''): string {
  const attrs = Object.entries(node.attrs)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join('');
  if (node.children.length > 0) {
    const inner = node.children.map((child) => `${renderXml(child, `${indent}  `)}\n`).join('');
    return `${indent}<${node.tag}${attrs}>\n${inner}${indent}</${node.tag}>`;
  }
  if (node.text) return `${indent}<${node.tag}${attrs}>${escapeXml(node.text)}</${node.tag}>`;
  return `${indent}<${node.tag}${attrs}/>`;
}

export const onOff = (on: boolean): 'on' | 'off' => (on ? 'on' : 'off');
export const yesNo = (yes: boolean): 'yes' | 'no' => (yes ? 'yes' : 'no');
/** A feature state that is on unless it says otherwise. */
export const stateOf = (state: { readonly enabled?: boolean }): 'on' | 'off' => onOff(state.enabled !== false);
