// Daemons for paths of the compute container: which volumes get one, what is mounted into it, and why others get none.
import { describe, expect, it } from 'vitest';
import type { Pod, VirtualMachineInstance } from '../../api/index.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import { containerPathDaemons, owningVmi } from './launcher-pod.js';

const vmi = (containerPath: object): VirtualMachineInstance =>
  ({
    metadata: { name: 'vm', namespace: 'ns' },
    spec: {
      domain: { devices: { filesystems: [{ name: 'shared', virtiofs: {} }] } },
      volumes: [
        { name: 'shared', containerPath },
        { name: 'not-shown', containerPath },
      ],
    },
  }) as VirtualMachineInstance;

const pod = (source: object, mountPath = '/data'): Pod =>
  ({
    metadata: { name: 'pod' },
    spec: {
      containers: [
        {
          name: 'compute',
          image: 'launcher:1',
          volumeMounts: [
            { name: 'root', mountPath: '/var' },
            { name: 'found', mountPath },
          ],
        },
      ],
      volumes: [
        { name: 'root', hostPath: { path: '/' } },
        { name: 'found', ...source },
      ],
    },
  }) as Pod;

const daemons = (containerPath: object, launcher: Pod, configuration = {}) =>
  containerPathDaemons(vmi(containerPath), launcher, clusterConfigOf(configuration));

describe('containerPathDaemons', () => {
  it('shows a directory below a mount, read-only and as the user of QEMU', () => {
    const { containers, left } = daemons({ path: '/data/a/b', readOnly: true }, pod({ configMap: { name: 'c' } }));
    expect(left).toEqual([]);
    expect(containers).toEqual([
      {
        name: 'virtiofs-shared',
        image: 'launcher:1',
        imagePullPolicy: 'IfNotPresent',
        command: ['/usr/libexec/virtiofsd'],
        args: [
          '--socket-path=/var/run/kubevirt/virtiofs-containers/shared.sock',
          '--shared-dir=/virtiofs-data/shared',
          '--sandbox=none',
          '--cache=auto',
          '--migration-on-error=guest-error',
          '--migration-mode=find-paths',
        ],
        volumeMounts: [
          { name: 'virtiofs-containers', mountPath: '/var/run/kubevirt/virtiofs-containers' },
          { name: 'found', mountPath: '/virtiofs-data/shared', readOnly: true, subPath: 'a/b' },
        ],
        resources: { requests: { cpu: '10m', memory: '1M' }, limits: { cpu: '100m', memory: '80M' } },
        securityContext: {
          runAsUser: 107,
          runAsGroup: 107,
          runAsNonRoot: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        },
      },
    ]);
  });

  it('lets root of the guest follow the links of service account tokens', () => {
    const token = { projected: { sources: [{ configMap: {} }, { serviceAccountToken: { path: 'token' } }] } };
    const [container] = daemons({ path: '/data', readOnly: true }, pod(token)).containers;
    expect(container?.args).toContain('--translate-uid=host:107:0:1');
    expect(container?.volumeMounts?.[1]).toEqual({ name: 'found', mountPath: '/virtiofs-data/shared', readOnly: true });
  });

  it('takes the most specific mount', () => {
    const [container] = daemons({ path: '/var/deep/er', readOnly: true }, pod({ emptyDir: {} }, '/var/deep')).containers;
    expect(container?.volumeMounts?.[1]).toMatchObject({ name: 'found', subPath: 'er' });
  });

  it.each<[string, object, Pod, RegExp]>([
    ['writable', { path: '/data' }, pod({ secret: {} }), /readOnly to true/],
    ['a path beside all mounts', { path: '/database', readOnly: true }, pod({ secret: {} }), /nothing is mounted at \/database/],
    ['a path of the host', { path: '/var/x', readOnly: true }, pod({ secret: {} }), /root is none of configMap/],
    [
      'a mount without volume',
      { path: '/data', readOnly: true },
      { ...pod({}), spec: { ...pod({}).spec, volumes: [] } } as Pod,
      /no volume found/,
    ],
    [
      'no compute container',
      { path: '/data', readOnly: true },
      { metadata: {}, spec: { containers: [] } } as unknown as Pod,
      /no container compute/,
    ],
  ])('leaves out %s', (_title, containerPath, launcher, reason) => {
    const { containers, left } = daemons(containerPath, launcher);
    expect(containers).toEqual([]);
    expect(left).toEqual([expect.stringMatching(reason)]);
  });

  it('finds the owner among others', () => {
    const owner = (kind: string, apiVersion: string) => ({ kind, apiVersion, name: kind.toLowerCase(), uid: 'u' });
    const owned = (...ownerReferences: object[]) => owningVmi({ metadata: { ownerReferences } } as Pod);
    expect(owned(owner('Job', 'batch/v1'), owner('VirtualMachineInstance', 'kubevirt.io/v1'))).toBe('virtualmachineinstance');
    expect(owned(owner('VirtualMachineInstance', 'other/v1'))).toBeUndefined();
  });
});
