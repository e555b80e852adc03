// Phase 2 of the network: reads what the node agent left for each interface. The link facts go into the domain XML, the lease to the DHCP
// server. Changes no link: the launcher has no right to.
import { readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { InterfaceLink } from '../../core/converter/index.js';
import { type LauncherInterface, PRIVATE_DIR } from '../../core/network/caches.js';
import { parseResolvConf, type ResolvConf } from '../../core/network/dhcp/resolv-conf.js';

const FILE = /^vif-cache-.+\.json$/;

/** Everything the node agent prepared so far, in no particular order. */
export async function readInterfaces(): Promise<LauncherInterface[]> {
  const names = (await readdir(PRIVATE_DIR)).filter((name) => FILE.test(name));
  return Promise.all(
    names.map(async (name) => {
      const path = posix.join(PRIVATE_DIR, name);
      try {
        return JSON.parse(await readFile(path, 'utf8')) as LauncherInterface;
      } catch (err) {
        throw new KvError('NotReady', `cannot read the interface file ${path} of the node agent`, { cause: err });
      }
    }),
  );
}

/** Interface name → what phase 1 prepared. */
export function linksOf(interfaces: readonly LauncherInterface[]): Record<string, InterfaceLink> {
  return Object.fromEntries(interfaces.map(({ network, tap, mac, mtu }) => [network, { tap, mac, mtu }]));
}

/** Throws unless every interface that hangs on a tap has one: without, libvirt would attach the guest to a network of its own making. */
export function requireLinks(vmi: VirtualMachineInstance, links: Readonly<Record<string, InterfaceLink>>): void {
  const waiting = (vmi.spec.domain.devices.interfaces ?? []).find(
    ({ name, state, masquerade, bridge }) => state !== 'absent' && (masquerade ?? bridge) !== undefined && links[name] === undefined,
  );
  if (waiting)
    throw new KvError('NotReady', `the pod's network for interface ${waiting.name} is not set up yet`, { retry: { afterMs: 500 } });
}

/** Interfaces whose guest gets its address from us. */
export function servedInterfaces(vmi: VirtualMachineInstance, interfaces: readonly LauncherInterface[]): LauncherInterface[] {
  const attached = new Set((vmi.spec.domain.devices.interfaces ?? []).filter(({ state }) => state !== 'absent').map(({ name }) => name));
  return interfaces.filter(({ network, dhcp4, dhcp6 }) => attached.has(network) && (dhcp4 !== undefined || dhcp6 !== undefined));
}

export async function readResolvConf(): Promise<ResolvConf> {
  try {
    return parseResolvConf(await readFile('/etc/resolv.conf', 'utf8'));
  } catch (err) {
    throw new KvError('Internal', "cannot read the pod's /etc/resolv.conf, from which the guest gets its name servers", { cause: err });
  }
}
