// DHCPv4 exchanges byte for byte. Both sides are written down by hand from RFC 2131, 2132, 3397 and 3442; our encoder makes none of them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../../api/index.js';
import type { LauncherInterface } from '../caches.js';
import { formatIp } from '../ip.js';
import { toHex } from './bytes.js';
import { fromHex } from './fixtures.js';
import { v4Lease } from './v4-lease.js';
import { answerV4 } from './v4-server.js';

const vmi = {
  metadata: { name: 'web', namespace: 'ns' },
  spec: {
    subdomain: 'db',
    domain: {
      devices: {
        interfaces: [
          {
            name: 'default',
            dhcpOptions: {
              bootFileName: 'pxe.0',
              tftpServerName: 'tftp',
              ntpServers: ['10.9.9.9'],
              privateOptions: [
                { option: 224, value: 'a' },
                { option: 254, value: 'zz' },
              ],
            },
          },
        ],
      },
    },
  },
} as unknown as VirtualMachineInstance;
const file: LauncherInterface & { dhcp4: NonNullable<LauncherInterface['dhcp4']> } = {
  network: 'default',
  podInterface: 'eth0',
  tap: 'tap0',
  bridge: 'k6t-eth0',
  mac: '02:aa:bb:cc:dd:ee',
  mtu: 1450,
  dhcp4: {
    server: '10.0.2.1',
    client: '10.0.2.2',
    prefix: 24,
    router: '10.0.2.1',
    routes: [{ destination: '0.0.0.0/0', gateway: '10.0.2.1' }, { destination: '172.16.0.0/12' }],
  },
};
const lease = v4Lease(vmi, file, { nameservers: ['10.96.0.10', 'fd00::a'], search: ['ns.svc.cluster.local'] });

const ZEROS_10 = '00'.repeat(10);
/** sname and file. */
const BOOTP_TEXTS = '00'.repeat(64 + 128);
const COOKIE = '63825363';
const CHADDR = `02aabbccddee${ZEROS_10}`;

interface Head {
  op?: '01' | '02';
  flags?: string;
  ciaddr?: string;
  yiaddr?: string;
  siaddr?: string;
  giaddr?: string;
  chaddr?: string;
}

/** RFC 2131, figure 1. xid is 0x0badcafe; the server's secs are 0. */
function message(head: Head, secs: string, options: readonly string[]): string {
  const { op = '01', flags = '8000', ciaddr, yiaddr, siaddr, giaddr, chaddr = CHADDR } = head;
  const zero = '00000000';
  const addresses = [ciaddr ?? zero, yiaddr ?? zero, siaddr ?? zero, giaddr ?? zero].join('');
  return [op, '010600', '0badcafe', secs, flags, addresses, chaddr, BOOTP_TEXTS, COOKIE, ...options].join('');
}

const ask = (head: Head, ...options: string[]): Uint8Array => fromHex(message(head, '0003', [...options, 'ff']));

/** The server pads to 300 bytes, which BOOTP relays insist on. */
function answer(head: Head, ...options: string[]): string {
  const hex = message({ op: '02', ...head }, '0000', [...options, 'ff']);
  return hex.padEnd(600, '0');
}

const SERVER = '36040a000201';
/** 999 days: 86313600 seconds. */
const TIME = '330405250a80';
const SETTINGS = {
  mask: '0104ffffff00',
  router: '03040a000201',
  dns: '06040a60000a',
  hostname: '0c03776562',
  // db.ns.svc.cluster.local
  domain: '0f1764622e6e732e7376632e636c75737465722e6c6f63616c',
  mtu: '1a0205aa',
  // 2db2ns3svc7cluster5local0 and 2ns3svc7cluster5local0, without compression.
  search: '772f' + '026462026e7303737663' + '07636c7573746572056c6f63616c00' + '026e7303737663' + '07636c7573746572056c6f63616c00',
  // 172.16/12 directly, then the default route.
  routes: '790c' + '0cac1000000000' + '000a000201',
  tftp: '420474667470',
  bootFile: '43057078652e30',
  ntp: '2a040a090909',
  p224: 'e00161',
  p254: 'fe027a7a',
};
const ALL = Object.values(SETTINGS);

const DISCOVER = '350101';
const REQUEST = '350103';
const OFFER = '350102';
const ACK = '350105';
const wants = (address: string) => `3204${address}`;
const SERVER_ID = SERVER;

function reply(bytes: Uint8Array): string | undefined {
  const answered = answerV4(bytes, lease);
  return answered && toHex(answered.packet);
}

