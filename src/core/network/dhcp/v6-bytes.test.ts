// DHCPv6 exchanges and the router advertisement byte for byte. Both sides are written down by hand from RFC 8415, 3646 and 4861; our
// encoder makes none of them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../../api/index.js';
import type { DhcpV6Config, LauncherInterface } from '../caches.js';
import { toHex } from './bytes.js';
import { fromHex } from './fixtures.js';
import { isSolicitation, routerAdvertisement } from './router-advertisement.js';
import { v6Lease, v6Router } from './v6-lease.js';
import { answerV6 } from './v6-server.js';

const vmi = { metadata: { name: 'web', namespace: 'ns' }, spec: { subdomain: 'db', domain: { devices: {} } } } as VirtualMachineInstance;
const file: LauncherInterface & { dhcp6: DhcpV6Config } = {
  network: 'default',
  podInterface: 'eth0',
  tap: 'tap0',
  bridge: 'k6t-eth0',
  mac: '02:aa:bb:cc:dd:ee',
  mtu: 1450,
  dhcp6: { client: 'fd10:0:2::2', prefix: 120 },
};
const lease = v6Lease(vmi, file, { nameservers: ['10.96.0.10', 'fd00::a', 'fd00::b'], search: ['ns.svc.x'] });

const TRANSACTION = 'c0ffee';
/** Client identifier: a DUID-LLT. */
const CLIENT = '0001000e' + '0001000126a1b2c302aabbccddee';
/** Server identifier: DUID-LL, Ethernet, the bridge's MAC. */
const SERVER = '0002000a' + '00030001' + '020000000000';
const OTHER_SERVER = '0002000a' + '00030001' + '020000000001';
const OWN = 'fd100000000200000000000000000002';
const FOREIGN = 'fd100000000200000000000000000099';
const RAPID = '000e0000';
const ELAPSED = '00080002' + '0000';
/** Asks for DNS servers and search list. */
const ORO = '00060004' + '00170018';

const ia = (id: string, ...inner: string[]): string => {
  const body = `${id}0000000000000000${inner.join('')}`;
  return `0003${(body.length / 2).toString(16).padStart(4, '0')}${body}`;
};
const address = (ip: string, seconds: string): string => `00050018${ip}${seconds}${seconds}`;
const status = (code: string): string => `000d0002${code}`;
/** 999 days. */
const LEASE = '05250a80';
const DNS = '00170020' + 'fd00000000000000000000000000000a' + 'fd00000000000000000000000000000b';
/** db.ns.svc.x and ns.svc.x, without compression. */
const SEARCH = '00180017' + '0264620' + '26e73037376630178' + '00' + '026e73037376630178' + '00';
const SETTINGS = DNS + SEARCH;
const ID = '00000005';
const OURS = ia(ID, address(OWN, LEASE));

const message = (type: string, ...options: string[]): Uint8Array => fromHex(type, TRANSACTION, ...options);
function reply(bytes: Uint8Array): string | undefined {
  const answered = answerV6(bytes, lease);
  return answered && toHex(answered);
}

