import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../../api/index.js';
import type { LauncherInterface } from '../caches.js';
import { formatIp, ipBytes, ipFromBytes, parseIp } from '../ip.js';
import { concat, toHex } from './bytes.js';
import { parseResolvConf } from './resolv-conf.js';
import { v4Lease } from './v4-lease.js';
import { OPTION, type V4Settings, v4Options } from './v4-options.js';
import { BROADCAST_FLAG, decodeV4, encodeV4, type V4Packet } from './v4-packet.js';
import { answerV4, MESSAGE, parameterList, v4ClientMessage } from './v4-server.js';

const settings: V4Settings = { mask: '255.255.255.0', router: '10.0.2.1', dns: ['10.96.0.10'], search: [], hostname: 'testvmi', mtu: 1450 };
const hexOf = (over: Partial<V4Settings>, code: number): string | undefined => {
  const bytes = v4Options({ ...settings, ...over }).get(code);
  return bytes && toHex(bytes);
};

describe('DHCPv4 options', () => {
  it.each([
    ['netmask', {}, OPTION.mask, 'ffffff00'],
    ['router', {}, OPTION.router, '0a000201'],
    ['no router', { router: '' }, OPTION.router, undefined],
    ['name servers, IPv4 only', { dns: ['10.96.0.10', 'fd00::a', '1.1.1.1'] }, OPTION.dns, '0a60000a01010101'],
    ['host name', {}, OPTION.hostname, '74657374766d69'],
    ['domain: the longest search domain', { search: ['a.b', 'c.a.b'] }, OPTION.domain, '632e612e62'],
    ['no domain without search domains', {}, OPTION.domain, undefined],
    ['MTU', { mtu: 9000 }, OPTION.mtu, '2328'],
    ['search list as DNS names', { search: ['_x.a', 'b'] }, OPTION.search, '025f78016100016200'],
    [
      'routes, the default one last',
      {
        routes: [
          { destination: '0.0.0.0/0', gateway: '10.1.2.3' },
          { destination: '172.16.0.0/12', gateway: '10.1.2.4' },
          { destination: '169.254.1.1/32' },
        ],
      },
      OPTION.routes,
      '0cac100a01020420a9fe01010000000000' + '0a010203',
    ],
    ['a route without its host bits', { routes: [{ destination: '172.17.3.4/12', gateway: '10.1.2.4' }] }, OPTION.routes, '0cac100a010204'],
    ['a final dot as one more name', { search: ['a.b.'] }, OPTION.search, '016101620000'],
    ['NTP servers', { custom: { ntpServers: ['1.2.3.4', '5.6.7.8'] } }, OPTION.ntp, '0102030405060708'],
    ['TFTP server', { custom: { tftpServerName: 'tftp' } }, OPTION.tftpServer, '74667470'],
    ['boot file', { custom: { bootFileName: 'b' } }, OPTION.bootFile, '62'],
    ['boot file to the letter', { custom: { bootFileName: ' b ' } }, OPTION.bootFile, '206220'],
    ['NTP servers in IPv6’s words', { custom: { ntpServers: ['::ffff:192.0.2.1'] } }, OPTION.ntp, 'c0000201'],
    ['private option', { custom: { privateOptions: [{ option: 240, value: 'x' }] } }, 240, '78'],
    ['no private option outside 224…254', { custom: { privateOptions: [{ option: 12, value: 'x' }] } }, OPTION.hostname, '74657374766d69'],
  ])('%s', (_, over, code, hex) => expect(hexOf(over, code)).toBe(hex));

  it.each([
    ['a search domain that starts with a hyphen', { search: ['-bad-.com'] }, "Search domain is not valid: '-bad-.com'"],
    ['an upper-case search domain', { search: ['Example.com'] }, "Search domain is not valid: 'Example.com'"],
    ['a number for a top-level domain', { search: ['a.1'] }, "Search domain is not valid: 'a.1'"],
    ['a label that is too long', { search: [`${'a'.repeat(64)}.com`] }, 'Search domain is not valid'],
    [
      'too much to search',
      { search: Array(5).fill(`${'a'.repeat(60)}.com`) },
      'Search domains length exceeded allowable size: was 330 long',
    ],
    ['an NTP server by name', { custom: { ntpServers: ['ntp.example'] } }, 'Could not parse NTP server as IPv4 address: ntp.example'],
  ])('refuses %s', (_, over, message) => expect(() => v4Options({ ...settings, ...over })).toThrow(message));
});

const ip4 = fc.uint8Array({ minLength: 4, maxLength: 4 }).map(ipFromBytes);
const packets: fc.Arbitrary<V4Packet> = fc.record({
  op: fc.constantFrom(1, 2),
  xid: fc.nat({ max: 0xffffffff }),
  secs: fc.nat({ max: 0xffff }),
  flags: fc.constantFrom(0, BROADCAST_FLAG),
  ciaddr: ip4,
  yiaddr: ip4,
  siaddr: ip4,
  giaddr: ip4,
  chaddr: fc.uint8Array({ minLength: 6, maxLength: 6 }),
  options: fc
    .array(fc.tuple(fc.integer({ min: 1, max: 254 }), fc.uint8Array({ maxLength: 700 })), { maxLength: 12 })
    .map((list) => new Map(list)),
});

