import { expect, it } from 'vitest';
import { freeCid } from './vsock.js';

const LARGEST = 2 ** 32 - 2;
const LAST = LARGEST - 3;

it.each<[string, number, number[], number]>([
  ['the first', 0, [], 3],
  ['any', 1000, [], 1003],
  ['the next where one is taken', 0, [3, 4, 6], 5],
  ['the last', LAST, [], LARGEST],
  ['the first again after the last', LAST, [LARGEST], 3],
  ['one in range for any start', 2 ** 32 - 1, [], 6],
])('gives %s', (_, start, taken, expected) => expect(freeCid(start, new Set(taken))).toBe(expected));
