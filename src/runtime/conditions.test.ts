// Conditions are replaced only when status or reason change, and keep their place.
import { describe, expect, it } from 'vitest';
import { type Condition, findCondition, isTrue, removeCondition, setCondition } from './conditions.js';

const NOW = '2026-01-02T00:00:00Z';
const THEN = '2026-01-01T00:00:00Z';
const list: Condition[] = [
  { type: 'A', status: 'False', reason: 'Waiting', message: 'one', lastTransitionTime: THEN },
  { type: 'B', status: 'True', lastTransitionTime: THEN },
];

describe('setCondition', () => {
  it('gives the same list when only the message differs', () => {
    expect(setCondition(list, { type: 'A', status: 'False', reason: 'Waiting', message: 'two' }, NOW)).toBe(list);
  });

  it.each([
    ['status', { type: 'A', status: 'True', reason: 'Waiting' }, NOW],
    ['reason', { type: 'A', status: 'False', reason: 'Broken', message: 'three' }, THEN],
  ])('replaces in place on a new %s', (_what, next, time) => {
    expect(setCondition(list, next, NOW)).toEqual([{ ...next, lastTransitionTime: time }, list[1]]);
  });

  it('appends what is new', () => {
    expect(setCondition(undefined, { type: 'C', status: 'True' }, NOW)).toEqual([{ type: 'C', status: 'True', lastTransitionTime: NOW }]);
    expect(setCondition(list, { type: 'C', status: 'True' }, NOW).map(({ type }) => type)).toEqual(['A', 'B', 'C']);
  });
});

it('finds and removes', () => {
  expect(findCondition(list, 'B')?.status).toBe('True');
  expect([isTrue(list, 'B'), isTrue(list, 'A'), isTrue(undefined, 'A')]).toEqual([true, false, false]);
  expect(removeCondition(list, 'C')).toBe(list);
  expect(removeCondition(list, 'A', 'C')).toEqual([list[1]]);
});
