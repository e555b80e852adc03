// What becomes of an eviction of a launcher or hot-plug pod: it passes, or it is refused because the VMI has to leave the node first, which
// the mark on the VMI asks for. A refusal with code 429 makes whoever drains a node try again until the pod is gone. Pure: the caller has
// read the objects and writes the mark.
import { ANNOTATION, HOTPLUG_POD, isFinalPhase, LABEL, LAUNCHER_POD, type Pod, type VirtualMachineInstance } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { evictionStrategyOf, isMigratable } from '../../../core/eviction/strategy.js';

export interface Eviction {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly deleteOptions?: { readonly dryRun?: readonly string[] };
}

export interface Operation {
  readonly op: 'add' | 'replace';
  readonly path: string;
  readonly value: unknown;
}

export type EvictionDecision =
  | { readonly do: 'pass' }
  | { readonly do: 'deny'; readonly message: string }
  /** Deny after the operations were applied to the VMI. */
  | { readonly do: 'mark'; readonly message: string; readonly operations: readonly Operation[] };

const PASS: EvictionDecision = { do: 'pass' };
const deny = (message: string): EvictionDecision => ({ do: 'deny', message });

const REQUESTED_BY = 'requested-by';
const DESCHEDULER = 'sigs.k8s.io/descheduler';
const SOURCE_POINTER = '/metadata/annotations/kubevirt.io~1eviction-source';

const isLauncher = (pod: Pod): boolean => pod.metadata.labels?.[LABEL.app] === LAUNCHER_POD && !isFinalPhase(pod.status?.phase);

/** The name of the pod that a hot-plug pod belongs to; undefined for every other pod. */
export function ownerOfHotplugPod(pod: Pod): string | undefined {
  const owners = pod.metadata.ownerReferences ?? [];
  return pod.metadata.labels?.[LABEL.app] === HOTPLUG_POD && owners.length === 1 ? owners[0]?.name : undefined;
}

/** The name of the VMI whose guest runs in the pod; undefined for pods that are over or no launchers. */
export const guestOf = (pod: Pod | undefined): string | undefined =>
  pod && isLauncher(pod) ? pod.metadata.annotations?.[ANNOTATION.domain] : undefined;

const isDryRunOf = (eviction: Eviction): boolean => eviction.deleteOptions?.dryRun?.[0] === 'All';
export const isDryRun = (requested: boolean, eviction: Eviction): boolean => requested || isDryRunOf(eviction);

/** A guest holds the volumes of its hot-plug pods as long as it lives. */
export function decideHotplugEviction(pod: Pod, vmi: VirtualMachineInstance | undefined): EvictionDecision {
  if (!vmi) return PASS;
  const { name, namespace } = pod.metadata;
  const what = `cannot evict hotplug pod: ${name} associated with running vmi: ${vmi.metadata.name} in namespace ${namespace}`;
  return deny(`${what}. It goes when the launcher pod of that VMI is evicted`);
}

function mark(vmi: VirtualMachineInstance, nodeName: string, eviction: Eviction): readonly Operation[] {
  const evacuate: Operation = { op: 'add', path: '/status/evacuationNodeName', value: nodeName };
  if (eviction.metadata?.annotations?.[REQUESTED_BY] !== DESCHEDULER) return [evacuate];
  const hasAnnotations = Object.keys(vmi.metadata.annotations ?? {}).length > 0;
  const source: Operation = hasAnnotations
    ? { op: 'add', path: SOURCE_POINTER, value: 'descheduler' }
    : { op: 'add', path: '/metadata/annotations', value: { 'kubevirt.io/eviction-source': 'descheduler' } };
  return [evacuate, source];
}

function hasToLeave(vmi: VirtualMachineInstance, strategy: string): boolean {
  if (strategy === 'LiveMigrateIfPossible') return isMigratable(vmi);
  return strategy === 'LiveMigrate' || strategy === 'External';
}

export function decideLauncherEviction(pod: Pod, vmi: VirtualMachineInstance, eviction: Eviction, config: ClusterConfig): EvictionDecision {
  const { name, namespace } = vmi.metadata;
  const strategy = evictionStrategyOf(vmi, config);
  if (strategy === 'LiveMigrate' && !isMigratable(vmi)) {
    const why = `VMI ${name} is configured with an eviction strategy but is not live-migratable`;
    return deny(`${why}: see its condition LiveMigratable, or stop it to free the node`);
  }
  if (!hasToLeave(vmi, strategy)) return PASS;
  const triggered = `Eviction triggered evacuation of VMI "${namespace}/${name}"`;
  if (vmi.status?.evacuationNodeName) return deny(`Evacuation in progress: ${triggered}`);
  const nodeName = pod.spec?.nodeName ?? '';
  if ((vmi.status?.nodeName ?? '') !== nodeName)
    return deny('Eviction request for target Pod: the guest is still on its source node; try again when the migration is over');
  return { do: 'mark', message: triggered, operations: mark(vmi, nodeName, eviction) };
}
