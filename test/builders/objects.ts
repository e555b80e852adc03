// Small valid objects for tests; pass what the test is about, the rest is plain.
import type {
  Condition,
  ObjectMeta,
  PersistentVolumeClaim,
  Pod,
  VirtualMachine,
  VirtualMachineInstance,
  VirtualMachineInstanceSpec,
  VirtualMachineInstanceStatus,
  VirtualMachineSpec,
  VirtualMachineStatus,
} from '../../src/api/index.js';
import { FINALIZER } from '../../src/api/labels.js';

export const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

/** Fails the test that changes a cached object. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}

const spec = (): VirtualMachineInstanceSpec => ({
  domain: {
    devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }], interfaces: [{ name: 'default', masquerade: {} }] },
    memory: { guest: '128Mi' },
  },
  networks: [{ name: 'default', pod: {} }],
  volumes: [{ name: 'root', containerDisk: { image: 'registry.example/disk:v1' } }],
});

export interface VmParts {
  readonly spec?: Partial<VirtualMachineSpec>;
  readonly status?: VirtualMachineStatus;
  readonly metadata?: ObjectMeta;
}

/** A VM that the controller has seen before (finalizer and annotations set). */
export function vm({ spec: given, status, metadata }: VmParts = {}): VirtualMachine {
  return frozen({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'vm-uid',
      generation: 1,
      resourceVersion: '10',
      finalizers: [FINALIZER.vmController],
      annotations: { 'kubevirt.io/latest-observed-api-version': 'v1', 'kubevirt.io/storage-observed-api-version': 'v1' },
      ...metadata,
    },
    spec: { runStrategy: 'Always', template: { spec: spec() }, ...given },
    ...(status ? { status } : {}),
  });
}

export interface VmiParts {
  readonly spec?: Partial<VirtualMachineInstanceSpec>;
  readonly status?: VirtualMachineInstanceStatus;
  readonly metadata?: ObjectMeta;
  readonly conditions?: readonly Condition[];
}

/** A VMI of `vm()`. */
export function vmi({ spec: given, status, metadata, conditions }: VmiParts = {}): VirtualMachineInstance {
  return frozen({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'vmi-uid',
      resourceVersion: '20',
      creationTimestamp: '2026-01-01T11:00:00Z',
      finalizers: [FINALIZER.vmi, FINALIZER.vmController],
      ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'web', uid: 'vm-uid', controller: true }],
      ...metadata,
    },
    spec: { ...spec(), ...given },
    status: { ...status, ...(conditions ? { conditions: [...conditions] } : {}) },
  });
}

type ContainerState = NonNullable<NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]['state']>;

export interface PodParts {
  readonly phase?: string;
  readonly node?: string;
  readonly compute?: ContainerState;
  readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  readonly metadata?: ObjectMeta;
}

/** The launcher pod of `vmi()`. */
export function launcherPod({ phase = 'Pending', node, compute, conditions, metadata }: PodParts = {}): Pod {
  const status = { name: 'compute', image: '', imageID: '', ready: compute?.running !== undefined, restartCount: 0, state: compute };
  return frozen({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'virt-launcher-web-abcde',
      namespace: 'shop',
      uid: 'pod-uid',
      creationTimestamp: '2026-01-01T11:00:01Z',
      labels: { 'kubevirt.io': 'virt-launcher' },
      annotations: { 'kubevirt.io/migrationTransportUnix': 'true' },
      ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: 'web', uid: 'vmi-uid', controller: true }],
      ...metadata,
    },
    spec: { ...(node ? { nodeName: node } : {}), containers: [{ name: 'compute', image: 'launcher:1' }] },
    status: { phase, ...(compute ? { containerStatuses: [status] } : {}), ...(conditions ? { conditions: [...conditions] } : {}) },
  } as Pod);
}

export const RUNNING: ContainerState = { running: { startedAt: '2026-01-01T11:00:02Z' } };

export const pvc = (name: string, phase = 'Bound'): PersistentVolumeClaim =>
  frozen({ metadata: { name, namespace: 'shop' }, spec: { accessModes: ['ReadWriteOnce'] }, status: { phase } });
