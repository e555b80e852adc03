// Pods beside a running launcher that bring it more volumes: the attachment pod, which mounts every hotplugged claim on the launcher's node,
// and the trigger pod, which makes a claim that waits for its first consumer be bound there.
import { isDeepStrictEqual } from 'node:util';
import type { Container, Pod, PodSpec, VirtualMachineInstance } from '../../api/index.js';
import { ANNOTATION, HOTPLUG_POD, LABEL } from '../../api/labels.js';
import { KvError } from '../../base/errors.js';
import { supportResources } from '../../core/resources/support-resources.js';
import type { PodContext } from './context.js';
import { emptyDir, type SecurityContext, type VolumeDevice, type VolumeMount } from './parts.js';
import { QEMU_USER } from './security.js';
import { claimVolume, isBlockClaim } from './volumes.js';

const DISKS_VOLUME = 'hotplug-disks';
const DISKS_PATH = '/path';
const HOSTNAME = 'kubernetes.io/hostname';
/** Conditions of a node under which its guests still get their disks. */
const TOLERATED = ['disk-pressure', 'memory-pressure', 'network-unavailable', 'pid-pressure', 'unschedulable'];
/** Annotations by which a pod beside a launcher is found after the launcher has gone. */
export const OWNER_NAME = 'kubevirt.io/owner-vmi-name';
export const OWNER_UID = 'kubevirt.io/owner-vmi-uid';
/** Waits until it is deleted. */
const HOLD = ['/usr/bin/container-disk'];

/** The level of user:role:type:level; a node without SELinux says none. The target of a migration takes over the source's. */
function selinuxLevel({ status, metadata }: VirtualMachineInstance): string {
  const context = status?.selinuxContext || status?.migrationState?.sourceState?.selinuxContext;
  if (!context) {
    throw new KvError('NotReady', `VMI is missing SELinux context: ${metadata.name} has not reported it yet`, {
      reason: 'MissingSELinuxContext',
    });
  }
  if (context === 'none') return 's0';
  const level = context.split(':').slice(3).join(':');
  if (level === '') throw new KvError('Invalid', `SELinux context ${context} of ${metadata.name} has no level`);
  return level;
}

const security = (vmi: VirtualMachineInstance, selinuxType: string | undefined): SecurityContext => ({
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  runAsUser: QEMU_USER,
  seccompProfile: { type: 'RuntimeDefault' },
  seLinuxOptions: { ...(selinuxType ? { type: selinuxType } : {}), level: selinuxLevel(vmi) },
});

interface Shape {
  readonly command: string[];
  readonly volumes: NonNullable<PodSpec['volumes']>;
  readonly mounts: readonly VolumeMount[];
  readonly devices: readonly VolumeDevice[];
  readonly affinity: NonNullable<PodSpec['affinity']>;
  readonly tolerations?: NonNullable<PodSpec['tolerations']>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly selinuxType?: string;
  readonly securityContext?: NonNullable<PodSpec['securityContext']>;
}

function container(vmi: VirtualMachineInstance, ctx: PodContext, { command, mounts, devices, selinuxType }: Shape): Container {
  return {
    name: HOTPLUG_POD,
    image: ctx.launcherImage,
    command,
    resources: supportResources('hotplug-disk', ctx.config) as NonNullable<Container['resources']>,
    securityContext: security(vmi, selinuxType),
    volumeMounts: [{ name: DISKS_VOLUME, mountPath: DISKS_PATH, mountPropagation: 'HostToContainer' }, ...mounts],
    ...(devices.length > 0 ? { volumeDevices: [...devices] } : {}),
  };
}

function render(vmi: VirtualMachineInstance, launcher: Pod, ctx: PodContext, shape: Shape): Pod {
  const { name = '', uid = '', namespace } = launcher.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'hp-volume-',
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [LABEL.app]: HOTPLUG_POD },
      annotations: { [OWNER_NAME]: vmi.metadata.name ?? '', [OWNER_UID]: vmi.metadata.uid ?? '', ...shape.annotations },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      terminationGracePeriodSeconds: 0,
      affinity: shape.affinity,
      ...(shape.securityContext ? { securityContext: shape.securityContext } : {}),
      ...(shape.tolerations ? { tolerations: shape.tolerations } : {}),
      containers: [container(vmi, ctx, shape)],
      volumes: [emptyDir(DISKS_VOLUME), ...shape.volumes],
    },
  };
}

