// The VMs of the journeys: the tiny guest with what a test is about.
import { NAMESPACE, TINY_IMAGE } from './harness.js';

export interface VmOptions {
  readonly node?: string;
  readonly runStrategy?: string;
  readonly binding?: 'masquerade' | 'bridge';
  readonly image?: string;
  readonly gracePeriodSeconds?: number;
  readonly userData?: string;
}

export function tinyVm(name: string, options: VmOptions = {}): object {
  const { node, runStrategy = 'Always', binding = 'masquerade', image = TINY_IMAGE, gracePeriodSeconds = 5, userData } = options;
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      runStrategy,
      template: {
        metadata: { labels: { vm: name } },
        spec: {
          ...(node ? { nodeSelector: { 'kubernetes.io/hostname': node } } : {}),
          terminationGracePeriodSeconds: gracePeriodSeconds,
          domain: {
            memory: { guest: '128Mi' },
            devices: {
              disks: [{ name: 'root', disk: { bus: 'virtio' } }, ...(userData ? [{ name: 'seed', disk: { bus: 'virtio' } }] : [])],
              interfaces: [{ name: 'default', [binding]: {} }],
            },
          },
          networks: [{ name: 'default', pod: {} }],
          volumes: [{ name: 'root', containerDisk: { image } }, ...(userData ? [{ name: 'seed', cloudInitNoCloud: { userData } }] : [])],
        },
      },
    },
  };
}

export function webPod(name: string, node: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'web',
          image: 'localhost/kubevirt-ts/busybox:1',
          imagePullPolicy: 'Never',
          command: ['sh', '-c', `mkdir -p /www && echo "hello from ${name}" > /www/index.html && httpd -f -p 80 -h /www`],
        },
      ],
    },
  };
}
