// What the pods of all components have in common: labels, security, priority, spreading, volumes of certificates. Pure.
import type { Container, PodSpec, PodVolume } from '../../../api/index.js';
import { LABEL } from '../../../api/index.js';
import type { InstallContext } from '../install-context.js';

type Mount = NonNullable<Container['volumeMounts']>[number];
type EnvVar = NonNullable<Container['env']>[number];

export const PRIORITY_CLASS = 'kubevirt-cluster-critical';
export const VERSION_LABEL = 'app.kubernetes.io/version';

/** Without a limit the space for new objects grows to 48 MiB in a busy process; what our processes do is as quick with a small one. */
export const NODE_FLAGS: readonly string[] = ['--max-semi-space-size=4'];
/** Each process is one file of its image. */
export const processCommand = (name: string): string[] => ['/usr/local/bin/node', ...NODE_FLAGS, `/app/${name}.js`];

export interface VolumeWithMount {
  readonly volume: PodVolume;
  readonly mount: Mount;
}

export const secretVolume = (secretName: string, mountPath: string, optional = false): VolumeWithMount => ({
  volume: { name: secretName, secret: { secretName, optional } },
  mount: { name: secretName, mountPath, readOnly: true },
});

export const scratchVolume = (name: string, mountPath: string): VolumeWithMount => ({
  volume: { name, emptyDir: {} },
  mount: { name, mountPath },
});

export const hostVolume = (name: string, path: string, mount: Omit<Mount, 'name'>): VolumeWithMount => ({
  volume: { name, hostPath: { path } },
  mount: { name, ...mount },
});

export const PROFILE_DATA = scratchVolume('profile-data', '/profile-data');

export const CRITICAL_TOLERATION = { key: 'CriticalAddonsOnly', operator: 'Exists' } as const;

export function podLabels(context: Pick<InstallContext, 'version'>, name: string): Record<string, string> {
  return {
    [LABEL.app]: name,
    [VERSION_LABEL]: context.version,
    'prometheus.kubevirt.io': 'true',
    'np.kubevirt.io/allow-access-cluster-services': 'true',
  };
}

/** Two of a kind on one node help nobody; but better there than nowhere. */
export const spreadByHost = (name: string): NonNullable<PodSpec['affinity']> => ({
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        weight: 1,
        podAffinityTerm: {
          labelSelector: { matchExpressions: [{ key: LABEL.app, operator: 'In', values: [name] }] },
          topologyKey: 'kubernetes.io/hostname',
        },
      },
    ],
  },
});

export const RESTRICTED_CONTAINER: NonNullable<Container['securityContext']> = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

export const RESTRICTED_POD: NonNullable<PodSpec['securityContext']> = {
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

export const tcpPort = (name: string, containerPort: number): NonNullable<Container['ports']>[number] => ({
  name,
  containerPort,
  protocol: 'TCP',
});

/**
 * Ready as soon as the process answers, asked once a second: a fixed first delay would be waited out on every start. A minute is
 * long enough for a loaded node; then the kubelet restarts the container.
 */
export const startup = (path: string): NonNullable<Container['startupProbe']> => ({
  httpGet: httpsGet(path),
  periodSeconds: 1,
  failureThreshold: 60,
  timeoutSeconds: 5,
});

export const httpsGet = (path: string, port = 8443): NonNullable<NonNullable<Container['readinessProbe']>['httpGet']> => ({
  scheme: 'HTTPS',
  path,
  port,
});

/**
 * Requests are weights when processors are short: with the 5m to 10m that the reference asks for, guests that compute starve the processes
 * that watch over them, until leases run out (docs/adr/0009).
 */
export const CPU = { handler: '100m', controller: '100m', api: '50m', operator: '50m' } as const;

export const requests = (cpu: string, memory: string): NonNullable<Container['resources']> => ({ requests: { cpu, memory } });

export const extraEnv = ({ extraEnv: given }: Pick<InstallContext, 'extraEnv'>): EnvVar[] =>
  Object.entries(given).map(([name, value]) => ({ name, value }));

export const fieldEnv = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });

export const pullSecrets = ({ spec }: Pick<InstallContext, 'spec'>): Pick<PodSpec, 'imagePullSecrets'> =>
  spec.imagePullSecrets?.length ? { imagePullSecrets: spec.imagePullSecrets.map(({ name }) => ({ name: name ?? '' })) } : {};