/** Claim behind a volume or a utility volume of the VMI, by name. */
function claimOf({ spec }: VirtualMachineInstance, name: string): string {
  const volume = spec.volumes?.find((candidate) => candidate.name === name);
  const utility = spec.utilityVolumes?.find((candidate) => candidate.name === name);
  const claim = volume?.persistentVolumeClaim?.claimName ?? volume?.dataVolume?.name ?? volume?.memoryDump?.claimName ?? utility?.claimName;
  if (claim === undefined) throw new KvError('Invalid', `volume ${name} of the VMI names no claim that could be hotplugged`);
  return claim;
}

/** What is mounted in the launcher already must not be mounted a second time: the node agent would find two. */
function isMounted({ status }: VirtualMachineInstance, name: string): boolean {
  const entry = status?.volumeStatus?.find((candidate) => candidate.name === name);
  return entry?.hotplugVolume !== undefined && (entry.phase === 'Ready' || entry.phase === 'MountedToPod');
}

/** The launcher's, and those under which its guest still gets its disks; each once. */
function tolerations(launcher: Pod): NonNullable<PodSpec['tolerations']> {
  const own = TOLERATED.map((name) => ({ key: `node.kubernetes.io/${name}`, operator: 'Exists', effect: 'NoSchedule' }));
  const given = launcher.spec?.tolerations ?? [];
  return [...given, ...own.filter((toleration) => !given.some((other) => isDeepStrictEqual(other, toleration)))];
}

/** `volumes`: names of the VMI's volumes that the pod carries. Throws NotReady until the node has told the launcher's SELinux context. */
export function renderHotplugPod(vmi: VirtualMachineInstance, launcher: Pod, volumes: readonly string[], ctx: PodContext): Pod {
  const claims = volumes.map((name) => ({ name, claim: claimOf(vmi, name), isBlock: isBlockClaim(claimOf(vmi, name), ctx) }));
  const uidOf = (claim: string): string => ctx.pvcs.get(claim)?.metadata.uid ?? '';
  const { selinuxLauncherType } = ctx.config.spec;
  return render(vmi, launcher, ctx, {
    command: HOLD,
    volumes: claims.map(({ name, claim }) => claimVolume(name, claim)),
    mounts: claims.filter(({ name, isBlock }) => !isBlock && !isMounted(vmi, name)).map(({ name }) => ({ name, mountPath: `/${name}` })),
    devices: claims
      .filter(({ isBlock }) => isBlock)
      .map(({ name, claim }) => ({ name, devicePath: `${DISKS_PATH}/${name}/${uidOf(claim)}` })),
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [launcher.spec?.nodeName ?? ''] }] }],
        },
      },
    },
    tolerations: tolerations(launcher),
    ...(selinuxLauncherType ? { selinuxType: selinuxLauncherType } : {}),
  });
}

/** `ends`: the pod exits at once; it is there only to be scheduled. */
export function renderHotplugTriggerPod(
  vmi: VirtualMachineInstance,
  launcher: Pod,
  volume: string,
  ctx: PodContext & { ends: boolean },
): Pod {
  const claim = claimOf(vmi, volume);
  const isBlock = isBlockClaim(claim, ctx);
  return render(vmi, launcher, ctx, {
    command: ctx.ends ? ['/bin/sh', '-c', 'exit', '0'] : HOLD,
    volumes: [claimVolume(volume, claim)],
    mounts: isBlock ? [] : [{ name: volume, mountPath: '/pvc' }],
    devices: isBlock ? [{ name: volume, devicePath: '/dev/hotplugblockdevice' }] : [],
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: launcher.metadata.labels ? { matchLabels: launcher.metadata.labels } : {}, topologyKey: HOSTNAME },
        ],
      },
    },
    ...(launcher.spec?.tolerations ? { tolerations: launcher.spec.tolerations } : {}),
    ...(ctx.ends ? { annotations: { [ANNOTATION.ephemeralProvisioning]: 'true' } } : {}),
    // As upstream's pods say; the container's own user is what counts.
    ...(isBlock ? { securityContext: { runAsUser: 0 } } : {}),
  });
}
