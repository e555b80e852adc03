import { describe, expect, it } from 'vitest';
import { launcherPod, NOW, pvc, RUNNING, vmi } from '../../../test/builders/objects.js';
import type { Condition, Pod } from '../../api/index.js';
import { deepEqual } from '../../runtime/patch.js';
import { decideVmi, type Step } from './decide.js';
import { nextPhase } from './phase.js';
import type { Seen } from './seen.js';
import { canWait, handedOverPatch, isQuiet, nextVmi, transitionEvents } from './status.js';

const seen = (parts: Partial<Seen> = {}, pods: readonly Pod[] = []): Seen => ({
  vmi: vmi({ status: { phase: 'Pending' } }),
  pods,
  attachments: [],
  dataVolumes: new Map(),
  lateClasses: new Set(),
  pod: pods[0],
  pvcs: new Map(),
  hasOwner: true,
  settled: true,
  launcherImage: 'launcher:1',
  ...parts,
});
const DELETED = { deletionTimestamp: '2026-01-01T11:59:00Z' };
const ready = launcherPod({ phase: 'Running', node: 'n1', compute: RUNNING });
const crashed = launcherPod({ phase: 'Failed', node: 'n1', compute: { terminated: { exitCode: 137, message: 'first\nkilled' } } });

const daemon = { name: 'virtiofs-data', image: '', imageID: '', ready: false, restartCount: 0, state: { terminated: { exitCode: 0 } } };
const withoutDaemon: Pod = {
  ...ready,
  status: { ...ready.status, containerStatuses: [...(ready.status?.containerStatuses ?? []), daemon] },
};

describe('decideVmi', () => {
  it.each<[string, Seen, Step['do'][]]>([
    ['creates the pod', seen(), ['createPod']],
    ['waits for its own writes', seen({ settled: false }), []],
    ['sets the finalizer before the first side effect', seen({ vmi: vmi({ metadata: { finalizers: [] } }) }), ['ensureFinalizer']],
    ['creates no second pod', seen({}, [launcherPod()]), []],
    ['creates no pod for a guest that lost its pod', seen({ vmi: vmi({ status: { phase: 'Running' } }) }), []],
    ['deletes the pods of a deleted VMI', seen({ vmi: vmi({ metadata: DELETED }) }, [ready]), ['deletePod']],
    ['does not delete a pod twice', seen({ vmi: vmi({ metadata: DELETED }) }, [launcherPod({ metadata: DELETED })]), []],
    ['leaves the pod of a finished guest', seen({ vmi: vmi({ status: { phase: 'Succeeded' } }) }, [ready]), []],
  ])('%s', (_title, state, expected) => {
    expect(decideVmi(state).steps.map((s) => s.do)).toEqual(expected);
  });

  it('names the claim that is missing, and goes on when it is there', () => {
    const withClaim = vmi({
      spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
      status: { phase: 'Pending' },
    });
    const plan = decideVmi(seen({ vmi: withClaim }));
    expect(plan.failure).toEqual({ reason: 'FailedPvcNotFound', message: expect.stringContaining('shop/data') });
    expect(decideVmi(seen({ vmi: withClaim, pvcs: new Map([['data', pvc('data')]]) })).steps).toEqual([{ do: 'createPod' }]);
  });
});

describe('a VM with state of its own', () => {
  const withTpm = vmi({ spec: { domain: { devices: { tpm: { persistent: true } } } }, status: { phase: 'Pending' } });
  const stateClaim = pvc('persistent-state-for-web-00000');
  it.each<[string, Partial<Seen>, Step['do'][]]>([
    ['gets a claim for it first', {}, ['createStateClaim']],
    ['gets its pod when the claim is bound', { stateClaim: { ...stateClaim, status: { phase: 'Bound' } } }, ['createPod']],
    ['waits while it is not', { stateClaim: { ...stateClaim, status: { phase: 'Pending' } } }, []],
  ])('%s', (_title, parts, expected) => {
    expect(decideVmi(seen({ vmi: withTpm, ...parts })).steps.map((s) => s.do)).toEqual(expected);
  });

  it('shows the claim among its volumes', () => {
    const { vmi: next } = nextVmi(seen({ vmi: withTpm, stateClaim }, [ready]), undefined, NOW);
    expect(next.status?.volumeStatus?.map(({ name }) => name)).toEqual(['persistent-state-for-web-00000', 'root']);
  });

  it('says what it waits for', () => {
    expect(decideVmi(seen({ vmi: withTpm, stateClaim: { ...stateClaim, status: { phase: 'Pending' } } })).failure).toEqual({
      reason: 'BackendStorageNotReady',
      message: expect.stringContaining('shop/persistent-state-for-web-00000'),
    });
  });
});

