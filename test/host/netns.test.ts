// Phase 1 of the pod network for real: namespaces, links, nftables. The "guest" is a namespace whose link is a port of the in-pod
// bridge, in the place where QEMU's tap would be.
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Interface, VirtualMachineInstance } from '../../src/api/index.js';
import { readNetState } from '../../src/linux/ip.js';
import { createNetworkJournal } from '../../src/node/network/journal.js';
import { createNetworkSetup, type NetworkTarget } from '../../src/node/network/setup.js';
import { scratchDir } from '../fakes/scratch.js';
import { askWord, connect, createNs, hostCtx, serveWord, type TestNs } from './namespaces.js';

const UID = '11111111-2222-3333-4444-555555555555';
const SETTINGS = { portRangesGate: false, preferredFamily: 4 as const };
const POD_MAC = '0a:58:0a:f4:09:02';

const vmi = (iface: Partial<Interface>): VirtualMachineInstance => ({
  metadata: { name: 'vm', namespace: 'default', uid: UID },
  spec: { domain: { devices: { interfaces: [{ name: 'default', ...iface }] } }, networks: [{ name: 'default', pod: {} }] },
  status: { migrationTransport: 'Unix' },
});

let dir: string;
let pod: TestNs;
let peer: TestNs;
let guest: TestNs;
let target: NetworkTarget;

beforeEach(async () => {
  dir = scratchDir();
  await mkdir(join(dir, 'root/var/run/kubevirt-private'), { recursive: true });
  pod = createNs('pod');
  peer = createNs('peer');
  guest = createNs('guest');
  connect(pod, 'eth0', peer, 'eth0');
  pod.run('ip', 'link', 'set', 'eth0', 'address', POD_MAC, 'mtu', '1450', 'up');
  pod.run('ip', 'address', 'add', '10.244.9.2/24', 'dev', 'eth0');
  pod.run('ip', 'route', 'add', 'default', 'via', '10.244.9.1');
  peer.run('ip', 'address', 'add', '10.244.9.1/24', 'dev', 'eth0');
  peer.run('ip', 'link', 'set', 'eth0', 'up');
  target = { netNs: pod.path, root: join(dir, 'root'), ownerId: 107, handOverRouter: async () => undefined };
});

afterEach(async () => {
  for (const ns of [pod, peer, guest]) ns.remove();
});

const setup = () => createNetworkSetup(createNetworkJournal(join(dir, 'private')));
const journalled = () => createNetworkJournal(join(dir, 'private')).read(UID);

/** Puts the guest where the tap is: on the in-pod bridge. */
function plugGuest(address: string, gateway?: string, mac?: string): void {
  connect(pod, 'vguest', guest, 'eth0');
  pod.run('ip', 'link', 'set', 'vguest', 'master', 'k6t-eth0', 'up');
  if (mac) guest.run('ip', 'link', 'set', 'eth0', 'address', mac);
  guest.run('ip', 'address', 'add', address, 'dev', 'eth0');
  guest.run('ip', 'link', 'set', 'eth0', 'up');
  if (gateway) guest.run('ip', 'route', 'add', 'default', 'via', gateway);
}

const launcherFile = async (): Promise<unknown> =>
  JSON.parse(await readFile(join(dir, 'root/var/run/kubevirt-private/vif-cache-eth0.json'), 'utf8'));

describe('masquerade', () => {
  it('connects guest and pod network both ways, and the pod itself to the guest', async () => {
    await setup().ensure(hostCtx(), vmi({ masquerade: {} }), target, SETTINGS);

    plugGuest('10.0.2.2/24', '10.0.2.1');
    await serveWord(guest, 8080, 'from the guest');
    await serveWord(peer, 9090, 'from the peer');
    expect(askWord(peer, '10.244.9.2', 8080)).toBe('from the guest');
    expect(askWord(guest, '10.244.9.1', 9090)).toBe('from the peer');
    expect(askWord(pod, '127.0.0.1', 8080)).toBe('from the guest');
  });

  it('makes the links, switches and files that the launcher needs, and remembers it', async () => {
    const addresses = await setup().ensure(hostCtx(), vmi({ masquerade: {} }), target, SETTINGS);

    const { links } = await readNetState(hostCtx(), pod.path);
    expect(links.find((link) => link.name === 'k6t-eth0')).toMatchObject({
      kind: 'bridge',
      mac: '02:00:00:00:00:00',
      mtu: 1450,
      isUp: true,
    });
    expect(links.find((link) => link.name === 'tap0')).toMatchObject({ kind: 'tun', mtu: 1450, master: 'k6t-eth0', isUp: true });
    expect(pod.run('cat', '/proc/sys/net/ipv4/ip_forward', '/proc/sys/net/ipv4/ip_unprivileged_port_start').split('\n')).toEqual([
      '1',
      '0',
      '',
    ]);
    expect(await launcherFile()).toMatchObject({
      tap: 'tap0',
      bridge: 'k6t-eth0',
      mtu: 1450,
      dhcp4: { client: '10.0.2.2', server: '10.0.2.1' },
    });
    expect(await stat(join(dir, 'root/var/run/kubevirt-private/vif-cache-eth0.json'))).toMatchObject({ uid: 107, gid: 107 });
    expect(addresses.get('default')).toEqual({ iface: 'eth0', podIP: '10.244.9.2', podIPs: ['10.244.9.2'], networkState: 2 });
    expect(await journalled()).toEqual(addresses);
  });

  it('sends only the listed ports to the guest', async () => {
    await setup().ensure(hostCtx(), vmi({ masquerade: {}, ports: [{ port: 8080 }] }), target, SETTINGS);

    plugGuest('10.0.2.2/24', '10.0.2.1');
    await serveWord(guest, 8080, 'from the guest');
    await serveWord(pod, 8081, 'from the pod');
    expect(askWord(peer, '10.244.9.2', 8080)).toBe('from the guest');
    expect(askWord(peer, '10.244.9.2', 8081)).toBe('from the pod');
  });

  it('does nothing the second time', async () => {
    await setup().ensure(hostCtx(), vmi({ masquerade: {} }), target, SETTINGS);
    // Without counters, which the kernel's own packets move.
    const rulesOf = (): string => pod.run('nft', '--stateless', 'list', 'ruleset');
    const rules = rulesOf();

    await setup().ensure(hostCtx(), vmi({ masquerade: {} }), target, SETTINGS);

    expect(rulesOf()).toBe(rules);
  });
});

