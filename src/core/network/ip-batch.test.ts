import { describe, expect, it } from 'vitest';
import { eth0, request, withDefaultRoute } from './fixtures.js';
import { bridgeMacFor, ipBatch, podNamespace } from './ip-batch.js';
import { planPodNetwork } from './plan.js';

const noDummy = { options: { dummySupported: false, unprivilegedDhcp: true } };
const script = (binding: 'masquerade' | 'bridge', now = withDefaultRoute(eth0), queues = 0): string[] =>
  ipBatch(planPodNetwork(request([{ name: 'default', [binding]: {} }], { ...noDummy, now, queues })).links, now);

const mac = bridgeMacFor(`default ${eth0.mac}`);

describe('the script for iproute2', () => {
  it('builds a masquerade network', () => {
    expect(script('masquerade', undefined, 2)).toEqual([
      'link add dev k6t-eth0 address 02:00:00:00:00:00 mtu 1450 type bridge',
      'address add 10.0.2.1/24 dev k6t-eth0',
      'link set dev k6t-eth0 up',
      'tuntap add dev tap0 mode tap user 107 group 107 multi_queue',
      'link set dev tap0 mtu 1450',
      'link set dev tap0 master k6t-eth0',
      'link set dev tap0 up',
    ]);
  });
  it('moves the pod’s NIC away before it builds the holder', () => {
    expect(script('bridge')).toEqual([
      `link add dev k6t-eth0 address ${mac} type bridge`,
      'address add 169.254.75.10/32 dev k6t-eth0',
      'link set dev k6t-eth0 up',
      'link set dev eth0 down',
      'link set dev eth0 name eth0-nic',
      `link set dev eth0-nic address ${mac}`,
      'address flush dev eth0-nic',
      'link set dev eth0-nic master k6t-eth0',
      'link set dev eth0-nic up',
      'link set dev eth0-nic type bridge_slave learning off',
      'tuntap add dev tap0 mode tap user 107 group 107',
      'link set dev tap0 mtu 1450',
      'link set dev tap0 master k6t-eth0',
      'link set dev tap0 up',
      `link add dev eth0 address ${eth0.mac} mtu 1450 type bridge`,
      'address add 10.244.1.7/24 dev eth0',
    ]);
  });
  it('creates nothing that is there already', () => {
    const bridge = { ...eth0, index: 8, name: 'k6t-eth0', ipv4: [{ ip: '10.0.2.1', prefix: 24 }] };
    const tap = { ...eth0, index: 9, name: 'tap0', ipv4: [] };
    expect(script('masquerade', withDefaultRoute(eth0, bridge, tap))).toEqual([
      'link set dev k6t-eth0 up',
      'link set dev tap0 mtu 1450',
      'link set dev tap0 master k6t-eth0',
      'link set dev tap0 up',
    ]);
  });
  it('deletes only links that exist', () => {
    const now = withDefaultRoute(eth0, { ...eth0, index: 9, name: 'tap0' });
    const links = planPodNetwork(request([{ name: 'default', masquerade: {}, state: 'absent' }], { now })).links;
    expect(ipBatch(links, now)).toEqual(['link delete dev tap0']);
  });
});

it('reads what iproute2 shows', () => {
  const links = [
    { index: 3, name: 'eth0', mac: eth0.mac, mtu: 1450, addresses: [{ family: 'inet' as const, address: '10.244.1.7', prefixLength: 24 }] },
  ];
  const routes = [
    { destination: 'default', gateway: '169.254.1.1', device: 'eth0' },
    { destination: '169.254.1.1', device: 'eth0' },
  ];
  expect(podNamespace({ links, routes })).toEqual({
    links: [eth0],
    routes: [
      { destination: '0.0.0.0/0', gateway: '169.254.1.1', link: 'eth0' },
      { destination: '169.254.1.1/32', link: 'eth0' },
    ],
  });
});

it('gives a bridge a unicast, locally administered MAC that no other pod’s bridge has', () => {
  expect(mac).toMatch(/^02(:[0-9a-f]{2}){5}$/);
  expect(mac).not.toBe(bridgeMacFor('default 12:34:56:78:90:ac'));
});
