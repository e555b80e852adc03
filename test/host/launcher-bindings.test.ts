// What each binding's guest is told by DHCP and what its card looks like, with a real launcher and the node agent's phase 1: bridge with
// and without addresses of the pod, MAC, MTU, names, routes, several links, and cards that come and go while the guest runs.
import { readFile } from 'node:fs/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { checkPrerequisites } from './launcher-pod.js';
import { askWord, serveWord } from './namespaces.js';
import { dhclient, NetworkedPod, networkedGuest } from './networked-pod.js';

const POD_MAC = '0a:58:0a:f4:09:02';
const ETH0 = {
  name: 'eth0',
  mac: POD_MAC,
  mtu: 1400,
  addresses: ['10.244.9.2/24'],
  peerAddresses: ['10.244.9.1/24'],
  routes: ['default via 10.244.9.1', '172.16.0.0/12 via 10.244.9.7', '192.0.2.1/32 dev eth0 scope link'],
};
const RESOLV = 'search default.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\nnameserver 10.96.0.11\n';
/** Names of a secondary network's links: the start of the SHA-256 of `blue`. */
const BLUE = { pod: 'pod16477688c0e', bridge: 'k6t-16477688c0e', tap: 'tap16477688c0e' };
const BLUE_MAC = '02:00:00:00:0b:01';
const blueLink = (addresses: readonly string[]) => ({ name: BLUE.pod, mac: BLUE_MAC, mtu: 9000, addresses, routes: [] });
const blue = { interface: { name: 'blue', bridge: {} }, network: { name: 'blue', multus: { networkName: 'blue' } } };
const pod = { interface: { name: 'default', bridge: {} }, network: { name: 'default', pod: {} } };

let networked: NetworkedPod;
beforeAll(checkPrerequisites);
afterEach(() => networked.remove());

/** QEMU's network cards, as its command line or a hotplug names them. */
async function cards(): Promise<{ mac: string; mtu?: number }[]> {
  const xml = await networked.domainXml();
  return [...xml.matchAll(/<interface .*?<\/interface>/gs)].map(([text]) => {
    const mac = /<mac address='([^']+)'/.exec(text)?.[1] ?? '';
    const mtu = /<mtu size='(\d+)'/.exec(text)?.[1];
    return { mac, ...(mtu === undefined ? {} : { mtu: Number(mtu) }) };
  });
}

describe('a bridge binding', () => {
  it('gives the guest the pod’s MAC, address, routes and MTU, and the names of the VMI', async () => {
    networked = await NetworkedPod.start([ETH0], RESOLV);
    const vmi = networkedGuest({ interfaces: [pod.interface], networks: [pod.network], spec: { hostname: 'web-1', subdomain: 'web' } });
    await networked.run(vmi);

    expect(await cards()).toEqual([{ mac: POD_MAC, mtu: 1400 }]);
    const guest = networked.guestOn('k6t-eth0', POD_MAC);
    expect(dhclient(guest, 4)).toMatchObject({
      ip_address: '10.244.9.2',
      subnet_mask: '255.255.255.0',
      routers: '10.244.9.1',
      domain_name_servers: '10.96.0.10 10.96.0.11',
      host_name: 'web-1',
      domain_name: 'web.default.svc.cluster.local',
      domain_search: 'web.default.svc.cluster.local. default.svc.cluster.local. svc.cluster.local.',
      interface_mtu: '1400',
      classless_routes: '12 172 16 10 244 9 7 32 192 0 2 1 0 0 0 0 0 10 244 9 1',
      dhcp_lease_time: '86313600',
      dhcp_server_identifier: '169.254.75.10',
    });
    await serveWord(networked.peer, 9090, 'from the peer');
    await serveWord(guest, 8080, 'from the guest');
    expect(askWord(guest, '10.244.9.1', 9090)).toBe('from the peer');
    expect(askWord(networked.peer, '10.244.9.2', 8080)).toBe('from the guest');
  });

  it('offers its address to nobody else: neither behind the bridge nor on the pod network', async () => {
    networked = await NetworkedPod.start([ETH0], RESOLV);
    await networked.run(networkedGuest({ interfaces: [pod.interface], networks: [pod.network] }));

    expect(dhclient(networked.guestOn('k6t-eth0', '02:00:00:00:00:09'), 4, 3)).toBeUndefined();
    expect(dhclient(networked.peer, 4, 3)).toBeUndefined();
  });

  it('leaves a guest without DHCP where the pod’s link has no address, but connected', async () => {
    networked = await NetworkedPod.start([ETH0, { ...blueLink([]), peerAddresses: ['10.7.0.1/24'] }], RESOLV);
    await networked.run(networkedGuest({ interfaces: [pod.interface, blue.interface], networks: [pod.network, blue.network] }));

    expect(await cards()).toEqual([
      { mac: POD_MAC, mtu: 1400 },
      { mac: BLUE_MAC, mtu: 9000 },
    ]);
    const guest = networked.guestOn(BLUE.bridge, BLUE_MAC);
    expect(dhclient(guest, 4, 3)).toBeUndefined();
    guest.run('ip', 'address', 'add', '10.7.0.2/24', 'dev', 'eth0');
    await serveWord(networked.peer, 9090, 'from the peer');
    expect(askWord(guest, '10.7.0.1', 9090)).toBe('from the peer');
  });
});

