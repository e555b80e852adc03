// virt-handler, the node agent, as a DaemonSet: privileged, in the node's PID namespace, with the kubelet's folders. Its init
// container asks the launcher image's libvirt what this node can do, before the agent labels the node with it. Pure.
import { type Container, type DaemonSet, LABEL, type PodSpec } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import { allowsPersistentReservation, hypervisorOf } from '../../../core/config/cluster-lookups.js';
import { RESERVATION_DIR, RESERVATION_SOCKET } from '../../../core/storage/paths.js';
import type { InstallContext } from '../install-context.js';
import { ACCOUNT, SECRET } from './names.js';
import { placed } from './placement.js';
import {
  CPU,
  CRITICAL_TOLERATION,
  extraEnv,
  fieldEnv,
  hostVolume,
  httpsGet,
  PRIORITY_CLASS,
  PROFILE_DATA,
  podLabels,
  processCommand,
  pullSecrets,
  requests,
  secretVolume,
  startup,
  tcpPort,
  VERSION_LABEL,
  type VolumeWithMount,
} from './pod-parts.js';

/** A guest's storage that is away holds a thread of the agent for as long; with Node's own four, four such guests would stop it. */
const FILE_THREADS = { name: 'UV_THREADPOOL_SIZE', value: '16' };

const NAME = 'virt-handler';
/** The agent waits this long for migrations before it ends, and the kubelet a little longer. */
const GRACEFUL_SECONDS = 315;
const GRACE_PERIOD_SECONDS = 330;

/** A folder of the node that is made where it is missing. */
const ownFolder = ({ volume, mount }: VolumeWithMount): VolumeWithMount => ({
  volume: { ...volume, hostPath: { path: volume.hostPath?.path ?? '', type: 'DirectoryOrCreate' } },
  mount,
});

const NODE_LABELLER = hostVolume('node-labeller', '/var/lib/kubevirt-node-labeller', { mountPath: '/var/lib/kubevirt-node-labeller' });

/** What the helper for reservations sees of the node: LUNs come and go in /dev while it runs. */
const RESERVATION_VOLUMES: readonly VolumeWithMount[] = [
  ownFolder(hostVolume('pr-helper-socket-vol', RESERVATION_DIR, { mountPath: RESERVATION_DIR })),
  hostVolume('dev-dir', '/dev', { mountPath: '/dev', mountPropagation: 'HostToContainer' }),
  ownFolder(hostVolume('etc-multipath', '/etc/multipath', { mountPath: '/etc/multipath' })),
];

const VOLUMES: readonly VolumeWithMount[] = [
  secretVolume(SECRET.handlerServer, '/etc/virt-handler/servercertificates'),
  secretVolume(SECRET.migrationClient, '/etc/virt-handler/migrationservercertificates'),
  secretVolume(SECRET.vsockClient, '/etc/virt-handler/vsockclientcertificates'),
  PROFILE_DATA,
  hostVolume('libvirt-runtimes', '/var/run/kubevirt-libvirt-runtimes', { mountPath: '/var/run/kubevirt-libvirt-runtimes' }),
  hostVolume('virt-share-dir', '/var/run/kubevirt', { mountPath: '/var/run/kubevirt', mountPropagation: 'Bidirectional' }),
  hostVolume('virt-private-dir', '/var/run/kubevirt-private', { mountPath: '/var/run/kubevirt-private' }),
  // Container disks are bind-mounted into the launchers' folders: the mounts must reach the node, and from there the launchers.
  hostVolume('kubelet-pods', '/var/lib/kubelet/pods', { mountPath: '/pods', mountPropagation: 'Bidirectional' }),
  hostVolume('kubelet', '/var/lib/kubelet', { mountPath: '/var/lib/kubelet', mountPropagation: 'HostToContainer' }),
  NODE_LABELLER,
  {
    volume: {
      name: 'podinfo',
      downwardAPI: {
        items: [{ path: 'network-status', fieldRef: { fieldPath: "metadata.annotations['k8s.v1.cni.cncf.io/network-status']" } }],
      },
    },
    mount: { name: 'podinfo', mountPath: '/etc/podinfo' },
  },
];

