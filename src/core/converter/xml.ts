// A tree of XML and the text that libvirt reads. Attributes keep their order. Between it and the model of a domain lies domain-xml.ts; the reader of
// text is parse-xml.ts.

export interface XmlNode {
  readonly tag: string;
  readonly attrs: Readonly<Record<string, string>>;
  readonly children: readonly XmlNode[];
  readonly text?: string;
}

export const childOf = (node: XmlNode | undefined, tag: string): XmlNode | undefined => node?.children.find((child) => child.tag === tag);
export const childrenOf = (node: XmlNode | undefined, tag: string): readonly XmlNode[] => node?.children.filter((c) => c.tag === tag) ?? [];

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
