// The VM controller's shell: observe, decide, perform, report. All rules are in decide.ts and status.ts.

import type { ControllerRevision, PersistentVolumeClaim } from '../../api/index.js';
import {
  ANNOTATION,
  controllerOf,
  FINALIZER,
  isDeleting,
  OBSERVED_API_VERSION,
  type ObjectKey,
  splitKey,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError, messageOf } from '../../base/errors.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { EXPECTATION_RECHECK_MS } from '../../runtime/expectations.js';
import { changeFinalizers, dropFinalizers } from '../../runtime/finalizers.js';
import { unlessGone } from '../../runtime/gone.js';
import { deepEqual, guarded, mapOps, testUid } from '../../runtime/patch.js';
import { CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../../runtime/resources.js';
import type { StaleGuard } from '../../runtime/stale-guard.js';
import type { EventRecorder, Expectations, KubeClient, Next, Reconcile, Store } from '../../runtime/types.js';
import { type DataVolume, dataVolumeNameOf } from '../data-volumes.js';
import { explained, withWords } from '../refusals.js';
import { performDataVolume } from './data-volume-perform.js';
import type { DataVolumeStep } from './data-volumes.js';
import { decideVm, type Plan, type Seen, type Step } from './decide.js';
import { withChosen } from './instancetype-apply.js';
import { patienceMs, syncInstancetypes } from './instancetype-sync.js';
import type { LiveStep } from './live.js';
import { DUMP_ANNOTATION } from './memory-dump.js';
import { revisionNameOf, startRevision } from './revision.js';
import { EARLY_MS, isTooEarly, nextVmStatus } from './status.js';
import { text } from './text.js';
import { controllerRefOf, startedVmi } from './vmi-from-vm.js';

/** Index of the ControllerRevision store: revisions by the uid of the VM that owns them. */
export const REVISIONS_BY_OWNER = 'owner';

export interface VmDeps {
  readonly vms: Store<VirtualMachine>;
  readonly vmis: Store<VirtualMachineInstance>;
  readonly revisions: Store<ControllerRevision>;
  readonly pvcs: Store<PersistentVolumeClaim>;
  readonly dataVolumes: Store<DataVolume>;
  /** The cluster serves DataVolumes. */
  readonly hasCdi: () => boolean;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly expectations: Expectations;
  readonly stale: StaleGuard;
  /** The same for the VMIs, by the same keys. */
  readonly staleVmis: StaleGuard;
  readonly config: () => ClusterConfig;
  /** [0, 1) */
  readonly random: () => number;
}

function observe(d: VmDeps, key: ObjectKey): Seen | undefined {
  const vm = d.vms.get(key);
  if (!vm) return undefined;
  const dump = vm.status?.memoryDumpRequest?.claimName;
  const dumpClaim = dump === undefined ? undefined : d.pvcs.get(`${vm.metadata.namespace}/${dump}`);
  return {
    vm,
    vmi: d.vmis.get(key),
    revisions: d.revisions.byIndex(REVISIONS_BY_OWNER, vm.metadata.uid ?? ''),
    ...dataVolumesOf(d, vm),
    hasCdi: d.hasCdi(),
    ...(dumpClaim ? { dumpClaim } : {}),
    config: d.config(),
    settled: d.expectations.satisfied(key),
  };
}

function dataVolumesOf(d: VmDeps, { metadata: { namespace }, spec }: VirtualMachine): Pick<Seen, 'dataVolumes' | 'templateClaims'> {
  const templates = (spec.dataVolumeTemplates ?? []).map(({ metadata }) => metadata?.name);
  const volumes = (spec.template.spec?.volumes ?? []).map(dataVolumeNameOf);
  const found = [...new Set([...templates, ...volumes])].flatMap((name) => d.dataVolumes.get(`${namespace}/${name}`) ?? []);
  return {
    dataVolumes: new Map(found.map((volume) => [volume.metadata.name ?? '', volume])),
    templateClaims: new Set(
      templates.filter((name) => name !== undefined).filter((name) => d.pvcs.get(`${namespace}/${name}`) !== undefined),
    ),
  };
}

/** The VM with its instance type and preference; undefined when it was written, so that its next event brings the next look. */
async function withInstancetypes(d: VmDeps, seen: Seen): Promise<Seen | undefined> {
  const { vm, settled } = seen;
  if (!settled || isDeleting(vm) || !vm.metadata.finalizers?.includes(FINALIZER.vmController)) return seen;
  const synced = await syncInstancetypes(d, vm);
  if (synced.is === 'changed') return undefined;
  return synced.is === 'ready' ? { ...seen, chosen: synced.chosen } : { ...seen, unfound: synced.failure };
}

/** What is sent to the API server to start the guest. */
function vmiToStart(d: VmDeps, vm: VirtualMachine, step: Step & { do: 'createVmi' }): VirtualMachineInstance {
  const started = startedVmi(vm, { revisionName: revisionNameOf(vm), asMigrationTarget: step.asMigrationTarget });
  const vmi = withChosen(started, { vm, chosen: step.chosen ?? {}, config: d.config() });
  if (vmi.ok) return vmi.value;
  const why = text.applyFailed(vmi.error);
  d.events.event(vm, 'Warning', 'FailedCreate', text.createFailed(why));
  throw new KvError('Invalid', why);
}

/** Of the starts before this one. What bears this one's name goes before it, the others when its guest is there. */
async function removeRevisions(d: VmDeps, namespace: string, names: readonly string[]): Promise<void> {
  for (const name of names) await unlessGone(d.client.delete(CONTROLLER_REVISIONS, `${namespace}/${name}`));
}

async function createVmi(d: VmDeps, key: ObjectKey, vm: VirtualMachine, step: Step & { do: 'createVmi' }): Promise<void> {
  const { namespace = '' } = splitKey(key);
  const vmi = vmiToStart(d, vm, step);
  const own = revisionNameOf(vm);
  await removeRevisions(
    d,
    namespace,
    step.staleRevisions.filter((name) => name === own),
  );
  await d.client.create(CONTROLLER_REVISIONS, startRevision(vm)).catch((err: unknown) => {
    if (!hasCode(err, 'AlreadyExists')) throw err; // the same generation was started before
  });
  const name = vmi.metadata.name ?? '';
  d.expectations.expectCreation(key, name);
  try {
    await d.client.create(VIRTUAL_MACHINE_INSTANCES, vmi);
  } catch (err) {
    // Made by an earlier try whose answer got lost, or by the leader before us: its event is on the way. Its revision is not touched.
    if (hasCode(err, 'AlreadyExists') && (await isOwnVmi(d, key, vm))) {
      // Unless it was told before anybody waited for it.
      if (d.vmis.get(key)) d.expectations.observedCreation(key, name);
      return;
    }
    d.expectations.observedCreation(key, name);
    const message = text.createFailed(explained(err, namespace));
    d.events.event(vm, 'Warning', 'FailedCreate', message);
    throw withWords(err, message);
  }
  d.events.event(vm, 'Normal', 'SuccessfulCreate', text.started(name));
  await removeRevisions(
    d,
    namespace,
    step.staleRevisions.filter((name) => name !== own),
  );
}

/** A look-up that fails says less than the refusal that led to it. */
async function isOwnVmi({ client }: VmDeps, key: ObjectKey, vm: VirtualMachine): Promise<boolean> {
  const found = await client.find(VIRTUAL_MACHINE_INSTANCES, key).catch(() => undefined);
  return found !== undefined && !isDeleting(found) && controllerOf(found)?.uid === vm.metadata.uid;
}

async function deleteVmi(d: VmDeps, key: ObjectKey, vm: VirtualMachine, vmi: VirtualMachineInstance): Promise<void> {
  const uid = vmi.metadata.uid ?? '';
  d.expectations.expectDeletion(key, uid);
  try {
    await unlessGone(d.client.delete(VIRTUAL_MACHINE_INSTANCES, key, { uid }));
  } catch (err) {
    d.expectations.observedDeletion(key, uid);
    d.events.event(vm, 'Warning', 'FailedDelete', text.deleteFailed(vmi.metadata.name ?? '', messageOf(err)));
    throw err;
  }
  if (!isDeleting(vm)) d.events.event(vm, 'Normal', 'SuccessfulDelete', text.stopped(uid));
}

function ensureFinalizer(d: VmDeps, key: ObjectKey, vm: VirtualMachine): Promise<unknown> {
  const finalizers = vm.metadata.finalizers ?? [];
  return d.client.mergePatch(VIRTUAL_MACHINES, key, {
    metadata: {
      resourceVersion: vm.metadata.resourceVersion,
      annotations: OBSERVED_API_VERSION,
      ...(finalizers.includes(FINALIZER.vmController) ? {} : { finalizers: [...finalizers, FINALIZER.vmController] }),
    },
  });
}

/** What does not start or stop the guest. */
async function performOther(d: VmDeps, key: ObjectKey, vm: VirtualMachine, step: LiveStep | DataVolumeStep): Promise<void> {
  switch (step.do) {
    case 'patchVmi':
      return d.staleVmis.written(
        key,
        step.vmi,
        await d.client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, key, [...testUid(step.vmi), ...step.ops]),
      );
    case 'patchVm':
      return d.stale.written(key, vm, await d.client.jsonPatch(VIRTUAL_MACHINES, key, [...testUid(vm), ...step.ops]));
    case 'createDataVolume':
    case 'adoptDataVolume':
      return performDataVolume({ ...d, hasClaim: (claim) => d.pvcs.get(claim) !== undefined }, vm, step);
    case 'noteDump': {
      const patch = { metadata: { annotations: { [DUMP_ANNOTATION]: step.note } } };
      return void (await d.client.mergePatch(PERSISTENT_VOLUME_CLAIMS, `${vm.metadata.namespace}/${step.claim}`, patch));
    }
  }
}

