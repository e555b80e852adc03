import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  isQuantity,
  isZeroQuantity,
  parseQuantity,
  quantityMilli,
  quantityOf,
  quantityOfMilli,
  quantityValue,
  subtractQuantities,
} from './quantity.js';

describe('canonical form', () => {
  it.each([
    ['0', '0'],
    ['0Ki', '0'],
    ['0.0', '0'],
    ['1', '1'],
    [2, '2'],
    [1.5, '1500m'],
    ['1.500', '1.500'],
    ['0.500', '500m'],
    ['100m', '100m'],
    ['1000m', '1'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['1024Mi', '1Gi'],
    ['1025Mi', '1025Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['0.0001Ki', '102400u'],
    ['1000k', '1M'],
    ['12000000', '12M'],
    ['1e3', '1e3'],
    ['10e3', '10e3'],
    ['1000e3', '1e6'],
    ['1E', '1E'],
    ['1000E', '1e21'],
    ['-5', '-5'],
    ['-1.5', '-1500m'],
    ['0.1n', '1n'],
    ['100Ei', '9223372036854775807'],
    [' 8Gi ', '8Gi'],
    ['.5', '500m'],
    ['5.', '5.'],
  ])('%s is written %s', (given, want) => {
    expect(canonicalQuantity(given)).toBe(want);
  });

  it.each(['', ' ', 'abc', '1KB', '1i', 'Ki', '.', '1 Gi', '--1', '1e', '1e999', '0x10', '1,5', 'NaN'])('%j is refused', (text) => {
    expect(isQuantity(text)).toBe(false);
    expect(() => parseQuantity(text)).toThrow(/is not a quantity/);
  });
});

describe('values', () => {
  it.each([
    ['1Gi', 1_073_741_824n, 1_073_741_824_000n],
    ['100m', 1n, 100n],
    ['1.5', 2n, 1500n],
    ['-1.5', -2n, -1500n],
    ['1u', 1n, 1n],
    ['2k', 2000n, 2_000_000n],
  ])('%s', (text, units, milli) => {
    expect(quantityValue(text)).toBe(units);
    expect(quantityMilli(text)).toBe(milli);
  });

  it('compares across formats', () => {
    expect(compareQuantities('1Gi', '1024Mi')).toBe(0);
    expect(compareQuantities('1G', '1Gi')).toBe(-1);
    expect(compareQuantities('1', '999m')).toBe(1);
    expect(isZeroQuantity('0Mi')).toBe(true);
  });

  it.each([
    ['1Gi', '512Mi', '1536Mi'],
    ['0', '512Mi', '512Mi'],
    ['100m', '900m', '1'],
    ['1Gi', '1', '1073741825'],
    ['1Gi', '100m', '1073741824100m'],
  ])('%s + %s = %s', (a, b, want) => {
    expect(addQuantities(a, b)).toBe(want);
  });

  it('subtracts', () => {
    expect(subtractQuantities('1Gi', '512Mi')).toBe('512Mi');
    expect(subtractQuantities('1', '1')).toBe('0');
  });
});

describe('properties', () => {
  const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'e-3');
  const text = fc.tuple(fc.integer({ min: -9_999, max: 9_999 }), fc.stringMatching(/^(\.\d{1,4})?$/), suffix).map((p) => p.join(''));

  it('the canonical form has the same value and is stable', () => {
    fc.assert(
      fc.property(text, (q) => {
        const once = canonicalQuantity(q);
        expect(parseQuantity(once).nano).toBe(parseQuantity(q).nano);
        expect(canonicalQuantity(once)).toBe(once);
      }),
    );
  });

  it('difference undoes the sum', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(compareQuantities(subtractQuantities(addQuantities(a, b), b), a)).toBe(0);
      }),
    );
  });

  it('whole units survive the round trip', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (n) => {
        expect(quantityValue(quantityOf(n))).toBe(n);
        expect(quantityMilli(quantityOfMilli(n))).toBe(n);
      }),
    );
  });
});
