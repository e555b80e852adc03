// Whose word counts on a file system's share.
import { describe, expect, it } from 'vitest';
import { fsOverhead } from './filesystem-overhead.js';

describe('fsOverhead', () => {
  const cdi = { status: { filesystemOverhead: { global: '0.1', storageClass: { fast: '0.02' } } } };
  it.each([
    ['no CDI', undefined, 'fast', 0.055],
    ['global', cdi, undefined, 0.1],
    ['unknown class', cdi, 'slow', 0.1],
    ['class', cdi, 'fast', 0.02],
    ['nonsense', { status: { filesystemOverhead: { global: 'much' } } }, 'fast', 0.055],
  ])('%s', (_, config, storageClass, expected) => {
    expect(fsOverhead(config, storageClass)).toBe(expected);
  });
});