/** Owners that do not control it stay. */
async function adoptVmi(d: VmDeps, key: ObjectKey, vm: VirtualMachine, { metadata }: VirtualMachineInstance): Promise<void> {
  const { resourceVersion, ownerReferences = [] } = metadata;
  await d.client.mergePatch(VIRTUAL_MACHINE_INSTANCES, key, {
    metadata: { resourceVersion, ownerReferences: [...ownerReferences, controllerRefOf(vm)] },
  });
}

async function perform(d: VmDeps, key: ObjectKey, vm: VirtualMachine, step: Step): Promise<void> {
  switch (step.do) {
    case 'ensureFinalizer':
      return void (await ensureFinalizer(d, key, vm));
    case 'dropFinalizer':
      return void (await changeFinalizers(d.client, VIRTUAL_MACHINES, vm, { remove: [FINALIZER.vmController] }));
    case 'createVmi':
      return createVmi(d, key, vm, step);
    case 'deleteVmi':
      return deleteVmi(d, key, vm, step.vmi);
    case 'releaseVmi':
      return dropFinalizers(d.client, VIRTUAL_MACHINE_INSTANCES, step.vmi, FINALIZER.vmController);
    case 'adoptVmi':
      return adoptVmi(d, key, vm, step.vmi);
    case 'bumpGeneration':
      return void (await d.client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, key, [
        ...testUid(step.vmi),
        ...mapOps('/metadata/annotations', step.vmi.metadata.annotations, {
          [ANNOTATION.vmGeneration]: String(vm.metadata.generation ?? 0),
        }),
      ]));
    case 'setRunStrategy':
      // Refused when its user has just chosen himself.
      return void (await d.client.jsonPatch(VIRTUAL_MACHINES, key, [
        ...testUid(vm),
        ...guarded(`/spec/${step.field}`, vm.spec[step.field], step.value),
      ]));
    default:
      return performOther(d, key, vm, step);
  }
}

