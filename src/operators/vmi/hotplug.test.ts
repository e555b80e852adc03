import { describe, expect, it } from 'vitest';
import { launcherPod, NOW, pvc, RUNNING, vmi } from '../../../test/builders/objects.js';
import type { PersistentVolumeClaim, Pod, VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import { decideHotplug } from './hotplug.js';
import type { Seen } from './seen.js';
import { nextVmi, transitionEvents } from './status.js';
import { nextVolumeStatus } from './volumes.js';

const launcher = launcherPod({ phase: 'Running', node: 'n1', compute: RUNNING });
const DELETED = { deletionTimestamp: '2026-01-01T11:59:00Z' };

interface PodParts {
  readonly isUp?: boolean;
  readonly owner?: string;
  readonly isTrigger?: boolean;
  readonly metadata?: object;
  readonly waiting?: string;
}

/** Attachment pod `hp-<uid>` that brings these volumes, each a claim of its own name. */
function attachment(uid: string, volumes: readonly string[], parts: PodParts = {}): Pod {
  const { isUp = true, owner = 'pod-uid', isTrigger = false, metadata, waiting } = parts;
  const annotations = { 'kubevirt.io/owner-vmi-name': 'web', ...(isTrigger ? { 'kubevirt.io/ephemeral-provisioning': 'true' } : {}) };
  const state = waiting ? { waiting: { reason: waiting } } : { running: {} };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `hp-${uid}`,
      namespace: 'shop',
      uid,
      creationTimestamp: '2026-01-01T11:00:00Z',
      labels: { 'kubevirt.io': 'hotplug-disk' },
      annotations,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: owner, controller: true }],
      ...metadata,
    },
    spec: { containers: [], volumes: volumes.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })) },
    status: { phase: 'Running', containerStatuses: [{ name: 'c', image: '', imageID: '', ready: isUp, restartCount: 0, state }] },
  } as Pod;
}

const statusOf = (name: string, phase: string, podUid?: string): VolumeStatus => ({
  name,
  target: '',
  phase,
  hotplugVolume: podUid ? { attachPodName: `hp-${podUid}`, attachPodUID: podUid } : {},
});

interface Scene {
  readonly plugged?: readonly string[];
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly attachments?: readonly Pod[];
  readonly status?: readonly VolumeStatus[];
  readonly phase?: string;
  readonly metadata?: object;
  readonly selinuxContext?: string | undefined;
  readonly pod?: Pod | undefined;
}

function scene(parts: Scene): Seen {
  const { plugged = [], claims = plugged.map((name) => pvc(name)), attachments = [], status = [], phase = 'Running', metadata } = parts;
  const volumes = plugged.map((name) => ({ name, persistentVolumeClaim: { claimName: name, hotpluggable: true } }));
  const selinuxContext = 'selinuxContext' in parts ? parts.selinuxContext : 'none';
  const pod = 'pod' in parts ? parts.pod : launcher;
  return {
    vmi: vmi({
      spec: { volumes },
      status: { phase, volumeStatus: [...status], ...(selinuxContext ? { selinuxContext } : {}) } as VirtualMachineInstance['status'] &
        object,
      ...(metadata ? { metadata } : {}),
    }),
    pods: pod ? [pod] : [],
    attachments,
    dataVolumes: new Map(),
    lateClasses: new Set(['late']),
    pod,
    pvcs: new Map(claims.map((each) => [each.metadata.name ?? '', each])),
    hasOwner: true,
    settled: true,
    launcherImage: 'launcher:1',
  };
}

const late = (name: string): PersistentVolumeClaim => {
  const claim = pvc(name, 'Pending');
  return { ...claim, spec: { ...claim.spec, storageClassName: 'late' } };
};

const steps = (parts: Scene): string[] =>
  decideHotplug(scene(parts)).map((step) => {
    if (step.do === 'deleteAttachment') return `delete ${step.pod.metadata.name}`;
    return step.do === 'createTrigger' ? `trigger ${step.volume}` : `create ${step.volumes.join('+')}`;
  });

