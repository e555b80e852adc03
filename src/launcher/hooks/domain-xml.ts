// The domain as hooks get it and give it back. Scripts cut into the text, so it is written as launchers have always written it: no element is
// closed at once, and the tables of the board and the chassis are there even when nothing is in them. Pure.
import { KvError } from '../../base/errors.js';
import { childOf, childrenOf, parseXml, renderXml, type XmlNode } from '../../core/converter/index.js';
import { text } from './text.js';

export interface HookedDomain {
  /** As the hook wrote it: libvirt gets every character of it. */
  readonly xml: string;
  readonly tree: XmlNode;
}

const SYSINFO_TABLES = ['system', 'bios', 'baseBoard', 'chassis'] as const;

function withAllTables(node: XmlNode): XmlNode {
  if (node.tag !== 'sysinfo') return node;
  const others = node.children.filter(({ tag }) => !SYSINFO_TABLES.some((table) => table === tag));
  return {
    ...node,
    children: [...SYSINFO_TABLES.map((table) => childOf(node, table) ?? { tag: table, attrs: {}, children: [] }), ...others],
  };
}

const openClosed = (xml: string): string => xml.replace(/<([\w:.-]+)((?:\s+[\w:.-]+="[^"]*")*)\s*\/>/g, '<$1$2></$1>');

export const domainForHooks = (domain: XmlNode): string =>
  openClosed(renderXml({ ...domain, children: domain.children.map(withAllTables) }));

const SHOWN = 60;

/** The answer of a hook, if it is still the domain of this VM; otherwise Invalid says what is wrong. */
export function domainOfHook(answer: string, before: XmlNode): HookedDomain {
  const xml = answer.trim();
  if (xml === '') throw new KvError('Invalid', text.noDomain);
  if (!/^<(\?xml|!--|domain[\s>])/.test(xml)) throw new KvError('Invalid', text.notDomain(xml.slice(0, SHOWN)));
  const tree = parseXml(xml, 'the XML that it gave back');
  if (tree.tag !== 'domain') throw new KvError('Invalid', text.notDomain(`<${tree.tag}>`));
  requireSame('name', childOf(before, 'name')?.text, childOf(tree, 'name')?.text);
  requireSame('UUID', uuidOf(before)?.toLowerCase(), uuidOf(tree)?.toLowerCase());
  return { xml, tree };
}

function requireSame(what: string, before: string | undefined, after: string | undefined): void {
  if (before !== undefined && after !== before) throw new KvError('Invalid', text.changedIdentity(what, before, after ?? ''));
}

/** libvirt takes it from the SMBIOS tables where the domain itself names none. */
function uuidOf(domain: XmlNode): string | undefined {
  const entries = childrenOf(childOf(childOf(domain, 'sysinfo'), 'system'), 'entry');
  return childOf(domain, 'uuid')?.text ?? entries.find(({ attrs }) => attrs.name === 'uuid')?.text;
}
