import { describe, expect, it } from 'vitest';
import type { DesiredLink } from '../../core/network/link-plan.js';
import type { Link } from '../../linux/ip.js';
import { ipBatch, withMacs } from './ip-batch.js';

const link = (over: Partial<Link> & { name: string }): Link => ({
  index: 2,
  mac: '0a:00:00:00:00:01',
  mtu: 1450,
  isUp: true,
  kind: '',
  addresses: [],
  ...over,
});

const bridge: DesiredLink = {
  network: 'default',
  name: 'k6t-eth0',
  kind: 'bridge',
  state: 'up',
  mac: '02:00:00:00:00:00',
  mtu: 1450,
  ipv4: [{ ip: '10.0.2.1', prefix: 24 }],
  ipv6: [{ ip: 'fd10:0:2::1', prefix: 120 }],
};
const tap: DesiredLink = {
  network: 'default',
  name: 'tap0',
  kind: 'tap',
  state: 'up',
  mtu: 1450,
  controller: 'k6t-eth0',
  tap: { uid: 107, gid: 107, queues: 0 },
};
const nic: DesiredLink = {
  network: 'default',
  name: 'eth0-nic',
  kind: 'nic',
  state: 'up',
  index: 2,
  mac: '02:11:22:33:44:55',
  controller: 'k6t-eth0',
  ipv4: [],
  ipv6: [],
  portLearning: false,
};
const v4 = { family: 'inet' as const, address: '10.244.0.5', prefixLength: 24, scope: 'global' };
const linkLocal = { family: 'inet6' as const, address: 'fe80::1', prefixLength: 64, scope: 'link' };

describe('ipBatch', () => {
  it.each<[string, DesiredLink[], Link[], string[]]>([
    [
      'creates a bridge',
      [bridge],
      [],
      [
        'link add name k6t-eth0 type bridge',
        'link set dev k6t-eth0 address 02:00:00:00:00:00',
        'link set dev k6t-eth0 mtu 1450',
        'address add 10.0.2.1/24 dev k6t-eth0',
        'address add fd10:0:2::1/120 dev k6t-eth0 nodad',
        'link set dev k6t-eth0 up',
      ],
    ],
    [
      'creates a tap with one queue',
      [tap],
      [],
      [
        'tuntap add dev tap0 mode tap user 107 group 107',
        'link set dev tap0 mtu 1450',
        'link set dev tap0 master k6t-eth0',
        'link set dev tap0 up',
      ],
    ],
    [
      'asks for several queues only above one',
      [{ ...tap, tap: { uid: 1, gid: 2, queues: 4 }, state: 'as-created' }],
      [],
      ['tuntap add dev tap0 mode tap user 1 group 2 multi_queue', 'link set dev tap0 mtu 1450', 'link set dev tap0 master k6t-eth0'],
    ],
    [
      'moves the pod NIC out of the way',
      [nic],
      [link({ name: 'eth0', addresses: [v4, linkLocal] })],
      [
        'link set dev eth0 down',
        'link set dev eth0 name eth0-nic',
        'link set dev eth0-nic address 02:11:22:33:44:55',
        'link set dev eth0-nic addrgenmode none',
        'address flush dev eth0-nic',
        'link set dev eth0-nic master k6t-eth0',
        'link set dev eth0-nic type bridge_slave learning off',
        'link set dev eth0-nic up',
      ],
    ],
    ['leaves a moved NIC alone', [nic], [link({ name: 'eth0-nic', master: 'k6t-eth0' })], []],
    [
      'makes a holder of a bridge and does not set it up',
      [
        {
          network: 'default',
          name: 'eth0',
          kind: 'holder',
          holderType: 'bridge',
          state: 'as-created',
          mac: '0a:00:00:00:00:01',
          ipv4: [{ ip: '10.244.0.5', prefix: 24 }],
        },
      ],
      [link({ name: 'eth0' })],
      ['link add name eth0 type bridge', 'link set dev eth0 address 0a:00:00:00:00:01', 'address add 10.244.0.5/24 dev eth0'],
    ],
    [
      'corrects only what differs',
      [bridge],
      [link({ name: 'k6t-eth0', kind: 'bridge', mac: '02:00:00:00:00:00', mtu: 1500, isUp: true, addresses: [v4, linkLocal] })],
      [
        'link set dev k6t-eth0 mtu 1450',
        'address del 10.244.0.5/24 dev k6t-eth0',
        'address add 10.0.2.1/24 dev k6t-eth0',
        'address add fd10:0:2::1/120 dev k6t-eth0 nodad',
      ],
    ],
    ['deletes what is to be absent', [{ ...tap, state: 'absent' }], [link({ name: 'tap0', kind: 'tun' })], ['link del dev tap0']],
    ['has nothing to delete', [{ ...tap, state: 'absent' }], [], []],
  ])('%s', (_title, links, now, expected) => {
    expect(ipBatch(links, now)).toEqual(expected);
  });
});

describe('withMacs', () => {
  it('chooses a MAC for a bridge that others copy from, and copies it', () => {
    const { mac: _none, ...open } = bridge;
    const { mac: _own, ...copy } = nic;
    const [first, second] = withMacs([open, { ...copy, copyMacFrom: 'k6t-eth0' }], () => '02:aa:00:00:00:01');
    expect([first?.mac, second?.mac]).toEqual(['02:aa:00:00:00:01', '02:aa:00:00:00:01']);
  });

  it('leaves other links open', () => {
    const { mac: _none, ...open } = bridge;
    expect(withMacs([open, tap], () => 'never')).toEqual([open, tap]);
  });
});
