import { describe, expect, it } from 'vitest';
import { parseLinks, parseRoutes } from './ip.js';

describe('parseLinks', () => {
  it('keeps what the network executor needs', () => {
    const json = JSON.stringify([
      {},
      { ifindex: 1, ifname: 'lo', flags: ['LOOPBACK', 'UP'], mtu: 65536, address: '00:00:00:00:00:00', addr_info: [] },
      {
        ifindex: 3,
        ifname: 'tap0',
        flags: ['BROADCAST'],
        mtu: 1450,
        address: '42:52:94:29:8b:29',
        master: 'k6t-eth0',
        linkinfo: { info_kind: 'tun', info_data: { type: 'tap' } },
        addr_info: [
          { family: 'inet', local: '10.0.2.1', prefixlen: 24, scope: 'global' },
          { family: 'inet6', local: 'fe80::1', prefixlen: 64, scope: 'link' },
          { family: 'mpls' },
        ],
      },
    ]);
    expect(parseLinks(json)).toEqual([
      { index: 1, name: 'lo', mac: '00:00:00:00:00:00', mtu: 65536, isUp: true, kind: '', addresses: [] },
      {
        index: 3,
        name: 'tap0',
        mac: '42:52:94:29:8b:29',
        mtu: 1450,
        isUp: false,
        kind: 'tun',
        master: 'k6t-eth0',
        addresses: [
          { family: 'inet', address: '10.0.2.1', prefixLength: 24, scope: 'global' },
          { family: 'inet6', address: 'fe80::1', prefixLength: 64, scope: 'link' },
        ],
      },
    ]);
  });

  it('says what is needed when the tool prints something else', () => {
    expect(() => parseLinks('1: lo: <LOOPBACK>')).toThrow('iproute2 5 or newer');
    expect(() => parseLinks('{}')).toThrow('did not print a list');
  });
});

describe('parseRoutes', () => {
  it.each([
    ['', []],
    ['[]', []],
    [
      JSON.stringify([
        { dst: 'default', gateway: '10.244.1.1', dev: 'eth0', flags: [] },
        { dst: '10.244.1.0/24', dev: 'eth0', protocol: 'kernel' },
        { dst: 'broken' },
      ]),
      [
        { destination: 'default', gateway: '10.244.1.1', device: 'eth0' },
        { destination: '10.244.1.0/24', device: 'eth0' },
      ],
    ],
  ])('%s', (json, expected) => {
    expect(parseRoutes(json)).toEqual(expected);
  });
});