describe('a DHCPv6 exchange', () => {
  it.each([
    ['SOLICIT by ADVERTISE', message('01', CLIENT, ia(ID), ORO, ELAPSED), `02${TRANSACTION}${CLIENT}${SERVER}${OURS}${SETTINGS}`],
    [
      'SOLICIT with rapid commit by REPLY',
      message('01', CLIENT, RAPID, ia(ID)),
      `07${TRANSACTION}${CLIENT}${SERVER}${RAPID}${OURS}${SETTINGS}`,
    ],
    ['SOLICIT without IA', message('01', CLIENT), `02${TRANSACTION}${CLIENT}${SERVER}${SETTINGS}`],
    [
      'REQUEST by REPLY',
      message('03', CLIENT, SERVER, ia(ID, address(OWN, '00000000')), ORO),
      `07${TRANSACTION}${CLIENT}${SERVER}${OURS}${SETTINGS}`,
    ],
    ['RENEW', message('05', CLIENT, SERVER, OURS), `07${TRANSACTION}${CLIENT}${SERVER}${OURS}${SETTINGS}`],
    [
      'REBIND, taking back an address that is not ours',
      message('06', CLIENT, ia(ID, address(FOREIGN, LEASE))),
      `07${TRANSACTION}${CLIENT}${SERVER}${ia(ID, address(OWN, LEASE), address(FOREIGN, '00000000'))}${SETTINGS}`,
    ],
    [
      'REQUEST of two addresses with the one that there is',
      message('03', CLIENT, SERVER, ia(ID), ia('00000006')),
      `07${TRANSACTION}${CLIENT}${SERVER}${OURS}${ia('00000006', status('0002'))}${SETTINGS}`,
    ],
    ['CONFIRM of our address', message('04', CLIENT, OURS), `07${TRANSACTION}${CLIENT}${SERVER}${status('0000')}`],
    [
      'CONFIRM of another address',
      message('04', CLIENT, ia(ID, address(FOREIGN, LEASE))),
      `07${TRANSACTION}${CLIENT}${SERVER}${status('0004')}`,
    ],
    ['INFORMATION-REQUEST', message('0b', CLIENT, ORO), `07${TRANSACTION}${CLIENT}${SERVER}${SETTINGS}`],
    ['INFORMATION-REQUEST of a stranger', message('0b', ORO), `07${TRANSACTION}${SERVER}${SETTINGS}`],
    ['RELEASE', message('08', CLIENT, SERVER, OURS), `07${TRANSACTION}${CLIENT}${SERVER}${status('0000')}`],
    ['DECLINE', message('09', CLIENT, SERVER, OURS), `07${TRANSACTION}${CLIENT}${SERVER}${status('0000')}`],
  ])('answers %s', (_, bytes, expected) => expect(reply(bytes)).toBe(expected));

  it.each([
    ['a client without identity', message('01', ia(ID))],
    ['REQUEST to another server', message('03', CLIENT, OTHER_SERVER, ia(ID))],
    ['CONFIRM without addresses', message('04', CLIENT, ia(ID))],
    ['INFORMATION-REQUEST that wants an address', message('0b', CLIENT, ia(ID))],
    ['an IA that is too short', message('01', CLIENT, '0003000400000005')],
    ['an option that is longer than the message', message('01', CLIENT, '00030010ff')],
    ['half an option header', message('01', CLIENT, '0003')],
    ['a relayed message', message('0c', CLIENT, ia(ID))],
    ['ADVERTISE', message('02', CLIENT, SERVER, OURS)],
    ['three bytes', fromHex('01c0ff')],
    ['nothing', new Uint8Array()],
  ])('says nothing to %s', (_, bytes) => expect(reply(bytes)).toBeUndefined());

  it('is not broken by one flipped byte', () => {
    const valid = message('03', CLIENT, SERVER, ia(ID, address(OWN, LEASE)), ORO, ELAPSED);
    fc.assert(
      fc.property(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 }), (at, value) => {
        const bytes = valid.slice();
        bytes[at] = value;
        expect(() => answerV6(bytes, lease)).not.toThrow();
      }),
    );
  });
});

describe('the router advertisement', () => {
  it('says: I am your router, get addresses and settings by DHCPv6, this prefix is on the link, this is its MTU', () => {
    expect(toHex(routerAdvertisement({ ...v6Router(file), lifetimeSeconds: 9000 }))).toBe(
      // Type 134, code, checksum (the kernel's); hop limit 64; managed + other; 9000 s; no reachable and retransmission times.
      '86000000' +
        '40c02328' +
        '0000000000000000' +
        // Prefix information: /120, on link but not for making addresses, for ever.
        '03047880ffffffffffffffff00000000' +
        'fd100000000200000000000000000000' +
        '05010000000005aa' +
        '0101020000000000',
    );
  });
  it.each([
    ['a solicitation', '8500000000000000', true],
    ['one with the guest’s MAC', '850000000000000001010 2aabbccddee', true],
    ['a solicitation that is cut short', '85000000000000', false],
    ['another code', '8501000000000000', false],
    ['an advertisement', '8600000000000000', false],
    ['nothing', '', false],
  ])('is sent on %s: %s', (_, bytes, expected) => expect(isSolicitation(fromHex(bytes))).toBe(expected));
});
