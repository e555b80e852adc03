import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../api/index.js';
import { takenCids, vsockCidOf, wantsCid } from './vsock-cid.js';

const vmi = (uid: string, autoattachVSOCK?: boolean, VSOCKCID?: number): VirtualMachineInstance => ({
  metadata: { name: uid, uid },
  spec: { domain: { devices: autoattachVSOCK === undefined ? {} : { autoattachVSOCK } } },
  ...(VSOCKCID === undefined ? {} : { status: { VSOCKCID } }),
});

describe('the VSOCK address of a VMI', () => {
  it.each<[string, VirtualMachineInstance, boolean]>([
    ['wanted', vmi('a', true), true],
    ['not wanted', vmi('a', false), false],
    ['not asked for', vmi('a'), false],
    ['given already', vmi('a', true, 9), false],
  ])('is looked for when it is %s', (_, one, expected) => expect(wantsCid(one)).toBe(expected));

  it('is the same each time, and no other VMI’s', () => {
    const first = vsockCidOf(vmi('a'), new Set());
    expect(first).toBeGreaterThanOrEqual(3);
    expect(vsockCidOf(vmi('a'), new Set())).toBe(first);
    expect(vsockCidOf(vmi('a'), new Set([first, first + 1]))).toBe(first + 2);
    expect(vsockCidOf(vmi('b'), new Set())).not.toBe(first);
  });

  it('leaves out what the VMI has itself', () => {
    expect(takenCids(vmi('a', true), [vmi('a', true, 5), vmi('b', true, 6), vmi('c')])).toEqual(new Set([6]));
  });
});
