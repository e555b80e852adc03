import { describe, expect, it } from 'vitest';
import { nodeDomain } from '../../../test/builders/node-vm.js';
import { decideIoErrorRetry, type IoErrorRetry } from './io-errors.js';

const PAUSED = nodeDomain('Paused', { reason: 'IOError' });
const RUNNING = nodeDomain('Running');
const NOW = 1_000_000;
const retry = (tries: number, nextAt: number): IoErrorRetry => ({ tries, nextAt });

describe('a guest that a failing disk paused', () => {
  it.each<[string, IoErrorRetry | undefined, object]>([
    ['waits first', undefined, { retry: retry(0, NOW + 5_000), isDue: false, afterMs: 5_000 }],
    ['goes on waiting', retry(0, NOW + 2_000), { retry: retry(0, NOW + 2_000), isDue: false, afterMs: 2_000 }],
    ['is let go when its time has come', retry(0, NOW), { retry: retry(1, NOW + 10_000), isDue: true, afterMs: 10_000 }],
    ['is let go less often the longer it fails', retry(3, NOW), { retry: retry(4, NOW + 80_000), isDue: true, afterMs: 80_000 }],
    ['is let go every three minutes in the end', retry(9, NOW), { retry: retry(10, NOW + 180_000), isDue: true, afterMs: 180_000 }],
  ])('%s', (_title, before, expected) => {
    expect(decideIoErrorRetry(PAUSED, before, NOW)).toEqual(expected);
  });

  it('has recovered when it ran for a minute', () => {
    expect(decideIoErrorRetry(RUNNING, retry(2, NOW - 30_000), NOW).retry).toEqual(retry(2, NOW - 30_000));
    expect(decideIoErrorRetry(RUNNING, retry(2, NOW - 61_000), NOW).retry).toBeUndefined();
  });

  it('is none of those that somebody else paused', () => {
    expect(decideIoErrorRetry(nodeDomain('Paused', { reason: 'User' }), undefined, NOW)).toEqual({ retry: undefined, isDue: false });
  });
});
