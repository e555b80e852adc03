// Work that ends is untouched; work that does not is broken off.
import { describe, expect, it } from 'vitest';
import { KvError } from './errors.js';
import { withinTime } from './time-limit.js';

describe('withinTime', () => {
  it('gives back what the work gives back', () => {
    const value = { a: [1] };
    expect(withinTime(1_000, () => value)).toBe(value);
  });

  it('lets errors through as they are', () => {
    const error = new KvError('Invalid', 'wrong');
    expect(() =>
      withinTime(1_000, () => {
        throw error;
      }),
    ).toThrow(error);
  });

  it.each<[string, () => unknown]>([
    [
      'a loop',
      () => {
        for (;;);
      },
    ],
    ['a regular expression that backtracks', () => /^(a+)+$/.test(`${'a'.repeat(40)}b`)],
  ])('breaks off %s', (_, work) => {
    expect(() => withinTime(50, work)).toThrow('it took longer than 0.05 s');
  });
});
