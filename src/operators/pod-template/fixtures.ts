// A VMI and a context that the tests of this folder start from. Tests only.
import type { KubeVirtConfiguration, PersistentVolumeClaim, VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../api/index.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import type { PodContext } from './context.js';

type Domain = VirtualMachineInstanceSpec['domain'];

export function demoVmi(spec: Partial<VirtualMachineInstanceSpec> = {}, domain: Partial<Domain> = {}): VirtualMachineInstance {
  return {
    metadata: { name: 'demo', namespace: 'default', uid: 'uid-1' },
    spec: {
      networks: [{ name: 'default', pod: {} }],
      volumes: [{ name: 'root', containerDisk: { image: 'registry.example/disk:v1', imagePullPolicy: 'IfNotPresent' } }],
      ...spec,
      domain: {
        cpu: { cores: 1, model: 'host-model' },
        machine: { type: 'q35' },
        memory: { guest: '128Mi' },
        ...domain,
        devices: {
          disks: [{ name: 'root', disk: { bus: 'virtio' } }],
          interfaces: [{ name: 'default', masquerade: {} }],
          ...domain.devices,
        },
      },
    },
    status: { runtimeUser: 107 },
  };
}

export const annotated = (annotations: Record<string, string>, vmi = demoVmi()): VirtualMachineInstance => ({
  ...vmi,
  metadata: { ...vmi.metadata, annotations },
});

export function context(over: Partial<PodContext> = {}, config: KubeVirtConfiguration = {}): PodContext {
  return {
    config: clusterConfigOf(config),
    launcherImage: 'registry.example/launcher:v1',
    imageVolumes: true,
    qemuTimeoutSeconds: 250,
    pvcs: new Map(),
    ...over,
  };
}

export const gates = (...featureGates: string[]): KubeVirtConfiguration => ({ developerConfiguration: { featureGates } });

export const claim = (name: string, volumeMode: 'Filesystem' | 'Block'): [string, PersistentVolumeClaim] => [
  name,
  { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec: { volumeMode } },
];
