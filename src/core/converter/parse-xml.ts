// Reads XML into a tree: what libvirt writes about a running domain, and what hooks make of one. No DTD, and so no entities but XML's own; comments
// and instructions are passed over, and white space around text is layout. Anything that is not well-formed is refused. Why this is not a library's:
// docs/adr/0012-typed-domain.md.
import { KvError } from '../../base/errors.js';
import type { XmlNode } from './xml.js';

const NAME = String.raw`[\p{L}_:][\p{L}\p{N}_:.\-]*`;
const ATTRIBUTES = String.raw`(?:\s+${NAME}\s*=\s*(?:"[^"<]*"|'[^'<]*'))*`;
const TOKEN = new RegExp(
  String.raw`<!\[CDATA\[([\s\S]*?)\]\]>|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<(${NAME})(${ATTRIBUTES})\s*(\/?)>|<\/(${NAME})\s*>|([^<]+)`,
  'guy',
);
const ATTRIBUTE = new RegExp(String.raw`(${NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')`, 'gu');
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const LAST_CHARACTER = 0x10ffff;

interface Open {
  readonly tag: string;
  readonly attrs: Record<string, string>;
  readonly children: XmlNode[];
  text: string;
}

class Reader {
  readonly #what: string;
  readonly #stack: Open[] = [{ tag: '', attrs: {}, children: [], text: '' }];

  constructor(what: string) {
    this.#what = what;
  }

  read(xml: string): XmlNode {
    let end = 0;
    for (const token of xml.matchAll(TOKEN)) {
      end = token.index + token[0].length;
      this.#token(token);
    }
    const [document, open] = this.#stack;
    const [root, second] = document?.children ?? [];
    if (end !== xml.length) throw this.#invalid(`it breaks after ${end} characters, at ${JSON.stringify(xml.slice(end, end + 20))}`);
    if (open) throw this.#invalid(`<${this.#stack.at(-1)?.tag}> does not end`);
    if (!root) throw this.#invalid('there is nothing in it');
    if (second ?? document?.text.trim()) throw this.#invalid(`there is more after <${root.tag}>`);
    return root;
  }

  #token([, cdata, tag, attrs = '', selfClosing, closed, text]: RegExpMatchArray): void {
    const top = this.#stack.at(-1) as Open;
    if (cdata !== undefined) top.text += cdata;
    else if (text !== undefined) top.text += this.#words(text);
    else if (closed !== undefined) this.#close(top, closed);
    else if (tag !== undefined) {
      const opened: Open = { tag, attrs: this.#attributes(tag, attrs), children: [], text: '' };
      if (selfClosing === '') this.#stack.push(opened);
      else top.children.push(nodeOf(opened));
    }
  }

  #words(text: string): string {
    if (text.includes(']]>')) throw this.#invalid('there is a ]]> without <![CDATA[');
    return this.#decode(text);
  }

  #close(top: Open, tag: string): void {
    if (this.#stack.length === 1 || top.tag !== tag) throw this.#invalid(`it ends <${top.tag}> by </${tag}>`);
    this.#stack.pop();
    this.#stack.at(-1)?.children.push(nodeOf(top));
  }

  #attributes(tag: string, text: string): Record<string, string> {
    const found = [...text.matchAll(ATTRIBUTE)].map(([, name = '', double, single]): [string, string] => [
      name,
      this.#decode(double ?? single ?? ''),
    ]);
    if (new Set(found.map(([name]) => name)).size < found.length) throw this.#invalid(`an attribute of <${tag}> stands there twice`);
    return Object.fromEntries(found);
  }

  #decode(text: string): string {
    return text.replace(/&(?:#x([0-9a-fA-F]+);|#(\d+);|(\w+);|)/g, (reference, hex?: string, decimal?: string, name = '') => {
      const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16);
      if (code <= LAST_CHARACTER) return String.fromCodePoint(code);
      const known = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
      if (known === undefined) throw this.#invalid(`${reference} stands for nothing`);
      return known;
    });
  }

  #invalid(why: string): KvError {
    return new KvError('Invalid', `${this.#what} cannot be read: ${why}`);
  }
}

/** Text beside children is white space for layout. */
function nodeOf({ tag, attrs, children, text }: Open): XmlNode {
  const words = children.length === 0 ? text.trim() : '';
  return { tag, attrs, children, ...(words === '' ? {} : { text: words }) };
}

/** The root element; Invalid when it is not well-formed. `what` is named then. */
export const parseXml = (xml: string, what = "libvirt's description of the domain"): XmlNode => new Reader(what).read(xml);