describe('nextPhase', () => {
  const at = (phase: string, pod?: Pod, extra = {}): string =>
    nextPhase(seen({ vmi: vmi({ status: { phase }, metadata: extra }) }, pod ? [pod] : [])).phase;
  it.each([
    ['Pending without a pod', 'Pending', undefined, {}, 'Pending'],
    ['Pending with a pod', 'Pending', launcherPod(), {}, 'Scheduling'],
    ['Pending with a pod that is ready already', 'Pending', ready, {}, 'Scheduled'],
    ['Pending with a pod that has ended already', 'Pending', crashed, {}, 'Failed'],
    ['Pending and deleted', 'Pending', undefined, DELETED, 'Failed'],
    ['Scheduling while the pod starts', 'Scheduling', launcherPod({ node: 'n1' }), {}, 'Scheduling'],
    ['Scheduling with a ready pod', 'Scheduling', ready, {}, 'Scheduled'],
    ['Scheduling with a ready pod, but deleted', 'Scheduling', ready, DELETED, 'Scheduling'],
    ['Scheduling with a dead pod', 'Scheduling', crashed, {}, 'Failed'],
    ['Scheduling without a pod', 'Scheduling', undefined, {}, 'Failed'],
    ['Scheduled waits for the node', 'Scheduled', ready, {}, 'Scheduled'],
    ['Scheduled cannot start without the daemon of a directory', 'Scheduled', withoutDaemon, {}, 'Failed'],
    ['Running with its pod', 'Running', ready, {}, 'Running'],
    ['Running without a pod', 'Running', undefined, {}, 'Failed'],
    ['Running with a crashed launcher', 'Running', crashed, {}, 'Failed'],
    ['Succeeded stays', 'Succeeded', undefined, {}, 'Succeeded'],
  ])('%s', (_title, phase, pod, extra, expected) => {
    expect(at(phase, pod, extra)).toBe(expected);
  });
});

