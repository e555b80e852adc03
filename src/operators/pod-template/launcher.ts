// The pod that carries one VMI's guest, from the VMI and what is known about the cluster. Pure; called by the VMI controller for a new
// guest, by the migration controller for a target, and for claims that wait for their first consumer.
import type { Container, Pod, PodSpec, VirtualMachineInstance } from '../../api/index.js';
import { ANNOTATION, POD_UNPAUSED_CONDITION } from '../../api/labels.js';
import { guestHostname } from '../../core/network/hostname.js';
import { overheadOf } from '../../core/resources/memory-overhead.js';
import { computeContainer, graceSeconds, KILL_MARGIN_SECONDS } from './compute.js';
import { containerDisks, pullSecrets } from './container-disks.js';
import type { PodContext } from './context.js';
import { withImageDigests } from './image-digests.js';
import { hasIstio, launcherMetadata } from './metadata.js';
import { keptAttachments } from './networks.js';
import { affinity, nodeSelector } from './node-selection.js';
import { ownVolumes } from './own-volumes.js';
import { type AllParts, combine } from './parts.js';
import { podSecurity } from './security.js';
import { filesystemParts, hookParts } from './sidecars.js';
import { vmiVolumes } from './volumes.js';

function allParts(vmi: VirtualMachineInstance, ctx: PodContext): AllParts {
  return combine([
    ...ownVolumes(vmi, ctx),
    vmiVolumes(vmi, ctx),
    ...containerDisks(vmi, ctx),
    ...filesystemParts(vmi, ctx),
    ...hookParts(vmi, ctx),
  ]);
}

function serviceAccount(vmi: VirtualMachineInstance): Pick<PodSpec, 'automountServiceAccountToken' | 'serviceAccountName'> {
  const shown = (vmi.spec.volumes ?? []).find((volume) => volume.serviceAccount)?.serviceAccount?.serviceAccountName;
  const name = vmi.spec.serviceAccountName || shown;
  return {
    automountServiceAccountToken: shown !== undefined || hasIstio(vmi),
    ...(name ? { serviceAccountName: name } : {}),
  };
}

/** Fields that a pod has under the same name and meaning. */
function copied({ spec }: VirtualMachineInstance): Partial<PodSpec> {
  const { subdomain, tolerations, topologySpreadConstraints, schedulerName, priorityClassName, dnsPolicy, dnsConfig, resourceClaims } =
    spec;
  const given = {
    subdomain,
    tolerations,
    topologySpreadConstraints,
    schedulerName,
    priorityClassName,
    dnsPolicy,
    dnsConfig,
    resourceClaims,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== '')) as Partial<PodSpec>;
}

function podSpec(vmi: VirtualMachineInstance, ctx: PodContext, parts: AllParts, compute: Container): PodSpec {
  const wanted = affinity(vmi, ctx);
  const secrets = pullSecrets(vmi, ctx);
  const { defaultRuntimeClass } = ctx.config.spec;
  return {
    ...copied(vmi),
    hostname: guestHostname(vmi),
    restartPolicy: 'Never',
    enableServiceLinks: false,
    readinessGates: [{ conditionType: POD_UNPAUSED_CONDITION }],
    terminationGracePeriodSeconds: graceSeconds(vmi) + 2 * KILL_MARGIN_SECONDS,
    securityContext: podSecurity(vmi, ctx),
    ...serviceAccount(vmi),
    nodeSelector: nodeSelector(vmi, ctx.config),
    ...(wanted ? { affinity: wanted as NonNullable<PodSpec['affinity']> } : {}),
    ...(defaultRuntimeClass ? { runtimeClassName: defaultRuntimeClass } : {}),
    ...(secrets.length > 0 ? { imagePullSecrets: secrets } : {}),
    ...(parts.initContainers.length > 0 ? { initContainers: [...parts.initContainers] } : {}),
    containers: [compute, ...parts.containers],
    volumes: [...parts.volumes],
  };
}

/** Throws KvError Invalid when the VMI cannot be rendered, NotFound or NotReady while something it names is missing. */
export function renderLauncherPod(vmi: VirtualMachineInstance, ctx: PodContext): Pod {
  const overhead = overheadOf(vmi, ctx.config);
  const parts = allParts(vmi, ctx);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: launcherMetadata(vmi, ctx, overhead),
    spec: podSpec(vmi, ctx, parts, computeContainer(vmi, ctx, overhead, parts)),
  };
}

/** A pod like the launcher's that ends at once: claims that wait for their first consumer are bound where the launcher would run. */
export function renderTemporaryPod(vmi: VirtualMachineInstance, ctx: PodContext): Pod {
  const pod = renderLauncherPod(vmi, ctx);
  const [compute, ...others] = pod.spec?.containers ?? [];
  const spec = pod.spec &&
    compute && {
      ...pod.spec,
      containers: [{ ...compute, command: ['/bin/sh'], args: ['-c', 'echo "bound PVCs"'] }, ...others],
    };
  return {
    ...pod,
    ...(spec ? { spec } : {}),
    metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [ANNOTATION.ephemeralProvisioning]: 'true' } },
  };
}

/** The target of a migration runs the very images that the source pulled, whatever their tags mean by now, on links of the same names. */
export function renderMigrationTargetPod(vmi: VirtualMachineInstance, sourcePod: Pod, ctx: PodContext): Pod {
  const pod = renderLauncherPod(withImageDigests(vmi, sourcePod), ctx);
  const annotations = { ...pod.metadata.annotations, ...keptAttachments(vmi, sourcePod, ctx) };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
