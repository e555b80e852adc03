import { describe, expect, it } from 'vitest';
import type { Network, VirtualMachineInstance } from '../../api/index.js';
import { guestOf, masqueradeAddresses } from './addressing.js';
import { domainFromSearch, guestHostname, searchWithSubdomain } from './hostname.js';
import { isReservedMac, isValidMac, parseMac } from './mac.js';
import { bridgedNicName, bridgeName, hashedPodInterface, hashedScheme, isOrdinalName, ordinalScheme, schemeOf, tapName } from './names.js';

const pod: Network = { name: 'default', pod: {} };
const red: Network = { name: 'red', multus: { networkName: 'nad-red' } };
const blue: Network = { name: 'blue', multus: { networkName: 'nad-blue' } };
const claimed: Network = { name: 'gpu', resourceClaim: { claimName: 'c' } };

describe('link names', () => {
  it.each([
    ['eth0', pod, { bridge: 'k6t-eth0', nic: 'eth0-nic', tap: 'tap0', ordinal: false }],
    ['podb1f51a511f1', red, { bridge: 'k6t-b1f51a511f1', nic: 'b1f51a511f1-nic', tap: 'tapb1f51a511f1', ordinal: false }],
    ['net1', red, { bridge: 'k6t-net1', nic: 'net1-nic', tap: 'tap1', ordinal: true }],
    ['net12', blue, { bridge: 'k6t-net12', nic: 'net12-nic', tap: 'tap12', ordinal: true }],
    ['ovn-udn1', pod, { bridge: 'k6t-ovn-udn1', nic: 'ovn-udn1-nic', tap: 'tap0', ordinal: false }],
  ])('%s', (name, network, expected) => {
    expect({ bridge: bridgeName(name), nic: bridgedNicName(name), tap: tapName(name, network), ordinal: isOrdinalName(name) }).toEqual(
      expected,
    );
  });

  it('fits every derived name into the kernel’s fifteen characters', () => {
    const name = hashedPodInterface('a network with a very long name');
    for (const derived of [name, bridgeName(name), bridgedNicName(name), tapName(name, red)])
      expect(derived.length).toBeLessThanOrEqual(15);
  });
});

describe('name schemes', () => {
  it('hashes secondary networks and leaves device claims out', () => {
    expect(Object.fromEntries(hashedScheme([pod, red, claimed]))).toEqual({ default: 'eth0', red: 'podb1f51a511f1' });
  });
  it('counts secondary networks by position', () => {
    expect(Object.fromEntries(ordinalScheme([blue, pod, red]))).toEqual({ blue: 'net1', default: 'eth0', red: 'net2' });
  });
  it.each([
    ['ordinal as soon as the pod has such a link', ['lo', 'eth0', 'net1'], undefined, { default: 'eth0', red: 'net1' }],
    ['hashed otherwise', ['lo', 'eth0'], undefined, { default: 'eth0', red: 'podb1f51a511f1' }],
    ['another primary name', ['ovn-udn1'], 'ovn-udn1', { default: 'ovn-udn1', red: 'podb1f51a511f1' }],
  ])('of a pod that exists: %s', (_, interfaces, primary, expected) => {
    expect(Object.fromEntries(schemeOf([pod, red], { interfaces, ...(primary ? { primary } : {}) }))).toEqual(expected);
  });
});

describe('MAC addresses', () => {
  it.each([
    ['', true, false],
    ['de:ad:00:00:be:af', true, false],
    ['DE-AD-00-00-BE-AF', true, false],
    ['dead.0000.beaf', true, false],
    ['de:ad-00:00:be:af', false, false],
    ['de:ad:00:00:be', false, false],
    ['de:ad:00:00:be:af:00:01', false, false],
    ['xx', false, false],
    ['02:00:00:00:00:00', true, true],
  ])('%s', (text, valid, reserved) => {
    expect([isValidMac(text), isReservedMac(text)]).toEqual([valid, reserved]);
  });
  it('gives the bytes', () => expect(parseMac('de:ad:00:00:be:af')).toEqual(Uint8Array.of(0xde, 0xad, 0, 0, 0xbe, 0xaf)));
});

describe('addresses behind a masquerade binding', () => {
  it.each([
    ['the default', {}, 4, { gateway: '10.0.2.1', guest: '10.0.2.2', prefix: 24 }],
    ['the default of IPv6', {}, 6, { gateway: 'fd10:0:2::1', guest: 'fd10:0:2::2', prefix: 120 }],
    ['a CIDR with host bits', { vmNetworkCIDR: '10.11.12.77/24' }, 4, { gateway: '10.11.12.1', guest: '10.11.12.2', prefix: 24 }],
    ['the smallest network', { vmNetworkCIDR: '10.11.12.4/30' }, 4, { gateway: '10.11.12.5', guest: '10.11.12.6', prefix: 30 }],
  ] as const)('%s', (_, settings, family, expected) => {
    expect(masqueradeAddresses({ name: 'default', pod: settings }, family)).toEqual(expected);
  });
  it.each([
    ['no CIDR', 'zzz', 'invalid CIDR address: zzz'],
    ['too small', '10.0.0.0/31', 'less than 4 addresses on network'],
    ['prefix too long', '10.0.0.0/33', 'invalid CIDR address: 10.0.0.0/33'],
  ])('refuses %s', (_, cidr, message) => {
    expect(() => masqueradeAddresses({ name: 'default', pod: { vmNetworkCIDR: cidr } }, 4)).toThrow(message);
  });
  it.each([
    ['10.0.2.1', '10.0.2.2'],
    ['fd10:0:2::1', 'fd10:0:2::2'],
    ['10.0.2.255', '10.0.3.0'],
  ])('counts from the gateway %s', (gateway, guest) => expect(guestOf(gateway)).toBe(guest));
});

describe('host and domain names', () => {
  const named = (name: string, hostname?: string): VirtualMachineInstance =>
    ({ metadata: { name }, spec: { domain: { devices: {} }, ...(hostname ? { hostname } : {}) } }) as VirtualMachineInstance;

  it.each([
    ['the VMI’s name', named('testvmi'), 'testvmi'],
    ['its first label', named('a.b.c'), 'a'],
    ['cut to a label’s length', named('a'.repeat(70)), 'a'.repeat(63)],
    ['spec.hostname as it is', named('x', 'h.i'), 'h.i'],
  ])('%s', (_, vmi, expected) => expect(guestHostname(vmi)).toBe(expected));

  it.each([
    [[], ''],
    [['a.b', 'a.b.c.d'], 'a.b.c.d'],
    [['x.y', 'z.w'], 'x.y'],
  ])('the domain of %j', (search, expected) => expect(domainFromSearch(search)).toBe(expected));

  it.each([
    ['no subdomain', undefined, ['ns.svc.cluster.local', 'cluster.local']],
    ['a subdomain', 'sub', ['sub.ns.svc.cluster.local', 'ns.svc.cluster.local', 'cluster.local']],
  ])('searches with %s', (_, subdomain, expected) => {
    expect(searchWithSubdomain(['ns.svc.cluster.local', 'cluster.local'], 'ns', subdomain)).toEqual(expected);
  });
});
