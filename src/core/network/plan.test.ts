import { describe, expect, it } from 'vitest';
import { eth0, net1, podNet, request, secondary, withDefaultRoute } from './fixtures.js';
import { planPodNetwork } from './plan.js';

const linkNames = (plan: ReturnType<typeof planPodNetwork>): string[] =>
  plan.links.map((link) => `${link.kind} ${link.name} ${link.state}`);

describe('which networks are set up', () => {
  const masquerade = { name: 'default', masquerade: {} };
  const bridged = { name: 'sec', bridge: {} };
  const both = { now: withDefaultRoute(eth0, net1) };

  it.each([
    ['a new pod', [masquerade], {}, { configure: ['default'], remove: [] }],
    ['all finished', [masquerade], { states: new Map([['default', 2 as const]]) }, { configure: [], remove: [] }],
    [
      'a hotplugged NIC',
      [masquerade, bridged],
      { ...both, states: new Map([['default', 2 as const]]) },
      { configure: ['sec'], remove: [] },
    ],
    [
      'an unplugged NIC',
      [masquerade, { ...bridged, state: 'absent' }],
      {
        ...both,
        states: new Map([
          ['default', 2 as const],
          ['sec', 2 as const],
        ]),
      },
      { configure: [], remove: ['sec'] },
    ],
    [
      'an unplugged NIC left half done',
      [{ ...bridged, state: 'absent' }],
      { ...both, states: new Map([['sec', 1 as const]]) },
      { configure: [], remove: ['sec'] },
    ],
    ['an unplugged NIC that was never there', [masquerade, { ...bridged, state: 'absent' }], both, { configure: ['default'], remove: [] }],
    ['a plugin that attaches itself', [{ name: 'default', binding: { name: 'p' } }], {}, { configure: ['default'], remove: [] }],
  ])('%s', (_, interfaces, over, expected) => {
    const { configure, remove } = planPodNetwork(request(interfaces, over));
    expect({ configure, remove }).toEqual(expected);
  });

  it('refuses a network that was interrupted half way', () => {
    expect(() => planPodNetwork(request([masquerade], { states: new Map([['default', 1]]) }))).toThrow(
      expect.objectContaining({ code: 'CriticalNetwork', message: expect.stringContaining('network default was interrupted') }),
    );
  });
  it.each([
    ['without its link', [masquerade], { links: [net1], routes: [] }, 'pod link (eth0) is missing'],
    ['without its link for passt', [{ name: 'default', passtBinding: {} }], { links: [net1], routes: [] }, 'pod link (eth0) is missing'],
    ['without a gateway', [{ name: 'default', bridge: {} }], { links: [eth0], routes: [] }, 'no gateway address found in routes for eth0'],
  ])('waits for a pod %s', (_, interfaces, now, message) => {
    expect(() => planPodNetwork(request(interfaces, { now }))).toThrow(expect.objectContaining({ code: 'NotReady', message }));
  });
  it('only acts on what is due, but knows the whole', () => {
    const plan = planPodNetwork(request([masquerade, bridged], { ...both, states: new Map([['default', 2]]) }));
    expect(linkNames(plan)).toEqual(['bridge k6t-net1 up', 'nic net1-nic up', 'tap tap1 up', 'holder net1 as-created']);
    expect(plan.desired.links.map(({ name }) => name)).toEqual(['k6t-eth0', 'tap0', 'k6t-net1', 'net1-nic', 'tap1', 'net1']);
    expect(plan.nft).toEqual([]);
    expect(plan.nat.map(({ network }) => network)).toEqual(['default']);
  });
  it('deletes only what it created', () => {
    const states = new Map([['sec', 2 as const]]);
    const plan = planPodNetwork(request([{ ...bridged, state: 'absent' }], { ...both, states }));
    expect(linkNames(plan)).toEqual(['bridge k6t-net1 absent', 'tap tap1 absent', 'holder net1 absent']);
    expect(plan.sysctls).toEqual([]);
  });
  it('deletes it even when the CNI plugin was faster', () => {
    const states = new Map([['sec', 2 as const]]);
    const now = withDefaultRoute(eth0, { ...net1, name: 'k6t-net1' });
    const plan = planPodNetwork(request([{ ...bridged, state: 'absent' }], { now, states, networks: [secondary] }));
    expect(linkNames(plan).map((text) => text.split(' ')[0])).toEqual(['bridge', 'tap', 'holder']);
  });
  it.each([
    ['a network without interface', request([masquerade], { networks: [podNet, secondary] }), 'no iface matching with network sec'],
    ['an interface without binding', request([{ name: 'default' }]), 'undefined binding method'],
  ])('refuses %s', (_, given, message) => expect(() => planPodNetwork(given)).toThrow(message));
});

