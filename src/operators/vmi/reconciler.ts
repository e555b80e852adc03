// The VMI controller's shell: observe, decide, perform, report. All rules are in decide.ts, phase.ts and status.ts.
import { createHash } from 'node:crypto';
import {
  controllerOf,
  FINALIZER,
  isDeleting,
  keyOf,
  type ObjectKey,
  type PersistentVolumeClaim,
  POD_UNPAUSED_CONDITION,
  type Pod,
  type StorageClass,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, isKvError, KvError, messageOf } from '../../base/errors.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { EXPECTATION_RECHECK_MS } from '../../runtime/expectations.js';
import { changeFinalizers, finalizerOps } from '../../runtime/finalizers.js';
import { deepEqual } from '../../runtime/patch.js';
import { CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, PODS, VIRTUAL_MACHINE_INSTANCES } from '../../runtime/resources.js';
import type { StaleGuard } from '../../runtime/stale-guard.js';
import type { EventRecorder, Expectations, KubeClient, Next, Reconcile, Store } from '../../runtime/types.js';
import type { DataVolume } from '../data-volumes.js';
import { hookConfigMaps } from '../pod-template/index.js';
import { explained, withWords } from '../refusals.js';
import { claimsOf, vmiKeyOfAttachment, worksFor } from './attachments.js';
import { createPodOnce } from './create-pod.js';
import { isTemporary } from './data-volumes.js';
import { decideVmi, type Plan, type Step } from './decide.js';
import { performHotplug, removeOrphans } from './hotplug-perform.js';
import { ATTACHED_NETWORKS, changedAttachments } from './networks.js';
import { currentPod, isLauncherOf, isPodReady } from './pod-state.js';
import { isFinal, isHandedOver, type Seen } from './seen.js';
import { BEHIND_MS, isPodUnseen, orphansAmong } from './sight.js';
import { mountPatienceMs } from './slow-mount.js';
import { renderStateClaim, stateClaimOf } from './state-claim.js';
import { canWait, handedOverPatch, isQuiet, nextVmi, QUICK_START_MS, transitionEvents, unpausedGate } from './status.js';
import { text } from './text.js';
import { isAttaching, QUICK_ATTACH_MS } from './volumes.js';
import { takenCids, wantsCid } from './vsock-cid.js';

/** Index of the pod store: pods by the uid of the object that controls them. */
export const PODS_BY_OWNER = 'owner';
/** The same of attachment pods by the key of their VMI. */
export const ATTACHMENTS_BY_VMI = 'vmi';
/** Index of the claim store: claims that keep a VM's state, by the key of its VMI. */
export const STATE_CLAIMS = 'state';
const LATE = 'WaitForFirstConsumer';

export interface VmiDeps {
  readonly vmis: Store<VirtualMachineInstance>;
  readonly vms: Store<VirtualMachine>;
  readonly pods: Store<Pod>;
  readonly pvcs: Store<PersistentVolumeClaim>;
  readonly dataVolumes: Store<DataVolume>;
  readonly classes: Store<StorageClass>;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly expectations: Expectations;
  readonly stale: StaleGuard;
  /** The same for the launcher pods, by their own key. */
  readonly stalePods: StaleGuard;
  readonly launcherImage: string;
  readonly config: () => ClusterConfig;
  /** The launcher pod for this VMI under the current configuration; throws KvError Invalid when it cannot be rendered. */
  readonly renderPod: (seen: Seen) => Pod;
  /** The annotation by which the CNI brings secondary networks; undefined without any. */
  readonly renderNetworks: (seen: Seen) => string | undefined;
  /** A pod that makes its claims be bound and ends. */
  readonly renderTemporary: (seen: Seen) => Pod;
  readonly renderAttachment: (seen: Seen, launcher: Pod, volumes: readonly string[]) => Pod;
  readonly renderTrigger: (seen: Seen, launcher: Pod, volume: string) => Pod;
}

