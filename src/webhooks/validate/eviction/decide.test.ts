// The table of evictions: which pods go, which stay, and what is asked of the VMI.
import { describe, expect, it } from 'vitest';
import type { Pod, VirtualMachineInstance } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import { decideHotplugEviction, decideLauncherEviction, type Eviction, guestOf, isDryRun, ownerOfHotplugPod } from './decide.js';

const pod = (app: string, rest: { phase?: string; annotations?: object; owners?: string[]; node?: string } = {}): Pod =>
  ({
    metadata: {
      name: 'pod',
      namespace: 'ns',
      labels: { 'kubevirt.io': app },
      annotations: rest.annotations ?? { 'kubevirt.io/domain': 'vm' },
      ownerReferences: (rest.owners ?? []).map((name) => ({ name })),
    },
    spec: { nodeName: rest.node ?? 'node01' },
    status: { phase: rest.phase ?? 'Running' },
  }) as unknown as Pod;
const vmi = (
  strategy: string | undefined,
  isMigratable: boolean,
  rest: { status?: object; annotations?: object } = {},
): VirtualMachineInstance =>
  ({
    metadata: { name: 'vm', namespace: 'ns', ...(rest.annotations ? { annotations: rest.annotations } : {}) },
    spec: strategy ? { evictionStrategy: strategy } : {},
    status: { nodeName: 'node01', conditions: [{ type: 'LiveMigratable', status: isMigratable ? 'True' : 'False' }], ...rest.status },
  }) as unknown as VirtualMachineInstance;
const evacuate = { op: 'add', path: '/status/evacuationNodeName', value: 'node01' };

describe('decideLauncherEviction', () => {
  it.each<[string, VirtualMachineInstance, Pod, object]>([
    ['no strategy', vmi(undefined, true), pod('virt-launcher'), { do: 'pass' }],
    ['None', vmi('None', true), pod('virt-launcher'), { do: 'pass' }],
    ['LiveMigrate', vmi('LiveMigrate', true), pod('virt-launcher'), { do: 'mark', operations: [evacuate] }],
    [
      'LiveMigrate but it cannot',
      vmi('LiveMigrate', false),
      pod('virt-launcher'),
      { do: 'deny', message: expect.stringContaining('not live-migratable') },
    ],
    ['if possible', vmi('LiveMigrateIfPossible', true), pod('virt-launcher'), { do: 'mark', operations: [evacuate] }],
    ['if possible but it cannot', vmi('LiveMigrateIfPossible', false), pod('virt-launcher'), { do: 'pass' }],
    ['External', vmi('External', false), pod('virt-launcher'), { do: 'mark', operations: [evacuate] }],
    [
      'marked already',
      vmi('External', true, { status: { evacuationNodeName: 'node01' } }),
      pod('virt-launcher'),
      { do: 'deny', message: expect.stringMatching(/^Evacuation in progress/) },
    ],
    [
      'the pod it moves to',
      vmi('LiveMigrate', true),
      pod('virt-launcher', { node: 'node02' }),
      {
        do: 'deny',
        message: 'Eviction request for target Pod: the guest is still on its source node; try again when the migration is over',
      },
    ],
  ])('%s', (_title, instance, launcher, expected) => {
    expect(decideLauncherEviction(launcher, instance, {}, clusterConfigOf({}))).toMatchObject(expected);
  });

  it.each<[string, object | undefined, object]>([
    ['no annotations', undefined, { op: 'add', path: '/metadata/annotations', value: { 'kubevirt.io/eviction-source': 'descheduler' } }],
    ['annotations', { a: 'b' }, { op: 'add', path: '/metadata/annotations/kubevirt.io~1eviction-source', value: 'descheduler' }],
  ])('says that the descheduler asked: %s', (_title, annotations, expected) => {
    const eviction: Eviction = { metadata: { annotations: { 'requested-by': 'sigs.k8s.io/descheduler' } } };
    const instance = vmi('LiveMigrate', true, annotations ? { annotations } : {});
    const decision = decideLauncherEviction(pod('virt-launcher'), instance, eviction, clusterConfigOf({}));
    expect(decision).toMatchObject({ do: 'mark', operations: [evacuate, expected] });
  });
});

describe('pods', () => {
  it.each<[string, Pod | undefined, string | undefined, string | undefined]>([
    ['none', undefined, undefined, undefined],
    ['launcher', pod('virt-launcher'), 'vm', undefined],
    ['launcher that is over', pod('virt-launcher', { phase: 'Failed' }), undefined, undefined],
    ['launcher without a name', pod('virt-launcher', { annotations: {} }), undefined, undefined],
    ['hot-plug pod', pod('hotplug-disk', { owners: ['launcher'] }), undefined, 'launcher'],
    ['hot-plug pod of nobody', pod('hotplug-disk'), undefined, undefined],
  ])('%s', (_title, given, guest, owner) => {
    expect([guestOf(given), given && ownerOfHotplugPod(given)]).toEqual([guest, owner]);
  });

  it('keeps hot-plug pods while the guest lives', () => {
    expect(decideHotplugEviction(pod('hotplug-disk'), undefined)).toEqual({ do: 'pass' });
    expect(decideHotplugEviction(pod('hotplug-disk'), vmi('None', true)).do).toBe('deny');
  });

  it.each([
    [true, {}, true],
    [false, { deleteOptions: { dryRun: ['All'] } }, true],
    [false, {}, false],
  ])('dry run: %s %j', (requested, eviction, expected) => {
    expect(isDryRun(requested, eviction)).toBe(expected);
  });
});