describe('a masquerade binding', () => {
  it('serves DHCP on its own link only, even to the guest’s MAC', async () => {
    networked = await NetworkedPod.start([ETH0], RESOLV);
    const mac = '02:11:22:33:44:55';
    await networked.run(
      networkedGuest({
        // With ports, what comes to others is not sent on to the guest: the server itself must not hear it.
        interfaces: [{ name: 'default', masquerade: {}, macAddress: mac, ports: [{ port: 8080 }] }],
        networks: [pod.network],
        spec: { hostname: 'web-1' },
      }),
    );

    networked.peer.run('ip', 'link', 'set', 'eth0', 'address', mac);
    expect(dhclient(networked.peer, 4, 3)).toBeUndefined();
    expect(dhclient(networked.guestOn('k6t-eth0', '02:00:00:00:00:09'), 4, 3)).toBeUndefined();
    expect(await cards()).toEqual([{ mac, mtu: 1400 }]);
    expect(dhclient(networked.guestOn('k6t-eth0', mac), 4)).toMatchObject({
      ip_address: '10.0.2.2',
      routers: '10.0.2.1',
      interface_mtu: '1400',
      host_name: 'web-1',
      domain_name: 'default.svc.cluster.local',
    });
  });
});

describe('a card that comes to a running guest', () => {
  it('gets its own lease, which ends with it; another one in its place gets another', async () => {
    networked = await NetworkedPod.start([ETH0], RESOLV);
    const masquerade = { name: 'default', masquerade: {} };
    const withBlue = (state?: 'absent'): VirtualMachineInstance =>
      networkedGuest({
        interfaces: [masquerade, { ...blue.interface, ...(state ? { state } : {}) }],
        networks: [pod.network, blue.network],
      });
    await networked.run(networkedGuest({ interfaces: [masquerade], networks: [pod.network] }));
    expect(await cards()).toHaveLength(1);

    networked.addLink(blueLink(['10.7.0.2/24']));
    await networked.run(withBlue());
    expect((await cards()).map(({ mac }) => mac)).toContain(BLUE_MAC);
    expect(dhclient(networked.guestOn(BLUE.bridge, BLUE_MAC), 4)).toMatchObject({ ip_address: '10.7.0.2', interface_mtu: '9000' });

    await networked.pod.client.syncVirtualMachine(withBlue('absent'));
    await networked.setUp(withBlue('absent'));
    expect(await networked.inPod('ip', '-br', 'link')).not.toContain(BLUE.bridge);
    expect(await readFile(`${networked.pod.dir}/kubevirt-private/dhcp_started-${BLUE.pod}`).catch(() => 'gone')).toBe('gone');
    networked.removeLink(`${BLUE.bridge.slice('k6t-'.length)}-nic`);

    networked.addLink(blueLink(['10.8.0.2/24']));
    await networked.run(withBlue());
    expect(dhclient(networked.guestOn(BLUE.bridge, BLUE_MAC), 4)).toMatchObject({ ip_address: '10.8.0.2' });
  });
});