function agent(context: InstallContext): Container {
  return {
    name: NAME,
    image: context.handlerImage,
    imagePullPolicy: context.imagePullPolicy,
    command: processCommand(NAME),
    args: [
      ...['--port', '8443', '--hostname-override', '$(NODE_NAME)', '--pod-ip-address', '$(MY_POD_IP)', '--max-metric-requests', '3'],
      ...['--console-server-port', '8186', '--vmstats-server-port', '8187', '--graceful-shutdown-seconds', String(GRACEFUL_SECONDS)],
      ...['--migration-cn-types', 'migration', '-v', '2'],
    ],
    env: [fieldEnv('NODE_NAME', 'spec.nodeName'), fieldEnv('MY_POD_IP', 'status.podIP'), FILE_THREADS, ...extraEnv(context)],
    ports: [tcpPort('metrics', 8443), tcpPort('vmstats', 8187)],
    startupProbe: startup('/healthz'),
    livenessProbe: { httpGet: httpsGet('/healthz'), failureThreshold: 3, periodSeconds: 45, timeoutSeconds: 10 },
    readinessProbe: { httpGet: httpsGet('/healthz'), periodSeconds: 20, timeoutSeconds: 10 },
    resources: requests(CPU.handler, '325Mi'),
    securityContext: { privileged: true, runAsUser: 0, seLinuxOptions: { level: 's0' } },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: VOLUMES.map(({ mount }) => mount),
  };
}

function labeller(context: InstallContext): Container {
  const config = clusterConfigOf(context.spec.configuration);
  const hypervisor = hypervisorOf(config);
  return {
    name: 'virt-launcher',
    image: context.launcherImage,
    imagePullPolicy: context.imagePullPolicy,
    command: processCommand('node-labeller'),
    env: [
      // A cluster that emulates its guests offers the CPU models of the emulator, whatever the nodes' hardware could do.
      { name: 'PREFERRED_VIRTTYPE', value: config.useEmulation ? 'qemu' : hypervisor.virtType },
      { name: 'HYPERVISOR_DEVICE', value: hypervisor.device },
    ],
    securityContext: { privileged: true, runAsUser: 0 },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [NODE_LABELLER.mount],
  };
}

/** Keeps the launcher image on every node, where launcher pods have no pull secret of their own. */
function imageHolder(context: InstallContext): Container[] {
  if (!context.spec.imagePullSecrets?.length) return [];
  return [
    {
      name: 'virt-launcher-image-holder',
      image: context.launcherImage,
      imagePullPolicy: context.imagePullPolicy,
      command: ['/bin/sh', '-c'],
      args: ['sleep infinity'],
      resources: { limits: { cpu: '100m', memory: '20Mi' } },
      terminationMessagePolicy: 'FallbackToLogsOnError',
    },
  ];
}

const keepsReservations = ({ spec }: InstallContext): boolean => allowsPersistentReservation(clusterConfigOf(spec.configuration));

/**
 * Issues the persistent reservations of guests on their LUNs. A process of its own, which the kubelet starts again: guests connect anew.
 * QEMU and its helper come from one image, and that one is on the node already.
 */
function reservationHelper(context: InstallContext): Container[] {
  if (!keepsReservations(context)) return [];
  return [
    {
      name: 'pr-helper',
      image: context.launcherImage,
      imagePullPolicy: context.imagePullPolicy,
      command: ['/usr/bin/qemu-pr-helper'],
      args: ['-k', RESERVATION_SOCKET],
      securityContext: { privileged: true, runAsUser: 0 },
      terminationMessagePolicy: 'FallbackToLogsOnError',
      volumeMounts: RESERVATION_VOLUMES.map(({ mount }) => mount),
    },
  ];
}

function annotations({ spec }: InstallContext): Record<string, string> {
  const network = spec.configuration?.migrations?.network;
  return {
    'openshift.io/required-scc': 'kubevirt-handler',
    ...(network ? { 'k8s.v1.cni.cncf.io/networks': `${network}@migration0` } : {}),
  };
}

export function virtHandler(context: InstallContext): DaemonSet {
  const volumes = [...VOLUMES, ...(keepsReservations(context) ? RESERVATION_VOLUMES : [])];
  const pod: PodSpec = {
    serviceAccountName: ACCOUNT.handler,
    priorityClassName: PRIORITY_CLASS,
    hostPID: true,
    terminationGracePeriodSeconds: GRACE_PERIOD_SECONDS,
    tolerations: [CRITICAL_TOLERATION],
    initContainers: [labeller(context)],
    containers: [agent(context), ...imageHolder(context), ...reservationHelper(context)],
    volumes: volumes.map(({ volume }) => volume),
    ...pullSecrets(context),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: NAME, namespace: context.namespace, labels: { [LABEL.app]: NAME, [VERSION_LABEL]: context.version } },
    spec: {
      selector: { matchLabels: { [LABEL.app]: NAME } },
      updateStrategy: { type: 'RollingUpdate' },
      template: {
        metadata: { name: NAME, labels: podLabels(context, NAME), annotations: annotations(context) },
        spec: placed(pod, context.spec.workloads, 'workloads'),
      },
    },
  };
}