describe('a DHCPv4 exchange', () => {
  it('DISCOVER is answered by OFFER with everything', () => {
    expect(reply(ask({}, DISCOVER))).toBe(answer({ yiaddr: '0a000202', siaddr: '0a000201' }, OFFER, SERVER, TIME, ...ALL));
  });
  it('REQUEST of the offer is answered by ACK', () => {
    expect(reply(ask({}, REQUEST, wants('0a000202'), SERVER_ID))).toBe(
      answer({ yiaddr: '0a000202', siaddr: '0a000201' }, ACK, SERVER, TIME, ...ALL),
    );
  });
  it('the options that the client lists come first, in its order', () => {
    const { mtu, search, mask, ...rest } = SETTINGS;
    // Client id, vendor class and maximum size mean nothing to us. 252 is asked for in vain.
    const noise = ['3d0701aabbccddeeff', '3c026463', '390205dc'];
    expect(reply(ask({}, DISCOVER, ...noise, '37041a77fc01'))).toBe(
      answer({ yiaddr: '0a000202', siaddr: '0a000201' }, OFFER, SERVER, TIME, mtu, search, mask, ...Object.values(rest)),
    );
  });
  it('a renewal goes to the guest’s address and keeps its flags', () => {
    const renewal = ask({ flags: '0000', ciaddr: '0a000202' }, REQUEST);
    expect(reply(renewal)).toBe(answer({ flags: '0000', yiaddr: '0a000202', siaddr: '0a000201' }, ACK, SERVER, TIME, ...ALL));
    const to = answerV4(renewal, lease)?.to;
    expect(to && formatIp(to)).toBe('10.0.2.2');
  });
  it.each([
    ['another address', ask({}, REQUEST, wants('0a000209'))],
    ['to keep an address of another network', ask({ ciaddr: 'c0a80005' }, REQUEST)],
  ])('REQUEST for %s is answered by a broadcast NAK', (_, bytes) => {
    const text = Buffer.from('this address is not the one of this VM').toString('hex');
    const length = (text.length / 2).toString(16);
    expect(reply(bytes)).toBe(answer({ flags: '8000' }, '350106', SERVER, `38${length}${text}`));
    expect(answerV4(bytes, lease)?.to).toBeUndefined();
  });
  it('INFORM is answered by an ACK without address and lease', () => {
    const inform = ask({ flags: '0000', ciaddr: '0a000202' }, '350108');
    expect(reply(inform)).toBe(answer({ flags: '0000', ciaddr: '0a000202', siaddr: '0a000201' }, ACK, SERVER, ...ALL));
  });
  it('a relay’s address is given back', () => {
    expect(reply(ask({ giaddr: '0a000207' }, DISCOVER))?.slice(48, 56)).toBe('0a000207');
  });
  it.each([
    ['another client', ask({ chaddr: `02aabbccddef${ZEROS_10}` }, DISCOVER)],
    ['a REQUEST to another server', ask({}, REQUEST, wants('0a000202'), '36040a000209')],
    ['DECLINE', ask({}, '350104', wants('0a000202'), SERVER_ID)],
    ['RELEASE', ask({ ciaddr: '0a000202' }, '350107', SERVER_ID)],
    ['an OFFER', ask({}, OFFER)],
    ['BOOTP, which has no message type', ask({})],
    ['a reply', fromHex(message({ op: '02' }, '0000', [DISCOVER, 'ff']))],
    ['another cookie', fromHex(message({}, '0000', [DISCOVER, 'ff']).replace(COOKIE, '63825362'))],
    ['an option that is longer than the packet', fromHex(message({}, '0000', [DISCOVER, '37ff01']))],
    ['a hardware address of 17 bytes', fromHex(message({}, '0000', [DISCOVER, 'ff']).replace(/^010106/, '010111'))],
    ['a header without options', fromHex(message({}, '0000', []).slice(0, 472))],
  ])('nothing is said to %s', (_, bytes) => expect(reply(bytes)).toBeUndefined());
});

describe('whatever a guest sends', () => {
  const valid = ask({}, REQUEST, wants('0a000202'), SERVER_ID, '37041a77fc01');
  it('one flipped byte breaks nothing', () => {
    fc.assert(
      fc.property(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 }), (at, value) => {
        const bytes = valid.slice();
        bytes[at] = value;
        expect(() => answerV4(bytes, lease)).not.toThrow();
      }),
    );
  });
  it('any tail of options breaks nothing, and an answer fits into a datagram', () => {
    const head = valid.subarray(0, 240);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (tail) => {
        const answered = answerV4(new Uint8Array([...head, ...tail]), lease);
        expect(answered?.packet.length ?? 0).toBeLessThan(1400);
      }),
    );
  });
});
