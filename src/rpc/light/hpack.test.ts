import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { HpackReader, unpackText, writeFields } from './hpack.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const read = (...blocks: string[]): unknown[] => {
  const reader = new HpackReader();
  return blocks.map((block) => Object.fromEntries(reader.read(hex(block))));
};

describe('packed texts', () => {
  // The examples of RFC 7541, appendix C.
  it.each([
    ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
    ['a8eb10649cbf', 'no-cache'],
    ['25a849e95ba97d7f', 'custom-key'],
    ['d07abe941054d444a8200595040b8166e082a62d1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['', ''],
  ])('%s', (packed, text) => {
    expect(unpackText(hex(packed))).toBe(text);
  });

  it.each([
    ['more than a byte of filling', 'f1e3c2e5f23a6ba0ab90f4ffff'],
    ['filled up with zeros', 'f1e3c2e5f23a6ba0ab90f400'],
    ['the mark of the end', 'ffffffff'],
  ])('refuses %s', (_title, packed) => {
    expect(() => unpackText(hex(packed))).toThrow('packed text');
  });
});

describe('header blocks', () => {
  it('refer to earlier ones, packed or not', () => {
    const first = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'www.example.com' };
    const second = { ...first, 'cache-control': 'no-cache' };
    const third = {
      ':method': 'GET',
      ':scheme': 'https',
      ':path': '/index.html',
      ':authority': 'www.example.com',
      'custom-key': 'custom-value',
    };
    const expected = [first, second, third];
    expect(
      read(
        '828684410f7777772e6578616d706c652e636f6d',
        '828684be58086e6f2d6361636865',
        '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
      ),
    ).toEqual(expected);
    expect(
      read('828684418cf1e3c2e5f23a6ba0ab90f4ff', '828684be5886a8eb10649cbf', '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf'),
    ).toEqual(expected);
  });

  it('forget the oldest when the table is full', () => {
    const reader = new HpackReader();
    const large = 'x'.repeat(3000);
    const remembered = (name: string): Buffer => {
      const plain = writeFields({ [name]: large });
      return Buffer.concat([Buffer.from([0x40]), plain.subarray(1)]);
    };
    reader.read(remembered('first'));
    expect(reader.read(hex('be'))).toEqual([['first', large]]);
    reader.read(remembered('second'));
    expect(reader.read(hex('be'))).toEqual([['second', large]]);
    expect(() => reader.read(hex('bf'))).toThrow('a reference to field 63');
    // Made smaller, and as large as it was again.
    expect(reader.read(hex('20 3fe11f'))).toEqual([]);
    expect(() => reader.read(hex('be'))).toThrow('a reference to field 62');
  });

  it('that we write are read again, however long', () => {
    const fields = { ':path': '/a.B/c', 'grpc-message': 'é%20'.repeat(200), empty: '' };
    expect(Object.fromEntries(new HpackReader().read(writeFields(fields)))).toEqual(fields);
  });

  it.each([
    ['field 0', '80'],
    ['a table larger than ours', '3fe21f'],
    ['a length beyond the end', '000a61'],
    ['nothing after a name', '00'],
    ['a number without end', 'ffffffffffffff'],
  ])('refuses %s', (_title, block) => {
    expect(() => new HpackReader().read(hex(block))).toThrow('the peer sent a header block with');
  });

  it('damaged in any way are read or refused, and nothing else happens', () => {
    const block = hex('828684418cf1e3c2e5f23a6ba0ab90f4ff5886a8eb10649cbf408825a849e95ba97d7f8925a849e95bb8e8b4bf');
    for (let at = 0; at < block.length; at++) {
      for (const flip of [1, 16, 64, 128, 255]) {
        const damaged = Buffer.from(block);
        damaged[at] = (damaged[at] ?? 0) ^ flip;
        try {
          new HpackReader().read(damaged);
        } catch (err) {
          expect(err).toMatchObject({ code: 'Invalid' });
        }
      }
    }
  });
});
