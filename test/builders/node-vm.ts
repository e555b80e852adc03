// A VMI as virt-controller hands it to a node, and the domain a launcher reports for it, with what a test wants to be different.
import type { DomainReport, DomainState } from '../../src/api/domain-report.js';
import type { VirtualMachineInstance, VirtualMachineInstanceStatus } from '../../src/api/index.js';

export const UID = '11111111-2222-3333-4444-555555555555';
/** Short, because socket paths are. */
export const POD_UID = 'pod-uid';
export const NODE = 'node1';
export const NOW = Date.parse('2026-11-30T12:00:00Z');

export interface VmiChanges {
  readonly metadata?: Partial<VirtualMachineInstance['metadata']>;
  readonly spec?: Partial<VirtualMachineInstance['spec']>;
  readonly status?: Partial<VirtualMachineInstanceStatus>;
}

export function nodeVmi({ metadata, spec, status }: VmiChanges = {}): VirtualMachineInstance {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'vm', namespace: 'default', uid: UID, resourceVersion: '1', labels: { 'kubevirt.io/nodeName': NODE }, ...metadata },
    spec: {
      domain: { devices: { interfaces: [{ name: 'default', masquerade: {} }], disks: [{ name: 'root', disk: { bus: 'virtio' } }] } },
      networks: [{ name: 'default', pod: {} }],
      volumes: [{ name: 'root', containerDisk: { image: 'guest' } }],
      terminationGracePeriodSeconds: 30,
      ...spec,
    },
    status: { phase: 'Scheduled', nodeName: NODE, activePods: { [POD_UID]: NODE }, migrationTransport: 'Unix', ...status },
  };
}

export interface DomainChanges {
  readonly reason?: string;
  readonly spec?: Partial<DomainReport['spec']>;
  readonly status?: Partial<DomainReport['status']>;
  readonly uid?: string;
}

export function nodeDomain(status: DomainState, { reason, spec, uid = UID, status: more }: DomainChanges = {}): DomainReport {
  return {
    metadata: { name: 'vm', namespace: 'default', uid },
    spec: { disks: [{ name: 'root', target: 'vda' }], interfaces: [{ name: 'default', mac: '02:00:00:aa:bb:cc' }], ...spec },
    status: { status, ...(reason === undefined ? {} : { reason }), ...more },
  };
}
