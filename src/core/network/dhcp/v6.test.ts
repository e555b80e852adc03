import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCidr, parseIp } from '../ip.js';
import { concat, toHex, u16, u32 } from './bytes.js';
import { icmp6Checksum, routerAdvertisement } from './router-advertisement.js';
import { decodeV6, encodeV6, V6_MESSAGE, V6_OPTION, type V6Option, v6Option } from './v6-packet.js';
import { answerV6, serverDuid, type V6Lease } from './v6-server.js';

const ip = (text: string) => {
  const parsed = parseIp(text);
  if (!parsed) throw new Error(`${text} is no address`);
  return parsed;
};
const lease: V6Lease = {
  client: ip('fd10:0:2::2'),
  serverMac: Uint8Array.of(2, 0, 0, 0, 0, 0),
  dns: ['10.0.0.1', 'fd00::a'],
  search: ['a.b'],
};
const client: V6Option = { code: V6_OPTION.clientId, value: Uint8Array.of(0, 3, 0, 1, 9, 9) };
const ask: V6Option = { code: V6_OPTION.iaNa, value: concat(u32(5), u32(0), u32(0)) };
const transaction = Uint8Array.of(1, 2, 3);

function exchange(type: number, ...options: V6Option[]) {
  const bytes = answerV6(encodeV6({ type, transaction, options }), lease);
  return bytes && decodeV6(bytes);
}

describe('DHCPv6', () => {
  it('survives encoding', () => {
    const options = fc.array(fc.record({ code: fc.nat({ max: 0xffff }), value: fc.uint8Array({ maxLength: 40 }) }));
    fc.assert(
      fc.property(fc.nat({ max: 255 }), fc.uint8Array({ minLength: 3, maxLength: 3 }), options, (type, id, list) => {
        expect(decodeV6(encodeV6({ type, transaction: id, options: list }))).toEqual({ type, transaction: id, options: list });
      }),
    );
  });
  it('never breaks on what arrives', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void expect(() => answerV6(bytes, lease)).not.toThrow()));
  });
  it.each([
    ['solicit', V6_MESSAGE.solicit, V6_MESSAGE.advertise, true],
    ['request', V6_MESSAGE.request, V6_MESSAGE.reply, true],
    ['renew', V6_MESSAGE.renew, V6_MESSAGE.reply, true],
    ['information request', V6_MESSAGE.informationRequest, V6_MESSAGE.reply, false],
    ['release', V6_MESSAGE.release, V6_MESSAGE.reply, false],
  ])('answers %s', (_, type, answer, leased) => {
    const reply = exchange(type, client, ask);
    expect(reply?.type).toBe(answer);
    expect(reply?.transaction).toEqual(transaction);
    const address = reply && v6Option(reply, V6_OPTION.iaNa);
    // IAID, no renewal times, one address option: fd10:0:2::2, preferred and valid without end.
    expect(address && toHex(address)).toBe(
      leased ? '000000050000000000000000' + '00050018' + 'fd100000000200000000000000000002' + 'ffffffffffffffff' : undefined,
    );
  });
  it('gives IPv6 name servers only, and the search list', () => {
    const reply = exchange(V6_MESSAGE.request, client);
    expect(reply && toHex(v6Option(reply, V6_OPTION.dns) ?? new Uint8Array())).toBe('fd00000000000000000000000000000a');
    expect(reply && toHex(v6Option(reply, V6_OPTION.search) ?? new Uint8Array())).toBe('0161016200');
  });
  it('commits at once when asked to', () => {
    expect(exchange(V6_MESSAGE.solicit, client, ask, { code: V6_OPTION.rapidCommit, value: new Uint8Array() })?.type).toBe(
      V6_MESSAGE.reply,
    );
  });
  it.each([
    ['a client without identity', [ask]],
    ['a message to another server', [client, { code: V6_OPTION.serverId, value: serverDuid(Uint8Array.of(1, 1, 1, 1, 1, 1)) }]],
  ])('ignores %s', (_, options) => expect(exchange(V6_MESSAGE.request, ...options)).toBeUndefined());
});

describe('the router advertisement', () => {
  const source = ip('fe80::1');
  const all = ip('ff02::1');
  const bytes = routerAdvertisement(
    { routerMac: Uint8Array.of(2, 0, 0, 0, 0, 0), onLink: parseCidr('fd10:0:2::1/120'), mtu: 1450, lifetimeSeconds: 1800 },
    source,
    all,
  );
  it('says: managed addresses, this prefix is on the link, this MTU, this router', () => {
    expect(toHex(bytes.subarray(4))).toBe(
      '40c00708' +
        '0000000000000000' +
        '03047880ffffffffffffffff00000000' +
        'fd100000000200000000000000000000' +
        '05010000000005aa' +
        '0101020000000000',
    );
  });
  it('carries a checksum that makes the whole sum up to nothing', () => {
    expect(icmp6Checksum(source, all, bytes)).toBe(0);
    expect(bytes.subarray(2, 4)).not.toEqual(u16(0));
  });
});