function observe(d: VmiDeps, key: ObjectKey): Seen | undefined {
  const vmi = d.vmis.get(key);
  if (!vmi) return undefined;
  const pods = d.pods.byIndex(PODS_BY_OWNER, vmi.metadata.uid ?? '').filter((p) => isLauncherOf(p, vmi));
  const owner = controllerOf(vmi);
  const vm = owner && d.vms.get(`${vmi.metadata.namespace}/${owner.name}`);
  return {
    vmi,
    pods,
    attachments: d.pods.byIndex(ATTACHMENTS_BY_VMI, key).filter((p) => worksFor(p, vmi)),
    pod: currentPod(
      pods.filter((pod) => !isTemporary(pod)),
      vmi,
    ),
    pvcs: pvcsOf(d, vmi),
    dataVolumes: dataVolumesOf(d, vmi),
    stateClaim: stateClaimOf(vmi, d.pvcs.byIndex(STATE_CLAIMS, key)),
    lateClasses: new Set(
      d.classes
        .list()
        .filter((c) => c.volumeBindingMode === LATE)
        .map((c) => c.metadata.name ?? ''),
    ),
    hasOwner: vm !== undefined && vm.metadata.uid === owner?.uid && !isDeleting(vm),
    settled: d.expectations.satisfied(key),
    ...(wantsCid(vmi) ? { takenCids: takenCids(vmi, d.vmis.list()) } : {}),
    launcherImage: d.launcherImage,
  };
}

function pvcsOf(d: VmiDeps, vmi: VirtualMachineInstance): Map<string, PersistentVolumeClaim> {
  const found = claimsOf(vmi).map((name) => d.pvcs.get(`${vmi.metadata.namespace}/${name}`));
  return new Map(found.filter((p) => p !== undefined).map((p) => [p.metadata.name ?? '', p]));
}

function dataVolumesOf(d: VmiDeps, vmi: VirtualMachineInstance): Map<string, DataVolume> {
  const found = claimsOf(vmi).flatMap((name) => d.dataVolumes.get(`${vmi.metadata.namespace}/${name}`) ?? []);
  return new Map(found.map((volume) => [volume.metadata.name ?? '', volume]));
}

/**
 * generateName with a suffix that follows from the VMI: however often a creation is repeated, whose answer got lost or whose event is
 * late, and by whichever of two leaders, there is one pod.
 */
function named(pod: Pod, vmi: VirtualMachineInstance, purpose = ''): Pod {
  const { generateName, ...metadata } = pod.metadata;
  const suffix = createHash('sha256')
    .update(`${vmi.metadata.uid ?? ''}${purpose}`)
    .digest('hex')
    .slice(0, 5);
  return generateName ? { ...pod, metadata: { ...metadata, name: `${generateName.slice(0, 57)}${suffix}` } } : pod;
}

function launcherPod(d: VmiDeps, seen: Seen): Pod {
  return named(d.renderPod(seen), seen.vmi);
}

/** Asked for when a pod needs them: nobody else looks at ConfigMaps, of which a cluster may have many. */
async function withScripts(d: VmiDeps, seen: Seen): Promise<Seen> {
  const { namespace = '' } = seen.vmi.metadata;
  const names = hookConfigMaps(seen.vmi);
  if (names.length === 0) return seen;
  const found = await Promise.all(
    [...new Set(names)].map(async (name): Promise<[string, Set<string>][]> => {
      const configMap = await d.client.find(CONFIG_MAPS, `${namespace}/${name}`);
      return configMap ? [[name, new Set(Object.keys({ ...configMap.data, ...configMap.binaryData }))]] : [];
    }),
  );
  return { ...seen, configMaps: new Map(found.flat()) };
}

/** One that ended is another when it is needed again. */
function temporaryPod(d: VmiDeps, seen: Seen): Pod {
  const before = seen.pods.filter(isTemporary).map(({ metadata }) => metadata.uid ?? '');
  return named(d.renderTemporary(seen), seen.vmi, ['temporary', ...before].join());
}

async function createPod(d: VmiDeps, key: ObjectKey, seen: Seen, pod: Pod): Promise<Pod> {
  try {
    const created = await createPodOnce(d, key, pod, (found) => isLauncherOf(found, seen.vmi));
    if (created.isNew) d.events.event(seen.vmi, 'Normal', 'SuccessfulCreate', text.podCreated(pod.metadata.name ?? ''));
    return created.pod;
  } catch (err) {
    const why = explained(err, pod.metadata.namespace ?? '');
    const message = why.includes('violates PodSecurity') ? text.privilegedNamespace(key, why) : text.podCreateFailed(why);
    d.events.event(seen.vmi, 'Warning', 'FailedCreate', message);
    throw withWords(err, message);
  }
}