/** Steps that end the pass: the next event shows the VM, or the VMI that was just created, as they left it. */
const ENDS_PASS = new Set<Step['do']>(['ensureFinalizer', 'dropFinalizer', 'setRunStrategy', 'createVmi', 'patchVm', 'patchVmi']);

async function report(d: VmDeps, key: ObjectKey, seen: Seen, plan: Plan, ctx: Ctx): Promise<Next> {
  // Nobody reads more than this of a VM that goes.
  if (isDeleting(seen.vm) && seen.vm.status?.printableStatus === 'Terminating') return undefined;
  if (!plan.failure && isTooEarly(seen, ctx.now())) return { afterMs: EARLY_MS, why: 'the news of the next moment is worth waiting for' };
  const status = nextVmStatus({
    seen,
    plan,
    pvcs: pvcsOf(d, seen.vm),
    createPending: d.expectations.pendingCreations(key) > 0,
    deletePending: d.expectations.pendingDeletions(key) > 0,
    now: ctx.now(),
    random: d.random(),
  });
  if (deepEqual(status, seen.vm.status ?? {})) return undefined;
  announceImports(d, seen.vm, plan.failure);
  d.stale.written(key, seen.vm, await d.client.update(VIRTUAL_MACHINES, { ...seen.vm, status }, { subresource: 'status' }));
  return undefined;
}

