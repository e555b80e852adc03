import { expect, it } from 'vitest';
import { StaleGuard } from './stale-guard.js';

const at = (resourceVersion: string) => ({ metadata: { resourceVersion } });

it('holds an object back until the cache moves on', () => {
  const guard = new StaleGuard();
  expect(guard.isStale('a/b', at('1'))).toBe(false);
  guard.written('a/b', at('1'), at('2'));
  expect([guard.isStale('a/b', at('1')), guard.isStale('a/c', at('1'))]).toEqual([true, false]);
  expect(guard.isStale('a/b', at('2'))).toBe(false);
  expect(guard.isStale('a/b', at('1'))).toBe(false);
});

it('forgets', () => {
  const guard = new StaleGuard();
  guard.written('a/b', at('1'), at('2'));
  guard.forget('a/b');
  expect(guard.isStale('a/b', at('1'))).toBe(false);
});

it('does not wait for the event of a write that changed nothing', () => {
  const guard = new StaleGuard();
  guard.written('a/b', at('1'), at('1'));
  expect(guard.isStale('a/b', at('1'))).toBe(false);
});
