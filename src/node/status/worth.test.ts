import { describe, expect, it } from 'vitest';
import { nodeVmi } from '../../../test/builders/node-vm.js';
import { isWorthWriting } from './worth.js';

const DELETED = { deletionTimestamp: '2026-01-01T12:00:00Z' };
const agent = { type: 'AgentConnected', status: 'True' as const };
const status = { phase: 'Running' as const, conditions: [agent], interfaces: [{ name: 'default' }] };

describe('isWorthWriting', () => {
  it.each<[string, object, object, boolean]>([
    ['an agent that went, of a VMI that stays', {}, { ...status, conditions: [] }, true],
    ['an agent that went, of a VMI that goes', DELETED, { ...status, conditions: [] }, false],
    ['interfaces of a VMI that goes', DELETED, { ...status, interfaces: [] }, false],
    ['the end of a VMI that goes', DELETED, { ...status, phase: 'Succeeded' }, true],
    ['a volume that was taken out', DELETED, { ...status, volumeStatus: [{ name: 'd', target: '', phase: 'UnMountedFromPod' }] }, true],
    ['what goes wrong', DELETED, { ...status, conditions: [agent, { type: 'Synchronized', status: 'False' }] }, true],
  ])('%s', (_title, metadata, next, expected) => {
    expect(isWorthWriting(nodeVmi({ metadata, status }), next)).toBe(expected);
  });
});
