import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatIp, ipBytes, ipFromBytes, isGlobalUnicast, maskOf, networkAddress, parseCidr, parseIp } from './ip.js';

describe('IP addresses', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::', '::'],
    ['::1', '::1'],
    ['fd10:0:2::', 'fd10:0:2::'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['::ffff:1.2.3.4', '::ffff:102:304'],
  ])('prints %s as %s', (text, expected) => {
    const ip = parseIp(text);
    expect(ip && formatIp(ip)).toBe(expected);
  });
  it.each(['', 'zzz', '1.2.3', '1.2.3.4.5', '1::2::3', 'fe80::1%eth0', '300.1.1.1'])('refuses %s', (text) =>
    expect(parseIp(text)).toBeUndefined(),
  );
  it('survives bytes and text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 })), (bytes) => {
        const ip = ipFromBytes(bytes);
        expect(ipBytes(ip)).toEqual(bytes);
        expect(parseIp(formatIp(ip))).toEqual(ip);
      }),
    );
  });
  it.each([
    ['10.222.222.1', true],
    ['2001::1', true],
    ['fd00::1', true],
    ['127.0.0.1', false],
    ['169.254.1.1', false],
    ['fe80::1', false],
    ['::1', false],
    ['224.0.0.1', false],
    ['0.0.0.0', false],
    ['', false],
  ])('%s can be reached from elsewhere: %s', (text, expected) => expect(isGlobalUnicast(text)).toBe(expected));
  it.each([
    [24, '255.255.255.0'],
    [30, '255.255.255.252'],
    [32, '255.255.255.255'],
    [0, '0.0.0.0'],
  ])('mask of /%i', (prefix, mask) => expect(maskOf(prefix)).toBe(mask));
  it('finds the network of a CIDR', () => expect(formatIp(networkAddress(parseCidr('fd10:0:2::99/120')))).toBe('fd10:0:2::'));
});