describe('bridge', () => {
  it('puts the guest in the place of the pod', async () => {
    await setup().ensure(hostCtx(), vmi({ bridge: {} }), target, SETTINGS);

    plugGuest('10.244.9.2/24', undefined, POD_MAC);
    await serveWord(guest, 8080, 'from the guest');
    expect(askWord(peer, '10.244.9.2', 8080)).toBe('from the guest');
    expect(peer.run('ip', 'neighbour', 'show', '10.244.9.2')).toContain(POD_MAC);
  });

  it('keeps the name and address of the pod visible and tells the launcher what to offer by DHCP', async () => {
    await setup().ensure(hostCtx(), vmi({ bridge: {} }), target, SETTINGS);

    const { links } = await readNetState(hostCtx(), pod.path);
    const byName = Object.fromEntries(links.map((link) => [link.name, link]));
    expect(byName.eth0).toMatchObject({ mac: POD_MAC, isUp: false });
    expect(byName.eth0?.addresses.map((a) => a.address)).toContain('10.244.9.2');
    expect(byName['eth0-nic']).toMatchObject({ kind: 'veth', master: 'k6t-eth0', isUp: true, addresses: [] });
    expect(byName['eth0-nic']?.mac).not.toBe(POD_MAC);
    expect(byName['k6t-eth0']?.addresses.map((a) => a.address)).toContain('169.254.75.10');
    expect(pod.run('cat', '/proc/sys/net/ipv4/conf/all/arp_ignore').trim()).toBe('1');
    expect(await launcherFile()).toMatchObject({ mac: POD_MAC, dhcp4: { client: '10.244.9.2', prefix: 24, router: '10.244.9.1' } });
  });
});

describe('bridge in a pod with both families', () => {
  it.each([
    ['loses', '0'],
    ['keeps', '1'],
  ])('gives the pod’s addresses to the holder where a link that is down %s them', async (_, keep) => {
    pod.run('sh', '-c', `echo ${keep} > /proc/sys/net/ipv6/conf/all/keep_addr_on_down`);
    pod.run('ip', 'address', 'add', 'fd00:9::2/64', 'dev', 'eth0', 'nodad');
    await setup().ensure(hostCtx(), vmi({ bridge: {} }), target, SETTINGS);
    const { links } = await readNetState(hostCtx(), pod.path);
    const addressesOf = (name: string) => links.find((link) => link.name === name)?.addresses.map(({ address }) => address);
    expect(addressesOf('eth0')).toEqual(expect.arrayContaining(['10.244.9.2', 'fd00:9::2']));
    expect(addressesOf('eth0-nic')).toEqual([]);
  });
});

describe('a half-done network', () => {
  it('is critical after a crash between the journal entries', async () => {
    await createNetworkJournal(join(dir, 'private')).write(
      UID,
      new Map([['default', { iface: 'eth0', podIP: '', podIPs: [], networkState: 1 }]]),
    );

    const again = setup().ensure(hostCtx(), vmi({ masquerade: {} }), target, SETTINGS);

    await expect(again).rejects.toMatchObject({ code: 'CriticalNetwork', retry: 'never' });
  });

  it('is critical at once when a step fails, and says which', async () => {
    await rm(join(dir, 'root/var'), { recursive: true });

    const failed = setup().ensure(hostCtx(), vmi({ masquerade: {} }), target, SETTINGS);

    await expect(failed).rejects.toMatchObject({ code: 'CriticalNetwork', message: expect.stringContaining('default') });
    expect((await journalled()).get('default')?.networkState).toBe(1);
  });

  it('is not begun while the link of the pod is missing', async () => {
    pod.run('ip', 'link', 'del', 'eth0');

    await expect(setup().ensure(hostCtx(), vmi({ masquerade: {} }), target, SETTINGS)).rejects.toMatchObject({ code: 'NotReady' });
    expect(await journalled()).toEqual(new Map());
  });
});
