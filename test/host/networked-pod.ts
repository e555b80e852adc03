// A launcher with a real pod network: an uplink to a second namespace as a CNI plugin would make it, the node agent's phase 1 on it, and
// namespaces that stand in the guest's place, one a link, where DHCP clients of Debian run.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import type { LauncherInterface } from '../../src/core/network/caches.js';
import { createNetworkJournal } from '../../src/node/network/journal.js';
import { createNetworkSetup, networkTargetOf } from '../../src/node/network/setup.js';
import { scratchDir } from '../fakes/scratch.js';
import { emptyGuest, LauncherPod } from './launcher-pod.js';
import { createNs, hostCtx, type TestNs } from './namespaces.js';

const WAIT = { timeout: 20_000, interval: 50 };
const QEMU_USER = 107;

export interface PodLinkSpec {
  readonly name: string;
  readonly mac: string;
  readonly mtu?: number;
  readonly addresses: readonly string[];
  /** `ip route add` arguments. */
  readonly routes?: readonly string[];
  readonly peerAddresses?: readonly string[];
}

export class NetworkedPod {
  readonly pod: LauncherPod;
  readonly peer: TestNs;
  readonly #dir: string;
  readonly #pid: number;
  readonly #guests: TestNs[] = [];

  private constructor(pod: LauncherPod, pid: number) {
    this.pod = pod;
    this.#pid = pid;
    this.peer = createNs('peer');
    this.#dir = scratchDir();
  }

  static async start(links: readonly PodLinkSpec[], resolvConf?: string): Promise<NetworkedPod> {
    const pod = await LauncherPod.start([], async (dir) => {
      if (resolvConf === undefined) return;
      writeFileSync(join(dir, 'resolv.conf'), resolvConf);
      writeFileSync(join(dir, 'network.sh'), 'mount --bind "$1/resolv.conf" /etc/resolv.conf\nchmod 666 /dev/net/tun\n');
    });
    await expect.poll(() => pod.isReady, WAIT).toBe(true);
    const [pid = 0] = await pod.pidsOf('tini');
    const networked = new NetworkedPod(pod, pid);
    for (const link of links) networked.addLink(link);
    await pod.listen();
    return networked;
  }

  inPod(...command: string[]): Promise<string> {
    return this.pod.inNetwork(...command);
  }

