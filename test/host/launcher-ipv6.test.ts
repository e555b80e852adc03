// IPv6 behind a masquerade binding on real links: the node agent's phase 1 and hand-over, the launcher's advertisements and DHCPv6, and in
// the guest's place the kernel's own autoconfiguration, rdisc6 and ISC's client.
import { readdir, readlink } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ROUTER_ADVERTISEMENT } from '../../src/core/network/dhcp/router-advertisement.js';
import { bindToDevice } from '../../src/linux/ffi.js';
import { icmp6SocketOf } from '../../src/linux/ffi-sockets.js';
import { asDatagramSocket, ICMP6_PORT } from '../../src/linux/router-socket.js';
import { checkPrerequisites } from './launcher-pod.js';
import { askWord, serveWord, type TestNs } from './namespaces.js';
import { dhclient, NetworkedPod, networkedGuest } from './networked-pod.js';

const WAIT = { timeout: 10_000, interval: 50 };
const MAC = '02:11:22:33:44:55';
const DUAL_STACK = {
  name: 'eth0',
  mac: '0a:58:0a:f4:09:02',
  addresses: ['10.244.9.2/24', 'fd00:9::2/64'],
  peerAddresses: ['10.244.9.1/24', 'fd00:9::1/64'],
  routes: ['default via 10.244.9.1', 'default via fd00:9::1'],
};
const ONLY_V6 = {
  name: 'eth0',
  mac: DUAL_STACK.mac,
  addresses: ['fd00:9::2/64'],
  peerAddresses: ['fd00:9::1/64'],
  routes: ['default via fd00:9::1'],
};
const RESOLV = 'search default.svc.cluster.local\nnameserver 10.96.0.10\nnameserver fd00:10::a\n';
const masquerade = () =>
  networkedGuest({ interfaces: [{ name: 'default', masquerade: {}, macAddress: MAC }], networks: [{ name: 'default', pod: {} }] });

let networked: NetworkedPod;
beforeAll(checkPrerequisites);
afterEach(() => networked.remove());

async function guestOfRunningPod(): Promise<TestNs> {
  networked = await NetworkedPod.start([DUAL_STACK], RESOLV);
  await networked.run(masquerade());
  return networked.guestOn('k6t-eth0', MAC);
}

describe('a guest with IPv6 behind a masquerade binding', () => {
  it('gets a router by advertisement, an address by DHCPv6, and reaches the pod network', async () => {
    const guest = await guestOfRunningPod();

    await expect.poll(() => guest.run('ip', '-6', 'route', 'show', 'default'), WAIT).toContain('via fe80::ff:fe00:0 dev eth0 proto ra');
    expect(guest.run('ip', '-6', 'route', 'show', 'fd10:0:2::/120')).toContain('dev eth0');
    expect(guest.run('cat', '/proc/sys/net/ipv6/conf/eth0/mtu').trim()).toBe('1450');

    expect(dhclient(guest, 6)).toMatchObject({
      ip6_address: 'fd10:0:2::2',
      dhcp6_name_servers: 'fd00:10::a',
      dhcp6_domain_search: 'default.svc.cluster.local.',
      max_life: '86313600',
    });

    await serveWord(networked.peer, 9090, 'from the peer');
    await serveWord(guest, 8080, 'from the guest');
    expect(askWord(guest, 'fd00:9::1', 9090)).toBe('from the peer');
    expect(askWord(networked.peer, 'fd00:9::2', 8080)).toBe('from the guest');
    expect(guest.run('ping', '-6', '-c', '1', '-W', '2', 'fd00:9::1')).toContain('1 received');
    // And IPv4 beside it.
    expect(dhclient(guest, 4)).toMatchObject({ ip_address: '10.0.2.2', routers: '10.0.2.1', interface_mtu: '1450' });
    expect(askWord(guest, '10.244.9.1', 9090)).toBe('from the peer');
  });

  it('needs no IPv4 for it', async () => {
    networked = await NetworkedPod.start([ONLY_V6], 'search x.y\nnameserver fd00:10::a\n');
    await networked.run(masquerade());
    const guest = networked.guestOn('k6t-eth0', MAC);

    await expect.poll(() => guest.run('ip', '-6', 'route', 'show', 'default'), WAIT).toContain('via fe80::ff:fe00:0');
    expect(dhclient(guest, 6)).toMatchObject({ ip6_address: 'fd10:0:2::2', dhcp6_name_servers: 'fd00:10::a' });
    await serveWord(networked.peer, 9090, 'from the peer');
    expect(askWord(guest, 'fd00:9::1', 9090)).toBe('from the peer');
    expect(networked.launcherFile('eth0')).not.toHaveProperty('dhcp4');
  });

  it('is told everything when it asks, and only it is', async () => {
    const guest = await guestOfRunningPod();

    const words = guest.run('rdisc6', '-1', '-r', '3', 'eth0').replace(/\s+/g, ' ');
    for (const word of [
      'Stateful address conf. : Yes',
      'Stateful other conf. : Yes',
      'Router lifetime : 9000',
      'Prefix : fd10:0:2::/120',
      'On-link : Yes',
      'Autonomous address conf.: No',
      'MTU : 1450 bytes',
      'Source link-layer address: 02:00:00:00:00:00',
      'from fe80::ff:fe00:0',
    ])
      expect(words).toContain(word);

    // Nobody advertises or serves on the pod network.
    expect(() => networked.peer.run('rdisc6', '-1', '-r', '1', '-w', '1000', 'eth0')).toThrow();
    expect(dhclient(networked.peer, 6, 3)).toBeUndefined();
  });

  it('cannot make its router work by asking as fast as it can', async () => {
    const guest = await guestOfRunningPod();

    const answers = await flood(guest, 1000);

    expect(answers).toBeGreaterThan(0);
    expect(answers).toBeLessThan(10);
  });

  it('has its router’s socket in the launcher alone', async () => {
    const own = await readlink('/proc/thread-self/ns/net');
    await guestOfRunningPod();
    // As an agent does that was restarted and looks at the guest again.
    await networked.setUp(masquerade());

    expect(await readlink('/proc/thread-self/ns/net')).toBe(own);
    const sockets = (await networked.inPod('cat', '/proc/net/raw6')).trim().split('\n').slice(1);
    const inodes = sockets.map((line) => `socket:[${line.trim().split(/\s+/)[9]}]`);
    expect(inodes).toHaveLength(1);
    expect(await descriptorsOf(process.pid)).not.toContain(inodes[0]);
    const [launcher = 0] = await networked.pod.pidsOf('bin/node');
    expect((await descriptorsOf(launcher)).filter((name) => name === inodes[0])).toHaveLength(1);
  });
});

const descriptorsOf = async (pid: number): Promise<string[]> =>
  Promise.all((await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));

/** Solicits without pause; the number of advertisements. */
async function flood(guest: TestNs, ms: number): Promise<number> {
  const socket = asDatagramSocket(icmp6SocketOf(guest.path, (fd) => bindToDevice(fd, 'eth0')));
  const solicitation = Buffer.from('8500000000000000', 'hex');
  let answers = 0;
  socket.on('message', (message) => (answers += message[0] === ROUTER_ADVERTISEMENT ? 1 : 0));
  try {
    for (const end = Date.now() + ms; Date.now() < end; await setImmediate()) socket.send(solicitation, ICMP6_PORT, 'ff02::2');
    return answers;
  } finally {
    socket.close();
  }
}
