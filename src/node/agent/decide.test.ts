import { describe, expect, it } from 'vitest';
import { NODE, NOW, nodeDomain, nodeVmi } from '../../../test/builders/node-vm.js';
import { metaTime } from '../../base/clock.js';
import { decide, type Seen } from './decide.js';

const seen = (over: Partial<Seen>): Seen => ({ vmi: nodeVmi(), domain: undefined, launcher: 'ready', node: NODE, now: NOW, ...over });
const scheduledFor = (ms: number) => [{ phase: 'Scheduled', phaseTransitionTimestamp: metaTime(NOW - ms) }];
const running = nodeVmi({ status: { phase: 'Running' } });
const leaving = nodeVmi({
  status: { phase: 'Running', migrationState: { sourceNode: NODE, targetNode: 'other', startTimestamp: metaTime(NOW) } },
});
const deleting = nodeVmi({ status: { phase: 'Running' }, metadata: { deletionTimestamp: metaTime(NOW) } });
const deletingScheduled = nodeVmi({ metadata: { deletionTimestamp: metaTime(NOW) } });
const final = nodeVmi({ status: { phase: 'Succeeded' } });
const startedAgo = (ms: number) => ({ spec: { gracePeriodStartedAt: new Date(NOW - ms).toISOString() } });

const attested = (keys: object) => nodeVmi({ spec: { domain: { devices: {}, launchSecurity: { sev: { attestation: {}, ...keys } } } } });

describe('decide', () => {
  it.each<[string, Partial<Seen>, object]>([
    ['starts a scheduled VMI', {}, { kind: 'start' }],
    ['prepares while the launcher boots', { launcher: 'initialising' }, { kind: 'prepare' }],
    ['waits for the socket', { launcher: 'starting' }, { kind: 'wait', afterMs: 1000 }],
    ['lets the phase follow a running domain first', { domain: nodeDomain('Running') }, { kind: 'nothing' }],
    ['updates a running VMI', { vmi: running, domain: nodeDomain('Running') }, { kind: 'update' }],
    ['leaves a guest alone that moves', { vmi: leaving, domain: nodeDomain('Running') }, { kind: 'nothing' }],
    ['leaves it alone when it has moved', { vmi: leaving, launcher: 'unresponsive' }, { kind: 'nothing' }],
    ['deletes what it leaves behind', { vmi: leaving, domain: nodeDomain('Shutoff', { reason: 'Migrated' }) }, { kind: 'delete' }],
    ['leaves a paused guest to the launcher', { vmi: running, domain: nodeDomain('Paused', { reason: 'User' }) }, { kind: 'update' }],
    ['waits for the session of a guest to be attested', { vmi: attested({}) }, { kind: 'nothing' }],
    ['starts it once its owner has set it up', { vmi: attested({ session: 's', dhCert: 'c' }) }, { kind: 'start' }],
    ['prepares it meanwhile', { vmi: attested({}), launcher: 'initialising' }, { kind: 'prepare' }],
    ['leaves earlier phases alone', { vmi: nodeVmi({ status: { phase: 'Scheduling' } }) }, { kind: 'nothing' }],
    ['waits while libvirt is confused', { vmi: running, domain: nodeDomain('Unknown') }, { kind: 'wait', afterMs: 5000 }],

    [
      'writes the end down before the domain goes',
      { vmi: running, domain: nodeDomain('Shutoff', { reason: 'Shutdown' }) },
      { kind: 'nothing' },
    ],
    ['deletes the domain of a finished VMI', { vmi: final, domain: nodeDomain('Shutoff', { reason: 'Shutdown' }) }, { kind: 'delete' }],
    ['kills a guest whose VMI counts as ended', { vmi: final, domain: nodeDomain('Running') }, { kind: 'kill' }],
    ['cleans up after a finished VMI', { vmi: final }, { kind: 'cleanup' }],
    ['cleans up when the launcher of a finished VMI is gone', { vmi: final, launcher: 'unresponsive' }, { kind: 'cleanup' }],
    [
      'cleans up when the launcher went before its domain was deleted',
      { vmi: final, launcher: 'unresponsive', domain: nodeDomain('Shutoff', { reason: 'Shutdown' }) },
      { kind: 'cleanup' },
    ],
    ['first asks the launcher of a finished VMI', { vmi: final, launcher: 'starting' }, { kind: 'wait', afterMs: 1000 }],

    ['shuts down when the VMI is deleted', { vmi: deleting, domain: nodeDomain('Running') }, { kind: 'shutdown', recheckMs: 5000 }],
    ['shuts down when the VMI vanished', { vmi: undefined, domain: nodeDomain('Running') }, { kind: 'shutdown', recheckMs: 5000 }],
    [
      'shuts down when the kubelet ends the pod',
      { vmi: running, domain: nodeDomain('Running', { spec: { markedForGracefulShutdown: true } }) },
      { kind: 'shutdown', recheckMs: 5000 },
    ],
    [
      'presses again while there is time',
      { vmi: deleting, domain: nodeDomain('Running', startedAgo(28_000)) },
      { kind: 'shutdown', recheckMs: 2000 },
    ],
    ['kills when the time is up', { vmi: deleting, domain: nodeDomain('Running', startedAgo(30_000)) }, { kind: 'kill' }],
    [
      'kills at once without a grace period',
      {
        vmi: nodeVmi({
          ...deleting,
          status: deleting.status ?? {},
          metadata: deleting.metadata,
          spec: { terminationGracePeriodSeconds: 0 },
        }),
        domain: nodeDomain('Running'),
      },
      { kind: 'kill' },
    ],
    [
      'takes the grace period of the domain when the VMI vanished',
      { vmi: undefined, domain: nodeDomain('Running', { spec: { gracePeriodSeconds: 3 } }) },
      { kind: 'shutdown', recheckMs: 3000 },
    ],
    ['deletes the domain of a vanished VMI', { vmi: undefined, domain: nodeDomain('Shutoff', { reason: 'Shutdown' }) }, { kind: 'delete' }],
    ['cleans up after a vanished VMI', { vmi: undefined }, { kind: 'cleanup' }],
    ['cleans up after a vanished VMI without launcher', { vmi: undefined, launcher: 'unresponsive' }, { kind: 'cleanup' }],
    ['does not forget a vanished VMI before its launcher was asked', { vmi: undefined, launcher: 'starting' }, { kind: 'wait' }],
    ['does not start a VMI that is being deleted', { vmi: deletingScheduled }, { kind: 'cleanup' }],

    [
      'gives a defined domain time to start',
      { vmi: nodeVmi({ status: { phaseTransitionTimestamps: scheduledFor(10_000) } }), domain: nodeDomain('Shutoff') },
      { kind: 'wait', afterMs: 5000 },
    ],
    [
      'removes a domain that never started',
      {
        vmi: nodeVmi({ status: { phaseTransitionTimestamps: scheduledFor(400_000) } }),
        domain: nodeDomain('Shutoff', { reason: 'Unknown' }),
      },
      { kind: 'delete' },
    ],
    ['removes a domain whose start failed', { domain: nodeDomain('Shutoff', { reason: 'Failed' }) }, { kind: 'delete' }],
    ['lets an unresponsive launcher fail the VMI', { vmi: running, launcher: 'unresponsive' }, { kind: 'nothing' }],
    ['does not start another guest in place of one that vanished', { vmi: running }, { kind: 'nothing' }],
  ])('%s', (_title, over, expected) => {
    expect(decide(seen(over))).toMatchObject(expected);
  });
});
