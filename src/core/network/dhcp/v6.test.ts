// The DHCPv6 codec and server under whatever may come; v6-bytes.test.ts holds the exchanges.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeV6, encodeV6 } from './v6-packet.js';
import { answerV6 } from './v6-server.js';

const lease = { client: { family: 6, value: 2n }, serverMac: Uint8Array.of(2, 0, 0, 0, 0, 0), dns: ['fd00::a'], search: ['a.b'] } as const;

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
});