/** Repeated, it finds the claim of the first time. */
async function createStateClaim(d: VmiDeps, vmi: VirtualMachineInstance): Promise<PersistentVolumeClaim> {
  const claim = renderStateClaim(vmi, d.config(), d.classes.list());
  try {
    return await d.client.create(PERSISTENT_VOLUME_CLAIMS, claim);
  } catch (err) {
    const found = hasCode(err, 'AlreadyExists') ? await d.client.find(PERSISTENT_VOLUME_CLAIMS, keyOf(claim)) : undefined;
    if (found && stateClaimOf(vmi, [found])) return found;
    throw withWords(err, text.stateFailed(explained(err, claim.metadata.namespace ?? '')));
  }
}

async function deletePod(d: VmiDeps, key: ObjectKey, vmi: VirtualMachineInstance, pod: Pod): Promise<void> {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  d.expectations.expectDeletion(key, uid);
  try {
    await d.client.delete(PODS, `${namespace}/${name}`, { uid });
    // Of a VMI that is being deleted it says nothing new that its pod goes too.
    if (!isDeleting(vmi)) d.events.event(vmi, 'Normal', 'SuccessfulDelete', text.podDeleted(name));
  } catch (err) {
    d.expectations.observedDeletion(key, uid);
    if (hasCode(err, 'NotFound')) return; // gone already is what we want
    d.events.event(vmi, 'Warning', 'FailedDelete', text.podDeleteFailed(name, messageOf(err)));
    throw err;
  }
}

/** Performs one step; returns the snapshot as it is afterwards. */
async function perform(d: VmiDeps, key: ObjectKey, seen: Seen, step: Step): Promise<Seen> {
  switch (step.do) {
    case 'ensureFinalizer':
      await changeFinalizers(d.client, VIRTUAL_MACHINE_INSTANCES, seen.vmi, { add: [FINALIZER.vmi] });
      return seen;
    case 'createStateClaim':
      return { ...seen, stateClaim: await createStateClaim(d, seen.vmi) };
    case 'createPod': {
      const pod = await createPod(d, key, seen, launcherPod(d, await withScripts(d, seen)));
      return { ...seen, pods: [...seen.pods, pod], pod };
    }
    case 'createTemporaryPod':
      return { ...seen, pods: [...seen.pods, await createPod(d, key, seen, temporaryPod(d, await withScripts(d, seen)))] };
    case 'deletePod':
      await deletePod(d, key, seen.vmi, step.pod);
      return seen;
    default:
      return performHotplug(d, key, seen, step);
  }
}

async function performAll(d: VmiDeps, key: ObjectKey, before: Seen, plan: Plan): Promise<{ seen: Seen; error?: unknown }> {
  let seen = before;
  try {
    for (const step of plan.steps) seen = await perform(d, key, seen, step);
    return { seen };
  } catch (error) {
    return { seen, error };
  }
}

/** The launcher pod's readiness gate follows the Paused condition. */
async function syncReadinessGate(d: VmiDeps, { vmi, pod }: Seen, now: number): Promise<void> {
  if (!pod || isFinal(vmi) || !isPodReady(pod)) return;
  const wanted = unpausedGate(vmi);
  const current = pod.status?.conditions?.find((c) => c.type === POD_UNPAUSED_CONDITION);
  if (current?.status === wanted.status && current.reason === wanted.reason) return;
  const key = keyOf(pod);
  if (d.stalePods.isStale(key, pod)) return;
  const condition = { type: POD_UNPAUSED_CONDITION, ...wanted, lastProbeTime: null, lastTransitionTime: metaTime(now) };
  const stored = await d.client.strategicPatch(PODS, key, { status: { conditions: [condition] } }, { subresource: 'status' });
  d.stalePods.written(key, pod, stored);
}

/** Networks that come to a running guest, or go: the CNI follows the annotation. */
async function syncNetworks(d: VmiDeps, seen: Seen): Promise<void> {
  const { vmi, pod } = seen;
  if (!pod || vmi.status?.phase !== 'Running' || isDeleting(vmi) || !isPodReady(pod)) return;
  const key = keyOf(pod);
  const wanted = changedAttachments(seen, d.renderNetworks(seen));
  if (wanted === undefined || d.stalePods.isStale(key, pod)) return;
  const stored = await d.client.mergePatch(PODS, key, { metadata: { annotations: { [ATTACHED_NETWORKS]: wanted } } });
  d.stalePods.written(key, pod, stored);
}

