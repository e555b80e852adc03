// Finds a VM's instance type and preference, and keeps them: as revisions named in the VM's status or, where the cluster is configured so,
// by writing them out into the template. Called by the VM reconciler before it decides; a pass that wrote ends there. Every write can be
// repeated: names are derived from what is kept, and the status follows only when the revision is there.
import { type ControllerRevision, controllerOf, type InstancetypeStatusRef, type ObjectKey, type VirtualMachine } from '../../api/index.js';
import { hasCode, isKvError, KvError, messageOf } from '../../base/errors.js';
import { fail } from '../../base/result.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import {
  applyTo,
  type Chosen,
  conflictMessage,
  expandVm,
  type Family,
  findSpec,
  type InstancetypeReader,
  lookupOf,
  type Reference,
} from '../../core/instancetype/index.js';
import { unlessGone } from '../../runtime/gone.js';
import { instancetypeSource } from '../../runtime/instancetypes.js';
import { CONTROLLER_REVISIONS, VIRTUAL_MACHINES } from '../../runtime/resources.js';
import type { StaleGuard } from '../../runtime/stale-guard.js';
import type { EventRecorder, KubeClient, Store } from '../../runtime/types.js';
import type { Failure } from './decide.js';
import { holdsSame, isCurrentVersion, type Kept, keptIn, keptName, nextRef, REF, refPatch, revisionOf } from './instancetype-revision.js';
import { text } from './text.js';

export interface InstancetypeDeps {
  readonly revisions: Store<ControllerRevision>;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly stale: StaleGuard;
  readonly config: () => ClusterConfig;
}

export type Synced =
  /** The VM was written: its next event shows it. */
  { readonly is: 'changed' } | { readonly is: 'ready'; readonly chosen: Chosen } | { readonly is: 'failed'; readonly failure: Failure };

const FAMILIES: readonly Family[] = ['instancetype', 'preference'];
const FIND_REASON = { instancetype: 'FailedFindInstancetype', preference: 'FailedFindPreference' } as const;
const FAILED = 'FailedCreate';
const CHANGED: Synced = { is: 'changed' };
const NOTHING: Synced = { is: 'ready', chosen: {} };
/** These pass, or another pass sees the world as it is: not worth a condition. */
const PASSING = ['Conflict', 'Unavailable', 'Timeout', 'Gone'] as const;

const failed = (reason: string, message: string): Synced => ({ is: 'failed', failure: { reason, message } });

async function findRevision(d: InstancetypeDeps, key: ObjectKey): Promise<ControllerRevision | undefined> {
  return d.revisions.get(key) ?? (await d.client.find(CONTROLLER_REVISIONS, key));
}

interface Reader extends InstancetypeReader {
  object(reference: Reference): Promise<Kept | undefined>;
}

/** Of one pass: what is looked at twice is read once, and is the same both times. */
function readerOf(d: InstancetypeDeps): Reader {
  const read = new Map<string, Promise<Kept | undefined>>();
  const source = instancetypeSource(d.client);
  return {
    revision: (namespace, name) => findRevision(d, `${namespace}/${name}`),
    object(reference) {
      const key = `${reference.kind} ${reference.namespace ?? ''}/${reference.name}`;
      const object = read.get(key) ?? source.object(reference);
      read.set(key, object);
      return object;
    },
  };
}

interface Pass {
  readonly d: InstancetypeDeps;
  readonly vm: VirtualMachine;
  readonly reader: Reader;
}

async function find(vm: VirtualMachine, reader: Reader): Promise<Synced> {
  const instancetype = await findSpec(vm, 'instancetype', reader);
  if (instancetype?.ok === false) return failed(FIND_REASON.instancetype, instancetype.error);
  const preference = await findSpec(vm, 'preference', reader);
  if (preference?.ok === false) return failed(FIND_REASON.preference, preference.error);
  return { is: 'ready', chosen: { instancetype: instancetype?.value, preference: preference?.value } };
}

