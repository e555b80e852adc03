// Device numbers as stat(2) packs them.
import { describe, expect, it } from 'vitest';
import { blockDeviceBytes, deviceNumber } from './block-device.js';

describe('deviceNumber', () => {
  it.each([
    ['a small minor', 0x0705, { major: 7, minor: 5 }],
    // gnu_dev_makedev(259, 0x12345)
    ['a large minor', (0x12345 & 0xff) | (259 << 8) | ((0x12345 & 0xfff00) << 12), { major: 259, minor: 0x12345 }],
  ])('%s', (_, rdev, expected) => {
    expect(deviceNumber(rdev)).toEqual(expected);
  });
});

describe('blockDeviceBytes', () => {
  it('knows none of a file', async () => {
    expect(await blockDeviceBytes(import.meta.filename)).toBeUndefined();
  });
});