async function write(d: VmiDeps, key: ObjectKey, seen: Seen, failure: Plan['failure'], now: number): Promise<Next> {
  const { vmi } = nextVmi(seen, failure, now);
  const more: Next =
    isHandedOver(vmi) && isAttaching(seen, vmi) ? { afterMs: QUICK_ATTACH_MS, why: 'a volume is being attached' } : undefined;
  if (isQuiet(seen.vmi, vmi, deepEqual)) return more;
  if (canWait(seen.vmi, vmi, now)) return { afterMs: QUICK_START_MS, why: 'the launcher pod is about to be ready' };
  if (isHandedOver(seen.vmi) || isFinal(seen.vmi)) await patchHandedOver(d, key, seen.vmi, vmi);
  else d.stale.written(key, seen.vmi, await d.client.update(VIRTUAL_MACHINE_INSTANCES, vmi));
  for (const event of transitionEvents(seen.vmi, vmi)) d.events.event(seen.vmi, event.type, event.reason, event.message);
  return more;
}

/** Status and finalizers in one patch: after its last finalizer the object is gone. */
async function patchHandedOver(d: VmiDeps, key: ObjectKey, old: VirtualMachineInstance, next: VirtualMachineInstance): Promise<void> {
  const remove = (old.metadata.finalizers ?? []).filter((f) => !next.metadata.finalizers?.includes(f));
  const ops = [...handedOverPatch(old, next), ...finalizerOps(old, { remove })];
  if (ops.length === 0) return;
  try {
    d.stale.written(key, old, await d.client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, key, ops));
  } catch (err) {
    if (remove.length === 0 || !hasCode(err, 'NotFound')) throw err; // released and gone
  }
}

async function report(d: VmiDeps, key: ObjectKey, seen: Seen, failure: Plan['failure'], ctx: Ctx): Promise<Next> {
  const next = await write(d, key, seen, failure, ctx.now());
  await syncReadinessGate(d, seen, ctx.now());
  await syncNetworks(d, seen);
  const patience = mountPatienceMs(seen.pod, ctx.now());
  return next ?? (patience === undefined ? undefined : { afterMs: patience, why: 'the pod may lack what it mounts' });
}

export const reconcileVmi =
  (d: VmiDeps): Reconcile =>
  async (key, ctx) => {
    const before = observe(d, key);
    if (!before) {
      const orphans = await orphansAmong(d.client, key, d.pods.byIndex(ATTACHMENTS_BY_VMI, key));
      await removeOrphans(d, orphans);
      d.expectations.forget(key);
      d.stale.forget(key);
      return undefined;
    }
    if (d.stale.isStale(key, before.vmi)) return undefined;
    if (before.settled && (await isPodUnseen(d.client, before))) return { afterMs: BEHIND_MS, why: 'the cache of pods is behind' };
    const next = await pass(d, key, before, ctx);
    if (next !== undefined || d.expectations.satisfied(key)) return next;
    return { afterMs: EXPECTATION_RECHECK_MS, why: 'the event of an own write may have been missed' };
  };

async function pass(d: VmiDeps, key: ObjectKey, before: Seen, ctx: Ctx): Promise<Next> {
  const plan = decideVmi(before);
  const { seen, error } = await performAll(d, key, before, plan);
  if (error === undefined && plan.steps.some((s) => s.do === 'ensureFinalizer')) return undefined;
  const failure = error === undefined ? plan.failure : { reason: failureReason(plan), message: messageOf(error) };
  const next = before.settled ? await report(d, key, seen, failure, ctx) : undefined;
  if (error !== undefined) throw retried(error);
  return next;
}

/** What cannot be rendered today may be tomorrow: the cluster's configuration has its part in it, and no change of it wakes the VMI. */
function retried(error: unknown): unknown {
  return isKvError(error) && error.retry === 'never'
    ? new KvError(error.code, error.message, { details: error.details, retry: 'backoff' })
    : error;
}

function failureReason({ steps }: Plan): string {
  if (steps.some((s) => s.do === 'createStateClaim')) return 'FailedBackendStorageCreate';
  return steps.some((s) => s.do.startsWith('delete')) ? 'FailedDelete' : 'FailedCreate';
}

/** Key of the VMI that a launcher or attachment pod belongs to. */
export function vmiKeysOfPod(pod: Pod): ObjectKey[] {
  const attached = vmiKeyOfAttachment(pod);
  if (attached) return [attached];
  const owner = controllerOf(pod);
  return owner?.kind === 'VirtualMachineInstance' ? [`${pod.metadata.namespace}/${owner.name}`] : [];
}
