// The domain as hooks get it and give it back. Scripts cut into the text, so it is written as launchers have always written it: no element is
// closed at once, and the tables of the board and the chassis are there even when nothing is in them. Pure.
import { KvError } from '../../base/errors.js';
import { type DomainModel, readDomain, renderDomain } from '../../core/converter/index.js';
import { text } from './text.js';

export interface HookedDomain {
  /** As the hook wrote it: libvirt gets every character of it. */
  readonly xml: string;
  readonly domain: DomainModel;
  /** Who made it another than it was, in the order in which they were asked. */
  readonly changedBy?: readonly string[];
}

function withAllTables(sysinfo: DomainModel['sysinfo']): DomainModel['sysinfo'] {
  if (sysinfo === undefined) return undefined;
  const { system = {}, bios = {}, baseBoard = [{}], chassis = {}, ...others } = sysinfo;
  return { system, bios, baseBoard, chassis, ...others };
}

const openClosed = (xml: string): string => xml.replace(/<([\w:.-]+)((?:\s+[\w:.-]+="[^"]*")*)\s*\/>/g, '<$1$2></$1>');

export const domainForHooks = (domain: DomainModel): string =>
  openClosed(renderDomain({ ...domain, sysinfo: withAllTables(domain.sysinfo) }));

/** The domain as one more has left it. */
export const changedOnce = (after: HookedDomain, before: Pick<HookedDomain, 'xml' | 'changedBy'>, by: string): HookedDomain => ({
  ...after,
  changedBy: [...(before.changedBy ?? []), ...(after.xml === before.xml.trim() ? [] : [by])],
});

const SHOWN = 60;

/** The answer of a hook, if it is still the domain of this VM; otherwise Invalid says what is wrong. */
export function domainOfHook(answer: string, before: DomainModel): HookedDomain {
  const xml = answer.trim();
  if (xml === '') throw new KvError('Invalid', text.noDomain);
  if (!/^<(\?xml|!--|domain[\s>])/.test(xml)) throw new KvError('Invalid', text.notDomain(xml.slice(0, SHOWN)));
  const domain = readDomain(xml, 'the XML that it gave back');
  requireSame('name', before.name, domain.name);
  requireSame('UUID', uuidOf(before)?.toLowerCase(), uuidOf(domain)?.toLowerCase());
  return { xml, domain };
}

function requireSame(what: string, before: string | undefined, after: string | undefined): void {
  if (before !== undefined && after !== before) throw new KvError('Invalid', text.changedIdentity(what, before, after ?? ''));
}

/** libvirt takes it from the SMBIOS tables where the domain itself names none. */
const uuidOf = ({ uuid, sysinfo }: DomainModel): string | undefined =>
  uuid ?? sysinfo?.system?.entry?.find(({ name }) => name === 'uuid')?.value;