  /** What a CNI plugin does. */
  addLink({ name, mac, mtu = 1450, addresses, routes = [], peerAddresses = [] }: PodLinkSpec): void {
    const { peer } = this;
    peer.run('ip', 'link', 'add', name, 'mtu', String(mtu), 'type', 'veth', 'peer', 'name', name, 'netns', String(this.#pid));
    peer.run('ip', 'link', 'set', name, 'up');
    for (const address of peerAddresses) peer.run('ip', 'address', 'add', address, 'dev', name, ...nodad(address));
    const enter = ['nsenter', `--net=/proc/${this.#pid}/ns/net`, '--', 'ip'];
    peer.run(...enter, 'link', 'set', name, 'address', mac, 'mtu', String(mtu), 'up');
    for (const address of addresses) peer.run(...enter, 'address', 'add', address, 'dev', name, ...nodad(address));
    for (const route of routes) peer.run(...enter, 'route', 'add', ...route.split(' '));
  }

  /** Phase 1, as the node agent does it before each sync. */
  async setUp(vmi: VirtualMachineInstance): Promise<void> {
    const setup = createNetworkSetup(createNetworkJournal(this.#dir));
    const target = networkTargetOf({ pid: this.#pid, uid: QEMU_USER });
    await setup.ensure(hostCtx(), vmi, target, { portRangesGate: false, preferredFamily: 4 });
  }

  async run(vmi: VirtualMachineInstance): Promise<void> {
    await this.setUp(vmi);
    await this.pod.client.syncVirtualMachine(vmi);
  }

  launcherFile(podInterface: string): LauncherInterface {
    return JSON.parse(readFileSync(join(this.pod.dir, `kubevirt-private/vif-cache-${podInterface}.json`), 'utf8')) as LauncherInterface;
  }

  /** A namespace whose eth0 hangs on the in-pod bridge as the guest's card does. */
  guestOn(bridge: string, mac: string): TestNs {
    const guest = createNs('guest');
    this.#guests.push(guest);
    // Its link-local address is there at once.
    guest.run('sh', '-c', 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad');
    const port = `veth${this.#guests.length}`;
    guest.run('ip', 'link', 'add', 'eth0', 'address', mac, 'type', 'veth', 'peer', 'name', port, 'netns', String(this.#pid));
    guest.run('nsenter', `--net=/proc/${this.#pid}/ns/net`, '--', 'ip', 'link', 'set', port, 'master', bridge, 'up');
    guest.run('ip', 'link', 'set', 'eth0', 'up');
    return guest;
  }

  /** As libvirt has it. */
  domainXml(): Promise<string> {
    const uri = `qemu+unix:///session?socket=${this.pod.dir}/libvirt/libvirt-sock`;
    return this.inPod('virsh', '--connect', uri, 'dumpxml', 'default_vm1');
  }

  /** What a CNI plugin does when a link is to go. */
  removeLink(name: string): void {
    this.peer.run('nsenter', `--net=/proc/${this.#pid}/ns/net`, '--', 'ip', 'link', 'del', name);
  }

  async remove(): Promise<void> {
    await this.pod.remove();
    for (const ns of [this.peer, ...this.#guests]) ns.remove();
  }
}

// Nobody else is on these links, and waiting for duplicates takes a second.
const nodad = (address: string): string[] => (address.includes(':') ? ['nodad'] : []);

export interface NetworkedGuest {
  readonly interfaces: NonNullable<VirtualMachineInstance['spec']['domain']['devices']['interfaces']>;
  readonly networks: NonNullable<VirtualMachineInstance['spec']['networks']>;
  readonly spec?: Partial<VirtualMachineInstance['spec']>;
}

export function networkedGuest({ interfaces, networks, spec = {} }: NetworkedGuest): VirtualMachineInstance {
  const vmi = emptyGuest({ volumes: [], networks: [...networks], ...spec });
  vmi.spec.domain.devices = { disks: [], interfaces: [...interfaces] };
  return vmi;
}

/** Applies the lease and writes it down: VARIABLE=value lines, as dhclient hands them to its script. */
const LEASE_SCRIPT = `#!/bin/sh
case "$reason" in
  PREINIT|PREINIT6) ip link set "$interface" up ;;
  BOUND) ip -4 addr add "$new_ip_address/$new_subnet_mask" dev "$interface"
    ip route add default via "$new_routers" 2>/dev/null; env | grep ^new_ > "$LEASE_FILE" ;;
  BOUND6) ip -6 addr add "$new_ip6_address/128" dev "$interface" nodad; env | grep ^new_ > "$LEASE_FILE" ;;
esac
exit 0
`;

export type Lease = Readonly<Record<string, string>>;

/** A lease by ISC's client for the one family, or undefined when nobody offers one in time. */
export function dhclient(guest: TestNs, family: 4 | 6, seconds = 12): Lease | undefined {
  const dir = scratchDir();
  const [script, lease, config] = ['script', 'lease', 'conf'].map((name) => join(dir, name)) as [string, string, string];
  writeFileSync(script, LEASE_SCRIPT, { mode: 0o755 });
  writeFileSync(config, clientConfig(seconds - 1));
  const files = ['-sf', script, '-cf', config, '-lf', join(dir, 'leases'), '-pf', join(dir, 'pid'), '-e', `LEASE_FILE=${lease}`];
  try {
    guest.run('timeout', String(seconds), 'dhclient', `-${family}`, '-1', '-q', ...files, 'eth0');
    const lines = readFileSync(lease, 'utf8').trim().split('\n');
    return Object.fromEntries(lines.map((line) => [line.slice('new_'.length, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  } catch {
    return undefined;
  } finally {
    // Once it has a lease it goes on in the background to renew it.
    guest.endAll('dhclient');
  }
}

const clientConfig = (seconds: number): string => `option classless-routes code 121 = array of unsigned integer 8;
request subnet-mask, routers, domain-name-servers, host-name, domain-name, interface-mtu, domain-search, classless-routes, ntp-servers,
  dhcp6.name-servers, dhcp6.domain-search;
timeout ${seconds};
`;
