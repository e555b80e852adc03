// Durations in Go's notation, and what is none.
import { describe, expect, it } from 'vitest';
import { parseDuration } from './duration.js';

describe('parseDuration', () => {
  it.each([
    ['3m', 180_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['1.5s', 1500],
    ['287s', 287_000],
    ['', undefined],
    ['5', undefined],
    ['m', undefined],
  ])('%s', (text, ms) => expect(parseDuration(text)).toBe(ms));
});
