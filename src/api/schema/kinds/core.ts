// Kinds of the group kubevirt.io: virtual machines, what runs and moves them, and the installation itself.
import { AGE, condition, type KindRow, type KindVersion, NO_SUBRESOURCES, replicaColumns, STATUS, STATUS_AND_SCALE, text } from './row.js';

const V1_AND_OLD: readonly KindVersion[] = [
  { name: 'v1', stored: true },
  { name: 'v1alpha3', stored: false, warning: 'kubevirt.io/v1alpha3 is now deprecated and will be removed in a future release.' },
];

const presetWarning = (version: string): string =>
  `kubevirt.io/${version} VirtualMachineInstancePresets is now deprecated and will be removed in v2.`;

const CORE = { group: 'kubevirt.io', inAll: true, namespaced: true, versions: V1_AND_OLD } as const;

export const CORE_KINDS: readonly KindRow[] = [
  {
    ...CORE,
    kind: 'VirtualMachine',
    plural: 'virtualmachines',
    shortNames: ['vm', 'vms'],
    subresources: STATUS,
    columns: [
      AGE,
      text('Status', '.status.printableStatus', { description: 'State in one word, for people' }),
      text('Ready', condition('Ready')),
    ],
  },
  {
    ...CORE,
    kind: 'VirtualMachineInstance',
    plural: 'virtualmachineinstances',
    shortNames: ['vmi', 'vmis'],
    // Without a status subresource: whoever may write a VMI may write its status too, which the webhooks then restrict.
    subresources: NO_SUBRESOURCES,
    columns: [
      AGE,
      text('Phase', '.status.phase'),
      text('IP', '.status.interfaces[0].ipAddress'),
      text('NodeName', '.status.nodeName'),
      text('Ready', condition('Ready')),
      text('Live-Migratable', condition('LiveMigratable'), { priority: 1 }),
      text('Paused', condition('Paused'), { priority: 1 }),
    ],
  },
  {
    ...CORE,
    kind: 'VirtualMachineInstanceReplicaSet',
    plural: 'virtualmachineinstancereplicasets',
    shortNames: ['vmirs', 'vmirss'],
    subresources: STATUS_AND_SCALE,
    columns: replicaColumns('VirtualMachineInstances'),
  },
  {
    ...CORE,
    kind: 'VirtualMachineInstancePreset',
    plural: 'virtualmachineinstancepresets',
    shortNames: ['vmipreset', 'vmipresets'],
    // The old version is the stored one and stays so until the kind goes: a change would have to rewrite every object.
    versions: [
      { name: 'v1', stored: false, warning: presetWarning('v1') },
      { name: 'v1alpha3', stored: true, warning: presetWarning('v1alpha3') },
    ],
    subresources: NO_SUBRESOURCES,
    columns: [],
  },
  {
    ...CORE,
    kind: 'VirtualMachineInstanceMigration',
    plural: 'virtualmachineinstancemigrations',
    shortNames: ['vmim', 'vmims'],
    subresources: STATUS,
    columns: [
      text('Phase', '.status.phase', { description: 'How far the migration is' }),
      text('VMI', '.spec.vmiName', { description: 'Name of the VMI that moves' }),
    ],
  },
  {
    ...CORE,
    kind: 'KubeVirt',
    plural: 'kubevirts',
    shortNames: ['kv', 'kvs'],
    subresources: STATUS,
    columns: [AGE, text('Phase', '.status.phase')],
  },
];