describe('decideHotplug', () => {
  it.each<[string, Scene, string[]]>([
    ['one pod for all that is bound', { plugged: ['b', 'a'] }, ['create a+b']],
    ['nothing without a volume', {}, []],
    ['nothing before the node has told the SELinux context', { plugged: ['a'], selinuxContext: undefined }, []],
    ['nothing while the guest goes', { plugged: ['a'], metadata: DELETED }, []],
    ['no second pod of the same set', { plugged: ['a'], attachments: [attachment('1', ['a'], { isUp: false })] }, []],
    [
      'another pod for another set',
      { plugged: ['a', 'b'], attachments: [attachment('1', ['a'])], status: [statusOf('a', 'Ready', '1')] },
      ['create a+b'],
    ],
    ['a pod in place of one that goes', { plugged: ['a'], attachments: [attachment('1', ['a'], { metadata: DELETED })] }, ['create a']],
    ['not without its claim', { plugged: ['a'], claims: [] }, []],
    ['a trigger for a claim that waits for a consumer', { plugged: ['a', 'b'], claims: [late('a'), pvc('b')] }, ['create b', 'trigger a']],
    ['one trigger', { plugged: ['a'], claims: [late('a')], attachments: [attachment('1', ['a'], { isTrigger: true })] }, []],
    ['no trigger for one that waits for something else', { plugged: ['a'], claims: [pvc('a', 'Pending')] }, []],
    [
      'the trigger goes when it has served',
      { plugged: ['a'], attachments: [attachment('1', ['a'], { isTrigger: true })] },
      ['create a', 'delete hp-1'],
    ],
    [
      'the old pod stays while the status names it',
      { plugged: ['a', 'b'], attachments: [attachment('1', ['a']), attachment('2', ['a', 'b'])], status: [statusOf('a', 'Ready', '1')] },
      [],
    ],
    [
      'and goes when the new one has taken over',
      { plugged: ['a', 'b'], attachments: [attachment('1', ['a']), attachment('2', ['a', 'b'])], status: [statusOf('a', 'Ready', '2')] },
      ['delete hp-1'],
    ],
    ['the pod stays until the node has let go', { attachments: [attachment('1', ['a'])], status: [statusOf('a', 'Ready', '1')] }, []],
    ['and goes then', { attachments: [attachment('1', ['a'])], status: [statusOf('a', 'UnMountedFromPod', '1')] }, ['delete hp-1']],
    ['a pod that nobody waits for goes', { attachments: [attachment('1', ['a'], { isUp: false })] }, ['delete hp-1']],
    ['pods of another launcher go', { attachments: [attachment('1', ['a'], { owner: 'old' })] }, ['delete hp-1']],
    ['all go with the guest', { phase: 'Succeeded', plugged: ['a'], attachments: [attachment('1', ['a'])] }, ['delete hp-1']],
    ['all go with the launcher', { pod: undefined, plugged: ['a'], attachments: [attachment('1', ['a'])] }, ['delete hp-1']],
  ])('%s', (_title, parts, expected) => {
    expect(steps(parts)).toEqual(expected);
  });

  it('gives a set that comes back while its old pod goes another name', () => {
    const names = [[], [attachment('1', ['a'], { metadata: DELETED })]].map((attachments) => {
      const [step] = decideHotplug(scene({ plugged: ['a'], attachments }));
      return step?.do === 'createAttachment' ? step.name : undefined;
    });
    expect(names[0]).toMatch(/^hp-volume-[0-9a-f]{10}$/);
    expect(names[1]).not.toBe(names[0]);
  });
});

const brief = (entry: VolumeStatus | undefined): string =>
  entry ? [entry.phase, entry.reason, entry.hotplugVolume?.attachPodUID].filter(Boolean).join(' ') : 'nothing';