describe('nextVmi', () => {
  const brief = (s: Seen, failure?: { reason: string; message: string }): string[] =>
    ((nextVmi(s, failure, NOW).vmi.status?.conditions ?? []) as Condition[]).map((c) => `${c.type}=${c.status} ${c.reason ?? ''}`);

  it('hands a ready pod over to its node', () => {
    const { vmi: next } = nextVmi(seen({ vmi: vmi({ status: { phase: 'Scheduling' } }) }, [ready]), undefined, NOW);
    expect(next.metadata.labels).toEqual({ 'kubevirt.io/nodeName': 'n1' });
    expect(next.status).toMatchObject({
      phase: 'Scheduled',
      nodeName: 'n1',
      activePods: { 'pod-uid': 'n1' },
      migrationTransport: 'Unix',
      launcherContainerImageVersion: 'launcher:1',
      volumeStatus: [{ name: 'root', target: '' }],
    });
  });

  it.each([
    [
      'an image that cannot be pulled',
      launcherPod({ compute: { waiting: { reason: 'ErrImagePull', message: 'not found' } } }),
      ['Ready=False GuestNotRunning', 'Synchronized=False ErrImagePull'],
    ],
    [
      'a pod that fits nowhere',
      launcherPod({ conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes' }] }),
      ['Ready=False GuestNotRunning', 'PodScheduled=False Unschedulable'],
    ],
    ['a pod that just starts', launcherPod({ compute: { waiting: { reason: 'ContainerCreating' } } }), ['Ready=False GuestNotRunning']],
    ['a launcher that crashed', crashed, ['Ready=False PodTerminating', 'Synchronized=False LauncherFailed']],
  ])('explains %s', (_title, pod, expected) => {
    expect(brief(seen({ vmi: vmi({ status: { phase: 'Scheduling' } }) }, [pod]))).toEqual(expected);
  });

  it('records the scheduling that nobody was told of', () => {
    const { vmi: next } = nextVmi(seen({}, [ready]), undefined, NOW);
    expect(next.status?.phaseTransitionTimestamps).toEqual([
      { phase: 'Scheduling', phaseTransitionTimestamp: ready.metadata.creationTimestamp },
      { phase: 'Scheduled', phaseTransitionTimestamp: '2026-01-01T12:00:00Z' },
    ]);
    expect(next.status?.nodeName).toBe('n1');
  });

  it.each([
    ['a moment after its creation', 'Pending', NOW - 200, launcherPod(), true],
    ['later', 'Pending', NOW - 1500, launcherPod(), false],
    [
      'when there is a reason to tell',
      'Pending',
      NOW - 200,
      launcherPod({ conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes are available' }] }),
      false,
    ],
    ['when the pod is ready', 'Pending', NOW - 200, ready, false],
    ['once it was told', 'Scheduling', NOW - 200, launcherPod(), false],
  ])('waits with the news of a pod only for a moment: %s', (_title, phase, created, pod, expected) => {
    const old = vmi({ status: { phase }, metadata: { creationTimestamp: new Date(created).toISOString() } });
    expect(canWait(old, nextVmi(seen({ vmi: old }, [pod]), undefined, NOW).vmi, NOW)).toBe(expected);
  });

  it('takes an explanation back when its cause is gone', () => {
    const stuck = vmi({ status: { phase: 'Scheduling' }, conditions: [{ type: 'Synchronized', status: 'False', reason: 'ErrImagePull' }] });
    expect(brief(seen({ vmi: stuck }, [ready]))).toEqual(['Ready=False GuestNotRunning']);
  });

  it('tells the person who has no KVM what to do', () => {
    const pod = launcherPod({
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/2 nodes are available: 2 Insufficient devices.kubevirt.io/kvm.',
        },
      ],
    });
    const { vmi: next } = nextVmi(seen({ vmi: vmi({ status: { phase: 'Scheduling' } }) }, [pod]), undefined, NOW);
    expect(next.status?.conditions?.find((c) => c.type === 'PodScheduled')?.message).toContain('useEmulation');
  });

  it('adds the kubelet’s words to a guest that was given up before they came, and keeps the node agent’s otherwise', () => {
    const told = { type: 'Synchronized', status: 'False', reason: 'PodStopped', message: 'the pod was told to end' } as const;
    const failed = vmi({ status: { phase: 'Failed', reason: 'PodStopped', nodeName: 'n1' }, conditions: [told] });
    const evicted: Pod = { ...crashed, status: { ...crashed.status, reason: 'Evicted', message: 'too much' } };
    const after = nextVmi(seen({ vmi: failed }, [evicted]), undefined, NOW).vmi;
    expect([after.status?.reason, transitionEvents(failed, after).map(({ reason }) => reason)]).toEqual(['Evicted', ['Evicted']]);
    expect(brief(seen({ vmi: after }, [evicted]))).toContain('Synchronized=False Evicted');
    expect(brief(seen({ vmi: failed }, [crashed]))).toContain('Synchronized=False PodStopped');
  });

  it('lets a finished VMI go only when no pod is left', () => {
    const final = vmi({ status: { phase: 'Failed' } });
    expect(nextVmi(seen({ vmi: final }, [ready]), undefined, NOW).vmi.metadata.finalizers).toHaveLength(2);
    expect(nextVmi(seen({ vmi: final }), undefined, NOW).vmi.metadata.finalizers).toEqual(['kubevirt.io/virtualMachineControllerFinalize']);
    expect(nextVmi(seen({ vmi: final, hasOwner: false }), undefined, NOW).vmi.metadata.finalizers).toEqual([]);
  });

  it('keeps quiet when only the pod bookkeeping moved', () => {
    const scheduling = seen({ vmi: vmi({ status: { phase: 'Scheduling' } }) }, [launcherPod()]);
    const first = nextVmi(scheduling, undefined, NOW).vmi;
    const second = nextVmi(
      { ...scheduling, vmi: first, pod: launcherPod({ node: 'n1' }), pods: [launcherPod({ node: 'n1' })] },
      undefined,
      NOW + 5000,
    ).vmi;
    expect(isQuiet(first, second, deepEqual)).toBe(true);
  });

  it('patches only its own paths after the hand-over', () => {
    const running = vmi({ status: { phase: 'Running', nodeName: 'n1' } });
    const ops = handedOverPatch(running, nextVmi(seen({ vmi: running }, [crashed]), undefined, NOW).vmi);
    expect(ops.filter((o) => o.op !== 'test').map((o) => o.path)).toEqual([
      '/status/phase',
      '/status/reason',
      '/status/conditions',
      '/status/activePods',
      '/status/launcherContainerImageVersion',
      '/status/phaseTransitionTimestamps',
    ]);
  });
});

describe('transitionEvents', () => {
  const withSync = (reason?: string) =>
    vmi({ conditions: reason ? [{ type: 'Synchronized', status: 'False', reason, message: 'why' }] : [] });
  it.each([
    ['a new reason is told once', withSync(), withSync('ErrImagePull'), ['Warning ErrImagePull']],
    ['the same reason is not told again', withSync('ErrImagePull'), withSync('ErrImagePull'), []],
    ['waiting for a claim is no failure', withSync(), withSync('FailedPvcNotFound'), ['Normal FailedPvcNotFound']],
    ['nothing is told when a reason goes', withSync('ErrImagePull'), withSync(), []],
  ])('%s', (_title, old, next, expected) => {
    expect(transitionEvents(old, next).map((e) => `${e.type} ${e.reason}`)).toEqual(expected);
  });
});
