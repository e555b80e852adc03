// Reads the XML that libvirt writes about a running domain into the tree that the converter's steps build, so that both can be compared and
// an element of it can be handed back to libvirt; also what hooks make of a domain. No DTD; references to characters by number or name.
import { KvError } from '../../base/errors.js';
import type { XmlNode } from './xml.js';

const TOKEN =
  /<!\[CDATA\[([\s\S]*?)\]\]>|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|([^<]+)/gy;
const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

interface Open {
  readonly tag: string;
  readonly attrs: Record<string, string>;
  readonly children: XmlNode[];
  text: string;
}

const open = (tag: string, attrs: string): Open => ({ tag, attrs: attributesOf(attrs), children: [], text: '' });

function attributesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(ATTRIBUTE)].map(([, name = '', double, single]) => [name, decode(double ?? single ?? '')]));
}

function decode(text: string): string {
  return text.replace(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(\w+));/g, (whole, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
  });
}

/** Text beside children is white space for layout. */
function nodeOf({ tag, attrs, children, text }: Open): XmlNode {
  const words = children.length === 0 ? text.trim() : '';
  return { tag, attrs, children, ...(words === '' ? {} : { text: words }) };
}

/** The root element; Invalid when it is not well-formed. `what` is named then. */
export function parseXml(xml: string, what = "libvirt's description of the domain"): XmlNode {
  const document = open('', '');
  const stack = [document];
  TOKEN.lastIndex = 0;
  let end = 0;
  for (let token = TOKEN.exec(xml); token !== null; token = TOKEN.exec(xml)) {
    end = TOKEN.lastIndex;
    readToken(stack, token, what);
  }
  const [root] = document.children;
  if (end !== xml.length || stack.length !== 1 || root === undefined) {
    throw new KvError('Invalid', `${what} cannot be read: it breaks after ${end} characters`);
  }
  return root;
}

function readToken(stack: Open[], [, cdata, slash, tag, attrs = '', selfClosing, text]: RegExpExecArray, what: string): void {
  const top = stack.at(-1);
  if (top === undefined) return;
  if (cdata !== undefined) top.text += cdata;
  else if (text !== undefined) top.text += decode(text);
  else if (tag === undefined) return;
  else if (slash === '') {
    if (selfClosing === '') stack.push(open(tag, attrs));
    else top.children.push(nodeOf(open(tag, attrs)));
  } else close(stack, top, tag, what);
}

function close(stack: Open[], top: Open, tag: string, what: string): void {
  const parent = stack.at(-2);
  if (top.tag !== tag || parent === undefined) throw new KvError('Invalid', `${what} ends <${top.tag}> by </${tag}>`);
  stack.pop();
  parent.children.push(nodeOf(top));
}