describe('masquerade', () => {
  it('puts the guest behind a bridge and leaves the pod’s NIC alone', () => {
    const plan = planPodNetwork(request([{ name: 'default', masquerade: {} }], { queues: 4 }));
    expect(plan.links).toEqual([
      {
        network: 'default',
        name: 'k6t-eth0',
        kind: 'bridge',
        state: 'up',
        mac: '02:00:00:00:00:00',
        mtu: 1450,
        ipv4: [{ ip: '10.0.2.1', prefix: 24 }],
        ipv6: [],
        routeLocalnet: true,
      },
      {
        network: 'default',
        name: 'tap0',
        kind: 'tap',
        state: 'up',
        mtu: 1450,
        controller: 'k6t-eth0',
        tap: { uid: 107, gid: 107, queues: 4 },
      },
    ]);
    expect(plan.sysctls).toEqual([
      { path: 'net/ipv4/ip_forward', value: '1' },
      { path: 'net/ipv4/ip_unprivileged_port_start', value: '0' },
      { path: 'net/ipv4/conf/k6t-eth0/route_localnet', value: '1' },
    ]);
    expect(plan.nft[0]).toBe('add table ip nat');
    expect(plan.journal.get('default')).toEqual({ iface: 'eth0', podIP: '10.244.1.7', podIPs: ['10.244.1.7'], networkState: 1 });
  });
  it('serves both families where the pod has both, the preferred one first', () => {
    const dual = {
      ...eth0,
      ipv6: [
        { ip: 'fe80::1', prefix: 64 },
        { ip: '2001:db8::7', prefix: 64 },
      ],
    };
    const plan = planPodNetwork(request([{ name: 'default', masquerade: {} }], { now: withDefaultRoute(dual), preferredFamily: 6 }));
    expect(plan.journal.get('default')?.podIPs).toEqual(['2001:db8::7', '10.244.1.7']);
    expect(plan.launcherFiles[0]?.dhcp6).toEqual({ client: 'fd10:0:2::2', prefix: 120 });
    expect(plan.nft).toContain('add rule ip6 nat postrouting ip6 saddr fd10:0:2::2 counter masquerade');
  });
  it.each([
    ['virtio by default', undefined, 2],
    ['another model', 'e1000', 0],
  ])('gives queues to %s', (_, model, queues) => {
    const plan = planPodNetwork(request([{ name: 'default', masquerade: {}, ...(model ? { model } : {}) }], { queues: 2 }));
    expect(plan.links.find(({ kind }) => kind === 'tap')?.tap?.queues).toBe(queues);
  });
});

describe('bridge', () => {
  const bridge = [{ name: 'default', bridge: {} }];
  it('reports none of the pod’s IPv6 addresses, which its guest does not get', () => {
    const dual = { ...eth0, ipv6: [{ ip: '2001:db8::7', prefix: 64 }] };
    const plan = planPodNetwork(request(bridge, { now: withDefaultRoute(dual), preferredFamily: 6 }));
    expect(plan.journal.get('default')).toEqual({ iface: 'eth0', podIP: '10.244.1.7', podIPs: ['10.244.1.7'], networkState: 1 });
    expect(plan.links.find(({ kind }) => kind === 'holder')?.ipv6).toEqual(dual.ipv6);
  });
  it.each([
    [true, 'dummy'],
    [false, 'bridge'],
  ])('keeps the pod’s name and address on a holder (dummy supported: %s)', (dummySupported, holderType) => {
    const plan = planPodNetwork(request(bridge, { options: { dummySupported, unprivilegedDhcp: true } }));
    expect(plan.links.find(({ kind }) => kind === 'holder')).toEqual({
      network: 'default',
      name: 'eth0',
      kind: 'holder',
      holderType,
      state: 'as-created',
      mac: eth0.mac,
      mtu: 1450,
      ipv4: eth0.ipv4,
      ipv6: [],
    });
    expect(plan.sysctls.map(({ path }) => path)).toEqual(['net/ipv4/conf/all/arp_ignore', 'net/ipv4/ip_unprivileged_port_start']);
  });
  it.each([
    ['the spec’s MAC', { macAddress: '02:aa:bb:cc:dd:ee' }, '02:01:01:01:01:01', '02:aa:bb:cc:dd:ee'],
    ['the MAC that the VMI had before', {}, '02:01:01:01:01:01', '02:01:01:01:01:01'],
    ['the pod’s MAC', {}, undefined, eth0.mac],
  ])('tells the launcher %s', (_, iface, statusMac, mac) => {
    const statusMacs = new Map(statusMac ? [['default', statusMac]] : []);
    const plan = planPodNetwork(request([{ name: 'default', bridge: {}, ...iface }], { statusMacs }));
    expect(plan.launcherFiles).toEqual([
      {
        network: 'default',
        podInterface: 'eth0',
        tap: 'tap0',
        bridge: 'k6t-eth0',
        mac,
        mtu: 1450,
        dhcp4: {
          server: '169.254.75.10',
          client: '10.244.1.7',
          prefix: 24,
          router: '10.244.1.1',
          routes: [{ destination: '0.0.0.0/0', gateway: '10.244.1.1' }],
        },
      },
    ]);
  });
  it.each([
    ['a network without addresses', { name: 'sec', bridge: {} }, {}],
    ['a managed tap', { name: 'sec', binding: { name: 'p' } }, { bindings: { p: { domainAttachmentType: 'managedTap' } } }],
  ])('serves no DHCP on %s', (_, iface, over) => {
    const plan = planPodNetwork(request([iface], { now: withDefaultRoute(eth0, net1), ...over }));
    expect(plan.launcherFiles.map(({ dhcp4 }) => dhcp4)).toEqual([undefined]);
    expect(plan.links[0]).toEqual({ network: 'sec', name: 'k6t-net1', kind: 'bridge', state: 'up' });
  });
});

it('opens ping sockets and low ports to passt, and makes no links for it', () => {
  const plan = planPodNetwork(request([{ name: 'default', passtBinding: {} }]));
  expect(plan.links).toEqual([]);
  expect(plan.sysctls).toEqual([
    { path: 'net/ipv4/ping_group_range', value: '107 107' },
    { path: 'net/ipv4/ip_unprivileged_port_start', value: '0' },
  ]);
});