function announceImports(d: VmDeps, vm: VirtualMachine, failure: Plan['failure']): void {
  const shown = vm.status?.conditions?.find(({ type }) => type === 'Failure');
  if (failure?.reason !== 'FailedDataVolumeImport' || shown?.reason === failure.reason) return;
  d.events.event(vm, 'Warning', failure.reason, failure.message);
}

function pvcsOf(d: VmDeps, vm: VirtualMachine): Map<string, PersistentVolumeClaim> {
  const names = (vm.spec.template.spec?.volumes ?? []).map((v) => v.persistentVolumeClaim?.claimName ?? v.dataVolume?.name);
  const found = names.map((name) => (name ? d.pvcs.get(`${vm.metadata.namespace}/${name}`) : undefined));
  return new Map(found.filter((p) => p !== undefined).map((p) => [p.metadata.name ?? '', p]));
}

/** What stopped the steps, if anything did. */
async function performAll(d: VmDeps, key: ObjectKey, vm: VirtualMachine, { steps }: Plan): Promise<Stopped | undefined> {
  for (const step of steps) {
    try {
      await perform(d, key, vm, step);
    } catch (error) {
      return { error, reason: failureReason(step) };
    }
  }
  return undefined;
}

interface Stopped {
  readonly error: unknown;
  readonly reason: string;
}

export const reconcileVm =
  (d: VmDeps): Reconcile =>
  async (key, ctx) => {
    const next = await pass(d, key, ctx);
    if (next !== undefined || d.expectations.satisfied(key)) return next;
    return { afterMs: EXPECTATION_RECHECK_MS, why: 'the event of an own write may have been missed' };
  };

async function pass(d: VmDeps, key: ObjectKey, ctx: Ctx): Promise<Next> {
  const observed = observe(d, key);
  if (!observed) {
    d.expectations.forget(key);
    d.stale.forget(key);
    d.staleVmis.forget(key);
    return undefined;
  }
  if (d.stale.isStale(key, observed.vm)) return undefined;
  if (observed.vmi && d.staleVmis.isStale(key, observed.vmi)) return undefined;
  const seen = await withInstancetypes(d, observed);
  return seen && act(d, key, seen, ctx);
}

async function act(d: VmDeps, key: ObjectKey, seen: Seen, ctx: Ctx): Promise<Next> {
  const plan = decideVm(seen, ctx.now());
  const stopped = await performAll(d, key, seen.vm, plan);
  if (stopped) return giveUp(d, key, seen, { plan, stopped, ctx });
  if (plan.steps.some((s) => ENDS_PASS.has(s.do))) return undefined;
  const next = await report(d, key, seen, plan, ctx);
  if (seen.unfound && next === undefined) return { afterMs: patienceMs(seen.vm, ctx.now()), why: 'what the VM refers to may appear' };
  return plan.recheckMs === undefined ? next : { afterMs: plan.recheckMs, why: 'crash back-off of the VM, or CDI may come' };
}

interface Unfinished {
  readonly plan: Plan;
  readonly stopped: Stopped;
  readonly ctx: Ctx;
}

async function giveUp(d: VmDeps, key: ObjectKey, seen: Seen, { plan, stopped, ctx }: Unfinished): Promise<never> {
  const failure = { reason: stopped.reason, message: messageOf(stopped.error) };
  // Somebody was faster: the next look sees what he wrote, and there is nothing to tell.
  if (!hasCode(stopped.error, 'Conflict')) await report(d, key, seen, { ...plan, failure }, ctx);
  throw stopped.error;
}

function failureReason(step: Step): string {
  if ('reason' in step) return step.reason;
  if (step.do === 'noteDump') return 'MemoryDumpError';
  if (step.do === 'createDataVolume') return 'FailedDataVolumeCreate';
  return step.do === 'deleteVmi' ? 'FailedDelete' : 'FailedCreate';
}

/** Keys of the VMs that a VMI concerns: its owner, and an orphan's namesake. */
export function vmKeysOfVmi(vmi: VirtualMachineInstance): ObjectKey[] {
  const owner = controllerOf(vmi);
  const namespace = vmi.metadata.namespace ?? '';
  if (!owner) return [`${namespace}/${vmi.metadata.name ?? ''}`];
  return owner.kind === 'VirtualMachine' ? [`${namespace}/${owner.name}`] : [];
}