describe('DHCPv4 packets', () => {
  it('survive encoding, options longer than one chunk included', () => {
    fc.assert(fc.property(packets, (packet) => void expect(decodeV4(encodeV4(packet))).toEqual(packet)));
  });
  it('are never shorter than BOOTP allows', () => {
    fc.assert(fc.property(packets, (packet) => void expect(encodeV4(packet).length).toBeGreaterThanOrEqual(300)));
  });
  it('never break the reader, whatever arrives', () => {
    fc.assert(
      fc.property(packets, fc.nat(), fc.uint8Array({ maxLength: 40 }), (packet, cut, noise) => {
        const bytes = encodeV4(packet);
        const broken = concat(bytes.subarray(0, cut % bytes.length), noise);
        expect(() => decodeV4(broken)).not.toThrow();
      }),
    );
  });
});

const vmi = {
  metadata: { name: 'testvmi', namespace: 'ns' },
  spec: { domain: { devices: { interfaces: [{ name: 'default', dhcpOptions: { bootFileName: 'pxe' } }] } } },
} as unknown as VirtualMachineInstance;
const file: LauncherInterface & { dhcp4: NonNullable<LauncherInterface['dhcp4']> } = {
  network: 'default',
  podInterface: 'eth0',
  tap: 'tap0',
  bridge: 'k6t-eth0',
  mac: '02:aa:bb:cc:dd:ee',
  mtu: 1450,
  dhcp4: { server: '10.0.2.1', client: '10.0.2.2', prefix: 24, router: '10.0.2.1' },
};
const resolv = parseResolvConf('# made by kubelet\nsearch ns.svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n');
const lease = v4Lease(vmi, file, resolv);
const mac = Uint8Array.of(0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee);
const ipOf = (text: string) => ipBytes(parseIp(text) ?? { family: 4, value: 0n });

function exchange(type: number, extra: [number, Uint8Array][] = [], from = mac) {
  const answer = answerV4(v4ClientMessage(type, from, new Map(extra), 77), lease);
  const packet = answer && decodeV4(answer.packet);
  return packet && { type: packet.options.get(OPTION.messageType)?.[0], xid: packet.xid, address: formatIp(packet.yiaddr), to: answer.to };
}

describe('the DHCPv4 server', () => {
  it.each([
    ['DISCOVER', MESSAGE.discover, [], { type: MESSAGE.offer, xid: 77, address: '10.0.2.2', to: undefined }],
    ['REQUEST', MESSAGE.request, [], { type: MESSAGE.ack, xid: 77, address: '10.0.2.2', to: undefined }],
    [
      'REQUEST for another address',
      MESSAGE.request,
      [[OPTION.requestedAddress, ipOf('10.0.2.9')]],
      { type: MESSAGE.nak, xid: 77, address: '0.0.0.0', to: undefined },
    ],
    ['REQUEST to another server', MESSAGE.request, [[OPTION.serverId, ipOf('10.0.2.9')]], undefined],
    ['INFORM', MESSAGE.inform, [], { type: MESSAGE.ack, xid: 77, address: '0.0.0.0', to: undefined }],
    ['RELEASE', MESSAGE.release, [], undefined],
  ] as [string, number, [number, Uint8Array][], unknown][])('answers %s', (_, type, extra, expected) =>
    expect(exchange(type, extra)).toEqual(expected),
  );

  it('answers only the guest', () => expect(exchange(MESSAGE.discover, [], Uint8Array.of(2, 0, 0, 0, 0, 9))).toBeUndefined());
  it('answers no garbage and no replies', () => {
    expect(answerV4(new Uint8Array(12), lease)).toBeUndefined();
    expect(answerV4(answerV4(v4ClientMessage(MESSAGE.discover, mac), lease)?.packet ?? new Uint8Array(), lease)).toBeUndefined();
  });
  it('sends every option, those asked for first', () => {
    const asked: [number, Uint8Array][] = [[OPTION.parameterList, parameterList(OPTION.mtu, OPTION.router)]];
    const answer = answerV4(v4ClientMessage(MESSAGE.request, mac, new Map(asked)), lease);
    const options = decodeV4(answer?.packet ?? new Uint8Array())?.options ?? new Map<number, Uint8Array>();
    expect([...options.keys()]).toEqual([53, 54, 51, OPTION.mtu, OPTION.router, 1, 6, 12, 15, 119, 67]);
    expect(toHex(options.get(OPTION.leaseTime) ?? new Uint8Array())).toBe('05250a80');
  });
  it.each([
    ['to the guest’s own address where the pod does not have it too', '10.0.2.1', 24, '10.0.2.2'],
    ['to everybody under a bridge binding', '169.254.75.10', 24, undefined],
  ])('answers a renewal %s', (_, server, prefix, to) => {
    const renewing = v4Lease(vmi, { ...file, dhcp4: { ...file.dhcp4, server, prefix } }, resolv);
    const request = decodeV4(v4ClientMessage(MESSAGE.request, mac));
    if (!request) throw new Error('the client message must decode');
    const answer = answerV4(encodeV4({ ...request, flags: 0, ciaddr: renewing.client }), renewing);
    expect(answer?.to && formatIp(answer.to)).toBe(to);
  });
});