describe('the status of a plugged volume', () => {
  it.each<[string, Scene, string]>([
    ['without its claim', { plugged: ['a'], claims: [] }, 'Pending FailedPvcNotFound'],
    ['with a claim that is not bound', { plugged: ['a'], claims: [pvc('a', 'Pending')] }, 'Pending PVCNotReady'],
    ['bound', { plugged: ['a'] }, 'Bound PVCNotReady'],
    [
      'with a pod that cannot start',
      { plugged: ['a'], attachments: [attachment('1', ['a'], { isUp: false, waiting: 'ErrImagePull' })] },
      'Bound ErrImagePull',
    ],
    [
      'with a pod just created',
      { plugged: ['a'], attachments: [attachment('1', ['a'], { isUp: false, metadata: { creationTimestamp: '2026-01-01T11:59:59Z' } })] },
      'nothing',
    ],
    ['with its pod up', { plugged: ['a'], attachments: [attachment('1', ['a'])] }, 'AttachedToNode SuccessfulCreate 1'],
    [
      'in the guest, with the pod of a larger set up',
      { plugged: ['a', 'b'], attachments: [attachment('2', ['a', 'b'])], status: [statusOf('a', 'Ready', '1')] },
      'Ready 2',
    ],
    [
      'in the guest, while that pod starts',
      { plugged: ['a', 'b'], attachments: [attachment('2', ['a', 'b'], { isUp: false })], status: [statusOf('a', 'Ready', '1')] },
      'Ready 1',
    ],
    [
      'plugged again after it had been let go',
      { plugged: ['a'], attachments: [attachment('2', ['a'])], status: [statusOf('a', 'UnMountedFromPod', '1')] },
      'AttachedToNode SuccessfulCreate 2',
    ],
    ['unplugged, still in the guest', { status: [statusOf('a', 'Ready', '1')] }, 'Ready 1'],
    ['unplugged, let go', { status: [statusOf('a', 'UnMountedFromPod', '1')] }, 'nothing'],
    ['unplugged before it came', { status: [statusOf('a', 'Bound')] }, 'nothing'],
  ])('%s', (_title, parts, expected) => {
    const entries = nextVolumeStatus(scene(parts), { now: NOW, failure: undefined });
    expect(brief(entries.find(({ name }) => name === 'a'))).toBe(expected);
  });

  it('says why no pod could be made', () => {
    const [entry] = nextVolumeStatus(scene({ plugged: ['a'] }), {
      now: NOW,
      failure: { reason: 'FailedCreate', message: 'exceeded quota' },
    });
    expect(entry).toMatchObject({ phase: 'Bound', reason: 'FailedCreate', message: 'exceeded quota' });
  });

  it('keeps what the launcher pod mounts apart', () => {
    const pod = { ...launcher, spec: { ...launcher.spec, containers: [], volumes: [{ name: 'a' }] } } as Pod;
    const seen = scene({ plugged: ['a'], pod });
    expect([decideHotplug(seen), nextVolumeStatus(seen, { now: NOW, failure: undefined })[0]?.hotplugVolume]).toEqual([[], undefined]);
  });

  it.each<[string, Scene, string[]]>([
    ['arrival', { plugged: ['a'], attachments: [attachment('1', ['a'])] }, ['Normal SuccessfulCreate']],
    ['waiting', { plugged: ['a'], claims: [] }, ['Normal FailedPvcNotFound']],
    [
      'trouble',
      { plugged: ['a'], attachments: [attachment('1', ['a'], { isUp: false, waiting: 'ErrImagePull' })] },
      ['Warning ErrImagePull'],
    ],
    ['departure', { status: [statusOf('a', 'UnMountedFromPod', '1')] }, ['Normal VolumeUnplugged']],
    ['a change of pods', { plugged: ['a'], attachments: [attachment('2', ['a'])], status: [statusOf('a', 'Ready', '1')] }, []],
  ])('is told once by an event: %s', (_title, parts, expected) => {
    const seen = scene(parts);
    const next = nextVmi(seen, undefined, NOW).vmi;
    expect(transitionEvents(seen.vmi, next).map(({ type, reason }) => `${type} ${reason}`)).toEqual(expected);
    expect(transitionEvents(next, next)).toEqual([]);
  });
});
