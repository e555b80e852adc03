// The VM that the benchmarks create: the tiny guest with the network everybody uses, as `kubectl apply` would send it. Pure.
import type { VirtualMachine } from '../../src/api/index.js';

export const NAMESPACE = 'bench';
/** The guest's memory. */
export const GUEST_MIB = 128;
const IMAGE = 'localhost/kubevirt-ts/guest-tiny:dev';

export function benchVm(name: string, node?: string): VirtualMachine {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      runStrategy: 'Always',
      template: {
        metadata: { labels: { bench: name } },
        spec: {
          ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
          terminationGracePeriodSeconds: 30,
          domain: {
            memory: { guest: `${GUEST_MIB}Mi` },
            devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }], interfaces: [{ name: 'default', masquerade: {} }] },
          },
          networks: [{ name: 'default', pod: {} }],
          volumes: [{ name: 'root', containerDisk: { image: IMAGE, imagePullPolicy: 'IfNotPresent' } }],
        },
      },
    },
  } as VirtualMachine;
}