/** Another pass may have made it and not lived to say so. */
async function ensureRevision(d: InstancetypeDeps, wanted: ControllerRevision): Promise<string> {
  const name = wanted.metadata.name ?? '';
  try {
    await d.client.create(CONTROLLER_REVISIONS, wanted);
  } catch (err) {
    if (!hasCode(err, 'AlreadyExists')) throw err;
    const existing = await d.client.get(CONTROLLER_REVISIONS, `${wanted.metadata.namespace}/${name}`);
    if (!holdsSame(existing, wanted)) throw new KvError('Invalid', text.revisionDiffers(name), { cause: err });
  }
  return name;
}

/** An instance type may have changed since admission looked at it: what is kept must fit the template. */
function checkConflicts(vm: VirtualMachine, family: Family, object: Kept): void {
  const { spec, metadata = {} } = structuredClone(vm.spec.template);
  if (family !== 'instancetype' || !spec) return;
  const conflicts = applyTo({ spec, metadata }, { instancetype: object.spec as NonNullable<Chosen['instancetype']> });
  if (conflicts.length > 0) throw new KvError('Invalid', conflictMessage(conflicts));
}

async function keepLive({ d, vm, reader }: Pass, family: Family): Promise<string> {
  const reference = lookupOf(vm, family)?.object ?? fail(`the VM has no spec.${family}`);
  if (!reference.ok) throw new KvError('Invalid', reference.error);
  const { kind, name } = reference.value;
  const object = await reader.object(reference.value);
  if (!object) throw new KvError('Invalid', `${kind} ${name} is gone: create it again, or choose another one`);
  checkConflicts(vm, family, object);
  return ensureRevision(d, revisionOf(vm, kind, object));
}

/** The reference as it must be, its revision made if need be. */
async function keptRef(pass: Pass, family: Family): Promise<InstancetypeStatusRef | undefined> {
  const { vm } = pass;
  const matcher = vm.spec[family];
  if (!matcher) return undefined;
  const ref = nextRef(matcher, vm.status?.[REF[family]]);
  return keptName(ref) ? ref : { ...ref, controllerRevisionRef: { name: await keepLive(pass, family) } };
}

type Refs = Readonly<Partial<Record<Family, InstancetypeStatusRef | undefined>>>;

/** In one write; false when there is nothing to write. */
async function writeRefs(d: InstancetypeDeps, vm: VirtualMachine, refs: Refs): Promise<boolean> {
  const patches = FAMILIES.map((family) => {
    const next = refs[family];
    return [REF[family], next && refPatch(vm.status?.[REF[family]], next)] as const;
  }).filter(([, patch]) => patch !== undefined);
  if (patches.length === 0) return false;
  await patchStatus(d, vm, Object.fromEntries(patches));
  return true;
}

async function patchStatus(d: InstancetypeDeps, vm: VirtualMachine, status: object): Promise<void> {
  const key = `${vm.metadata.namespace}/${vm.metadata.name}`;
  const patch = { metadata: { resourceVersion: vm.metadata.resourceVersion }, status };
  d.stale.written(key, vm, await d.client.mergePatch(VIRTUAL_MACHINES, key, patch, { subresource: 'status' }));
}

const isOwn = (vm: VirtualMachine, revision: ControllerRevision): boolean => controllerOf(revision)?.uid === vm.metadata.uid;

async function drop(d: InstancetypeDeps, revision: ControllerRevision): Promise<void> {
  const { namespace, name } = revision.metadata;
  await unlessGone(d.client.delete(CONTROLLER_REVISIONS, `${namespace}/${name}`));
}

/** A revision kept before revisions had labels; one that the user named, or that another VM owns, is left as it is. */
async function outdated(d: InstancetypeDeps, vm: VirtualMachine, family: Family): Promise<ControllerRevision | undefined> {
  const name = keptName(vm.status?.[REF[family]]);
  if (!name || vm.spec[family]?.revisionName) return undefined;
  const revision = await findRevision(d, `${vm.metadata.namespace}/${name}`);
  return revision && isOwn(vm, revision) && !isCurrentVersion(revision) ? revision : undefined;
}

