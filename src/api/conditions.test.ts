import { describe, expect, it } from 'vitest';
import { type Condition, isConditionTrue, withCondition, withConditions } from './conditions.js';

const at = (s: number): number => Date.UTC(2026, 0, 1, 0, 0, s);
const ready = (status: string, reason: string, second: number): Condition => ({
  type: 'Ready',
  status,
  reason,
  lastProbeTime: null as never,
  lastTransitionTime: `2026-01-01T00:00:0${second}Z`,
});

describe('withCondition', () => {
  it.each([
    ['adds', [], { status: 'True', reason: 'A' } as const, [ready('True', 'A', 5)]],
    [
      'keeps the transition time while the status stays',
      [ready('True', 'A', 1)],
      { status: 'True', reason: 'B' } as const,
      [ready('True', 'B', 1)],
    ],
    ['moves it with the status', [ready('True', 'A', 1)], { status: 'False', reason: 'A' } as const, [ready('False', 'A', 5)]],
    ['changes nothing when equal', [ready('True', 'A', 1)], { status: 'True', reason: 'A' } as const, [ready('True', 'A', 1)]],
    ['removes', [ready('True', 'A', 1)], undefined, []],
  ])('%s', (_title, list, value, expected) => {
    expect(withCondition(list, 'Ready', value, at(5))).toEqual(expected);
  });

  it('keeps the order of the list', () => {
    const list = withConditions([], { A: { status: 'True' }, B: { status: 'True' } }, at(1));
    expect(withConditions(list, { B: { status: 'False' }, A: { status: 'False' } }, at(2)).map((c) => c.type)).toEqual(['A', 'B']);
  });

  it('asks for the truth of a condition', () => {
    expect(isConditionTrue([ready('True', 'A', 1)], 'Ready')).toBe(true);
    expect(isConditionTrue(undefined, 'Ready')).toBe(false);
  });
});
