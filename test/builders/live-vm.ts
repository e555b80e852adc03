// A VM, the guest that was started from it, and what became of both since: for tests of what a running guest takes over.
import type { Condition, KubeVirtConfiguration, VirtualMachineInstanceSpec, VirtualMachineStatus } from '../../src/api/index.js';
import { clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { decideLive } from '../../src/operators/vm/live.js';
import { startRevision } from '../../src/operators/vm/revision.js';
import type { Seen } from '../../src/operators/vm/seen.js';
import { NOW, vm, vmi } from './objects.js';

export type Spec = VirtualMachineInstanceSpec;
export type Change = (spec: Spec) => void;

/** What the VM was started with. */
export const base = (): Spec => ({
  architecture: 'amd64',
  domain: {
    cpu: { sockets: 1, cores: 1, threads: 1 },
    memory: { guest: '1Gi' },
    devices: {
      disks: [
        { name: 'root', disk: { bus: 'virtio' } },
        { name: 'drive', cdrom: { bus: 'sata' } },
      ],
      interfaces: [{ name: 'default', masquerade: {} }],
    },
  },
  networks: [{ name: 'default', pod: {} }],
  volumes: [{ name: 'root', containerDisk: { image: 'disk:v1' } }],
});

export const changed = (...changes: Change[]): Spec => {
  const spec = base();
  for (const change of changes) change(spec);
  return spec;
};

export const hot = (name: string, claimName = name) => ({ name, persistentVolumeClaim: { claimName, hotpluggable: true } });
export const plug =
  (name: string, claimName = name): Change =>
  (spec) => {
    spec.volumes = [...(spec.volumes ?? []), hot(name, claimName)];
    if (name !== 'drive') spec.domain.devices.disks = [...(spec.domain.devices.disks ?? []), { name, disk: { bus: 'scsi' } }];
  };
export const dumpVolume: Change = (spec) => {
  spec.volumes = [...(spec.volumes ?? []), { name: 'dump', memoryDump: { claimName: 'dump', hotpluggable: true } }];
};
export const sockets =
  (count: number): Change =>
  (spec) => {
    spec.domain.cpu = { ...spec.domain.cpu, sockets: count };
  };
export const memory =
  (guest: string): Change =>
  (spec) => {
    spec.domain.memory = { ...spec.domain.memory, guest };
  };
export const nic =
  (name: string, more: object = {}): Change =>
  (spec) => {
    spec.domain.devices.interfaces = [...(spec.domain.devices.interfaces ?? []), { name, bridge: {}, ...more }];
    spec.networks = [...(spec.networks ?? []), { name, multus: { networkName: name } }];
  };
export const link =
  (state: string): Change =>
  (spec) => {
    spec.domain.devices.interfaces =
      spec.domain.devices.interfaces?.map((each) => (each.name === 'default' ? { ...each, state } : each)) ?? [];
  };
export const limits =
  (of: object): Change =>
  (spec) => {
    spec.domain.resources = { limits: of } as NonNullable<Spec['domain']['resources']>;
  };

export interface Scene {
  /** Of the template, after the start. */
  readonly now?: readonly Change[];
  /** Of template and VMI, before the start. */
  readonly from?: readonly Change[];
  /** Of the VMI, since. */
  readonly running?: readonly Change[];
  readonly conditions?: readonly Condition[];
  readonly status?: object;
  readonly vmStatus?: VirtualMachineStatus;
  readonly configuration?: KubeVirtConfiguration;
  readonly phase?: string;
}

export function scene({
  now = [],
  from = [],
  running = [],
  conditions = [],
  status,
  vmStatus,
  configuration = {},
  phase = 'Running',
}: Scene): Seen {
  const at = vm({ spec: { template: { spec: changed(...from) } } });
  const ceilings: Change = ({ domain }) => {
    domain.cpu = { ...domain.cpu, maxSockets: 4 };
    domain.memory = { ...domain.memory, maxGuest: '4Gi' };
  };
  return {
    vm: vm({ spec: { template: { spec: changed(...from, ...now) } }, ...(vmStatus ? { status: vmStatus } : {}) }),
    vmi: vmi({
      spec: changed(...from, ceilings, ...running),
      status: {
        phase: phase as 'Running',
        virtualMachineRevisionName: 'revision-start-vm-vm-uid-1',
        memory: { guestAtBoot: '1Gi', guestCurrent: '1Gi' },
        ...status,
      },
      conditions,
    }),
    revisions: [startRevision(at)],
    dataVolumes: new Map(),
    templateClaims: new Set(),
    hasCdi: true,
    config: clusterConfigOf(configuration),
    settled: true,
  };
}

/** `path=value` of everything that is written. */
export const patches = (seen: Seen): string[] =>
  decideLive(seen, NOW).steps.flatMap((step) => {
    if (step.do === 'noteDump') return [`note ${step.claim}: ${step.note}`];
    const target = step.do === 'patchVm' ? 'vm ' : '';
    return step.ops.filter(({ op }) => op !== 'test').map(({ op, path, value }) => `${target}${op} ${path} ${shown(value)}`.trim());
  });

export function shown(value: unknown): string {
  if (Array.isArray(value))
    return value.map((each: { name?: string; type?: string; key?: string }) => each.name ?? each.type ?? each.key).join('+');
  return typeof value === 'object' && value !== null ? Object.keys(value).join('+') : `${value ?? ''}`;
}
