import { describe, expect, it } from 'vitest';
import { NODE, nodeDomain, nodeVmi } from '../../../test/builders/node-vm.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { decidePhase, isAlive, type PhaseFacts } from './phase.js';

const phase = (over: Partial<PhaseFacts>) => {
  const { phase: next, failure } = decidePhase({ vmi: nodeVmi(), domain: undefined, launcher: 'ready', node: NODE, ...over });
  return failure ? `${next}: ${failure.reason}` : next;
};
const running = (spec: Partial<VirtualMachineInstance['spec']> = {}) => nodeVmi({ status: { phase: 'Running' }, spec });
const ended = (reason: string, vmi = running()): Partial<PhaseFacts> => ({ vmi, domain: nodeDomain('Shutoff', { reason }) });
const leaving = nodeVmi({
  status: { phase: 'Running', migrationState: { sourceNode: NODE, targetNode: 'other', startTimestamp: '2026-01-01T12:00:00Z' } },
});
/** The kubelet told the launcher to end while the guest ran. */
const told = (vmi: VirtualMachineInstance, reason = 'Shutdown'): Partial<PhaseFacts> => ({
  vmi,
  domain: nodeDomain('Shutoff', { reason, spec: { markedForGracefulShutdown: true } }),
});
const DELETED = { metadata: { deletionTimestamp: '2026-01-01T12:00:00Z' } };
const POD_GOES = { type: 'Ready', status: 'False', reason: 'PodTerminating' } as const;
const noAcpi = { domain: { devices: {}, features: { acpi: { enabled: false } } } };

describe('decidePhase', () => {
  it.each<[string, Partial<PhaseFacts>, string]>([
    ['no domain yet', {}, 'Scheduled'],
    ['running', { domain: nodeDomain('Running') }, 'Running'],
    ['blocked', { domain: nodeDomain('Blocked') }, 'Running'],
    ['suspended by its OS', { domain: nodeDomain('PMSuspended') }, 'Running'],
    ['paused', { domain: nodeDomain('Paused', { reason: 'User' }) }, 'Running'],
    [
      'paused by failed post-copy',
      { vmi: running(), domain: nodeDomain('Paused', { reason: 'PostcopyFailed' }) },
      'Failed: PostCopyFailed',
    ],
    ['shutting down', { vmi: running(), domain: nodeDomain('ShuttingDown') }, 'Running'],
    ['no state', { domain: nodeDomain('NoState') }, 'Scheduled'],
    ['shut down', ended('Shutdown'), 'Succeeded'],
    ['shut down as the kubelet ends its pod', told(running()), 'Failed: PodStopped'],
    ['shut down by its own deletion', told(nodeVmi({ ...DELETED, status: { phase: 'Running' } })), 'Succeeded'],
    ['shut down by the deletion of its pod', told(nodeVmi({ status: { phase: 'Running', conditions: [POD_GOES] } })), 'Succeeded'],
    [
      'killed without grace period as the kubelet ends the pod',
      told(running({ terminationGracePeriodSeconds: 0 }), 'Destroyed'),
      'Failed: PodStopped',
    ],
    ['saved', ended('Saved'), 'Succeeded'],
    ['shut off from a snapshot', ended('FromSnapshot'), 'Succeeded'],
    ['crashed', ended('Crashed'), 'Failed: GuestCrashed'],
    ['crashed state', { vmi: running(), domain: nodeDomain('Crashed', { reason: 'Panicked' }) }, 'Failed: GuestPanicked'],
    ['migrated away', ended('Migrated'), 'Running'],
    ['migrated away, its domain is deleted', { vmi: leaving }, 'Running'],
    ['migrated away, its launcher is gone', { vmi: leaving, launcher: 'unresponsive' }, 'Running'],
    ['crashed on its way', ended('Crashed', leaving), 'Failed: GuestCrashed'],
    ['start failed', { domain: nodeDomain('Shutoff', { reason: 'Failed' }) }, 'Scheduled'],
    ['killed after its grace period', ended('Destroyed'), 'Failed: GuestKilled'],
    ['killed without grace period', ended('Destroyed', running({ terminationGracePeriodSeconds: 0 })), 'Succeeded'],
    ['killed, could not hear of it', ended('Destroyed', running(noAcpi)), 'Succeeded'],
    ['launcher never came', { launcher: 'unresponsive' }, 'Failed: LauncherNotStarted'],
    ['launcher lost', { vmi: running(), launcher: 'unresponsive' }, 'Failed: LauncherUnresponsive'],
    ['launcher lost after the guest had ended', { ...ended('Shutdown'), launcher: 'unresponsive' }, 'Succeeded'],
    [
      'launcher lost with a domain that never ran',
      { domain: nodeDomain('Shutoff'), launcher: 'unresponsive' },
      'Failed: LauncherNotStarted',
    ],
    ['launcher not asked yet', { vmi: running(), launcher: 'starting' }, 'Running'],
    ['domain vanished', { vmi: running() }, 'Failed: GuestVanished'],
    ['final stays', { vmi: nodeVmi({ status: { phase: 'Succeeded' } }), domain: nodeDomain('Running') }, 'Succeeded'],
    ['not the node’s yet', { vmi: nodeVmi({ status: { phase: 'Scheduling' } }), launcher: 'unresponsive' }, 'Scheduling'],
  ])('%s', (_title, over, expected) => {
    expect(phase(over)).toBe(expected);
  });

  it('blames no launcher for a guest that was deleted before it started', () => {
    const deleted = nodeVmi({ metadata: { deletionTimestamp: '2026-01-01T12:00:00Z' } });
    expect(decidePhase({ vmi: deleted, domain: undefined, launcher: 'unresponsive', node: 'n1' }).failure?.message).toContain(
      'deleted before',
    );
  });
});

describe('isAlive', () => {
  it.each([
    [undefined, false],
    [nodeDomain('NoState'), false],
    [nodeDomain('Shutoff'), false],
    [nodeDomain('Crashed'), false],
    [nodeDomain('ShuttingDown'), true],
    [nodeDomain('Paused'), true],
    [nodeDomain('Running'), true],
  ])('%j → %s', (domain, expected) => {
    expect(isAlive(domain)).toBe(expected);
  });
});
