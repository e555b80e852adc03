// How a guest is called on the network: its host name (pod template, DHCP, cloud-init) and its DNS domain (DHCP).
import type { VirtualMachineInstance } from '../../api/index.js';

const LONGEST_LABEL = 63;

/** spec.hostname, else the first label of the VMI's name. */
export function guestHostname(vmi: VirtualMachineInstance): string {
  if (vmi.spec.hostname) return vmi.spec.hostname;
  const [label = ''] = (vmi.metadata.name ?? '').split('.');
  return label.slice(0, LONGEST_LABEL);
}

/** The longest search domain is the most specific one; the first of equals. */
export const domainFromSearch = (search: readonly string[]): string =>
  search.reduce((best, domain) => (domain.length > best.length ? domain : best), '');

/** A guest with a subdomain has an A record below it; resolvers find its neighbours only if that domain is searched first. */
export function searchWithSubdomain(search: readonly string[], namespace: string, subdomain: string | undefined): string[] {
  if (!subdomain) return [...search];
  const inNamespace = search.find((domain) => domain.startsWith(`${namespace}.svc.`));
  const full = inNamespace === undefined ? undefined : `${subdomain}.${inNamespace}`;
  return full === undefined || search.includes(full) ? [...search] : [full, ...search];
}
