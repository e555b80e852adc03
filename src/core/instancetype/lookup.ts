// Which object holds a VM's instance type or preference: a revision kept for this VM, or the live object that the matcher names. Pure: says
// what to read and makes a spec of what was read; the reading is the caller's.
import type {
  InstancetypeMatcher,
  KubeObject,
  PreferenceMatcher,
  VirtualMachine,
  VirtualMachineInstancetypeSpec,
  VirtualMachinePreferenceSpec,
} from '../../api/index.js';
import { isQuantity } from '../../api/quantity.js';
import { fail, ok, type Result } from '../../base/result.js';

interface Specs {
  readonly instancetype: VirtualMachineInstancetypeSpec;
  readonly preference: VirtualMachinePreferenceSpec;
}
export type Family = keyof Specs;

const KINDS = {
  instancetype: { own: 'VirtualMachineInstancetype', cluster: 'VirtualMachineClusterInstancetype' },
  preference: { own: 'VirtualMachinePreference', cluster: 'VirtualMachineClusterPreference' },
} as const;
const STATUS_REF = { instancetype: 'instancetypeRef', preference: 'preferenceRef' } as const;
const OBJECT_NAME_LABEL = 'instancetype.kubevirt.io/object-name';

export interface Reference {
  readonly kind: (typeof KINDS)[Family]['own' | 'cluster'];
  readonly name: string;
  /** Absent for cluster-wide kinds. */
  readonly namespace?: string;
}

export interface Lookup {
  readonly family: Family;
  readonly revision?: {
    readonly name: string;
    /** A revision of another object is passed over: the matcher has changed since it was kept. */
    readonly onlyOf?: string;
  };
  readonly object: Result<Reference, string>;
}

type Matcher = InstancetypeMatcher | PreferenceMatcher;

function referenceOf(matcher: Matcher, family: Family, namespace: string): Result<Reference, string> {
  const { own, cluster } = KINDS[family];
  const kind = (matcher.kind ?? '').toLowerCase();
  const name = matcher.name ?? '';
  const named = (known: string): boolean => kind === known.toLowerCase() || kind === `${known.toLowerCase()}s`;
  if (named(own)) return ok({ kind: own, name, namespace });
  if (kind === '' || named(cluster)) return ok({ kind: cluster, name });
  return fail(`spec.${family}.kind is ${matcher.kind}; it must be ${own} or ${cluster}`);
}

/** What to read for a VM; undefined when it names none of the family. */
export function lookupOf(vm: VirtualMachine, family: Family): Lookup | undefined {
  const matcher: Matcher | undefined = vm.spec[family];
  if (!matcher) return undefined;
  const object = referenceOf(matcher, family, vm.metadata.namespace ?? 'default');
  if (matcher.revisionName) return { family, object, revision: { name: matcher.revisionName } };
  const kept = vm.status?.[STATUS_REF[family]]?.controllerRevisionRef?.name;
  return kept ? { family, object, revision: { name: kept, onlyOf: matcher.name ?? '' } } : { family, object };
}

/** `data` is the object as it was kept. */
export interface ControllerRevision extends KubeObject {
  readonly data?: object;
}

interface KeptObject {
  readonly kind?: string;
  readonly spec?: unknown;
}

export interface Found {
  readonly revision?: ControllerRevision;
  readonly object?: { readonly spec?: unknown };
}

/** Revisions have no schema: what every instance type must have is looked for, as a server with a schema would. */
function isWhole(family: Family, spec: unknown): boolean {
  if (typeof spec !== 'object' || spec === null) return false;
  const { cpu, memory } = spec as Partial<VirtualMachineInstancetypeSpec>;
  return family === 'preference' || (Number.isInteger(cpu?.guest) && isQuantity(String(memory?.guest)));
}

function fromRevision<F extends Family>(family: F, revision: ControllerRevision): Result<Specs[F], string> {
  const { kind = '', spec }: KeptObject = revision.data ?? {};
  const known: readonly string[] = Object.values(KINDS[family]);
  const { name } = revision.metadata;
  if (!known.includes(kind)) return fail(`ControllerRevision ${name} holds a ${kind || 'nameless kind'}, not ${known.join(' or ')}`);
  if (isWhole(family, spec)) return ok(spec as Specs[F]);
  return fail(`ControllerRevision ${name} holds a ${kind} without its required fields: choose another revision`);
}

const isMeant = ({ revision: asked }: Lookup, found: ControllerRevision | undefined): boolean =>
  found !== undefined && (asked?.onlyOf === undefined || found.metadata.labels?.[OBJECT_NAME_LABEL] === asked.onlyOf);

/** The spec in what was found, or why there is none. */
export function specFrom<F extends Family>(lookup: Lookup & { family: F }, found: Found): Result<Specs[F], string> {
  const { revision, object } = lookup;
  if (revision && !found.revision) return fail(`ControllerRevision ${revision.name} was not found`);
  if (found.revision && isMeant(lookup, found.revision)) return fromRevision(lookup.family, found.revision);
  if (!object.ok) return object;
  if (found.object?.spec) return ok(found.object.spec as Specs[F]);
  const { kind, name, namespace } = object.value;
  return fail(`${kind} ${namespace ? `${namespace}/` : ''}${name || '(no name given)'} was not found`);
}

export interface InstancetypeReader {
  revision(namespace: string, name: string): Promise<ControllerRevision | undefined>;
  object(reference: Reference): Promise<{ readonly spec?: unknown } | undefined>;
}

/** Reads no more than the answer needs. */
async function found(lookup: Lookup, namespace: string, reader: InstancetypeReader): Promise<Found> {
  const revision = lookup.revision && (await reader.revision(namespace, lookup.revision.name));
  if (revision && isMeant(lookup, revision)) return { revision };
  const reference = lookup.object.ok ? lookup.object.value : undefined;
  const object = reference?.name ? await reader.object(reference) : undefined;
  return { ...(revision ? { revision } : {}), ...(object ? { object } : {}) };
}

/** The spec of a VM's instance type or preference, read as needed; undefined when it names none. */
export async function findSpec<F extends Family>(
  vm: VirtualMachine,
  family: F,
  reader: InstancetypeReader,
): Promise<Result<Specs[F], string> | undefined> {
  const lookup = lookupOf(vm, family);
  if (!lookup) return undefined;
  return specFrom({ ...lookup, family }, await found(lookup, vm.metadata.namespace ?? 'default', reader));
}