async function upgrade(d: InstancetypeDeps, vm: VirtualMachine): Promise<boolean> {
  const replaced: ControllerRevision[] = [];
  const refs: Partial<Record<Family, InstancetypeStatusRef>> = {};
  for (const family of FAMILIES) {
    const old = await outdated(d, vm, family);
    const object = old && keptIn(old);
    if (!object) continue;
    const name = await ensureRevision(d, revisionOf(vm, object.kind ?? '', object));
    refs[family] = { ...vm.status?.[REF[family]], controllerRevisionRef: { name } };
    if (name !== old.metadata.name) replaced.push(old);
  }
  if (!(await writeRefs(d, vm, refs))) return false;
  for (const old of replaced) await drop(d, old);
  return true;
}

/** What a step that stores something cannot do becomes a condition and, once, an event. */
async function reporting({ d, vm }: Pass, sentence: (why: string) => string, step: () => Promise<Synced>): Promise<Synced> {
  try {
    return await step();
  } catch (err) {
    if (!isKvError(err) || hasCode(err, ...PASSING)) throw err;
    const message = sentence(messageOf(err));
    const isKnown = vm.status?.conditions?.some((c) => c.type === 'Failure' && c.message === message);
    if (!isKnown) d.events.event(vm, 'Warning', FAILED, message);
    return failed(FAILED, message);
  }
}

async function keep(pass: Pass, found: Synced): Promise<Synced> {
  const { d, vm } = pass;
  const stored = await reporting(pass, text.storing, async () => {
    const refs: Refs = { instancetype: await keptRef(pass, 'instancetype'), preference: await keptRef(pass, 'preference') };
    return (await writeRefs(d, vm, refs)) ? CHANGED : found;
  });
  return stored === found ? reporting(pass, text.upgrading, async () => ((await upgrade(d, vm)) ? CHANGED : found)) : stored;
}

async function expand(pass: Pass, chosen: Chosen): Promise<Synced> {
  const { d, vm } = pass;
  return reporting(pass, text.expanding, async () => {
    const expanded = expandVm(vm, chosen, d.config());
    if (!expanded.ok) throw new KvError('Invalid', expanded.error.message);
    const key = `${vm.metadata.namespace}/${vm.metadata.name}`;
    d.stale.written(key, vm, await d.client.update(VIRTUAL_MACHINES, { ...expanded.value, ...(vm.status ? { status: vm.status } : {}) }));
    return CHANGED;
  });
}

/** After an expansion: the revisions go first, so that nothing is left behind when we are stopped in between. */
async function forget(d: InstancetypeDeps, vm: VirtualMachine): Promise<Synced> {
  for (const family of FAMILIES) {
    const name = keptName(vm.status?.[REF[family]]);
    const revision = name ? await findRevision(d, `${vm.metadata.namespace}/${name}`) : undefined;
    if (revision && isOwn(vm, revision)) await drop(d, revision);
  }
  await patchStatus(d, vm, { [REF.instancetype]: null, [REF.preference]: null });
  return CHANGED;
}

const isKeeping = ({ status }: VirtualMachine): boolean => FAMILIES.some((family) => keptName(status?.[REF[family]]));

const isLeftOver = ({ status }: VirtualMachine): boolean => Boolean(status?.instancetypeRef ?? status?.preferenceRef);

export async function syncInstancetypes(d: InstancetypeDeps, vm: VirtualMachine): Promise<Synced> {
  const policy = d.config().spec.instancetype?.referencePolicy;
  const isExpanding = policy === 'expand' || policy === 'expandAll';
  if (!vm.spec.instancetype && !vm.spec.preference) return isExpanding && isLeftOver(vm) ? forget(d, vm) : NOTHING;
  const pass: Pass = { d, vm, reader: readerOf(d) };
  const found = await find(vm, pass.reader);
  if (found.is !== 'ready') return found;
  if (!isExpanding) return keep(pass, found);
  return policy === 'expand' && isKeeping(vm) ? found : expand(pass, found.chosen);
}

const YOUNG_MS = 60_000;

/** How long until a VM that lacks something is looked at again: soon while it is new, as its manifests may still be on their way. */
export function patienceMs({ metadata }: VirtualMachine, now: number): number {
  return now - Date.parse(metadata.creationTimestamp ?? '') < YOUNG_MS ? 1_000 : 10_000;
}
