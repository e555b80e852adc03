// Which instance type or preference a VM gets from the labels of its boot volume: from the volume over DataVolume, its template or its
// DataSource to the claim or snapshot that the disk is made of. Used by the mutating webhook. The walk is a chain of pure steps; the reading
// between them is the caller's.
import type { InstancetypeMatcher, KubeObject, VirtualMachine } from '../../api/index.js';
import { fail, ok, type Result } from '../../base/result.js';
import type { Family } from './lookup.js';

export interface VolumeSource {
  readonly kind: 'PersistentVolumeClaim' | 'DataVolume' | 'DataSource' | 'VolumeSnapshot';
  readonly namespace: string;
  readonly name: string;
}

export type InferenceStep =
  | { readonly do: 'read'; readonly source: VolumeSource }
  | { readonly do: 'take'; readonly name: string; readonly kind?: string }
  /** Ignorable: the volume is there but says nothing; the policy Ignore then drops the reference. */
  | { readonly do: 'fail'; readonly message: string; readonly ignorable: boolean };

type End = Exclude<InferenceStep, { do: 'read' }>;

interface Named {
  readonly name?: string;
  readonly namespace?: string;
}

/** Of a DataVolume's spec and a DataSource's source alike, as far as it matters here. */
interface Origin {
  readonly pvc?: Named;
  readonly snapshot?: Named;
  readonly dataSource?: Named;
}

interface DataVolumeLike {
  readonly source?: Origin;
  readonly sourceRef?: Named & { readonly kind?: string };
}

/** A DataSource may point to another one; a ring of them must end too. */
const MOST_READS = 8;

const nameLabel = (family: Family): string => `instancetype.kubevirt.io/default-${family}`;
const read = (kind: VolumeSource['kind'], { name = '', namespace }: Named, home: string): InferenceStep => ({
  do: 'read',
  source: { kind, namespace: namespace || home, name },
});
const silent = (message: string): InferenceStep => ({ do: 'fail', message, ignorable: true });
const broken = (message: string): InferenceStep => ({ do: 'fail', message, ignorable: false });

function fromOrigin({ pvc, snapshot, dataSource }: Origin, home: string): InferenceStep | undefined {
  if (pvc) return read('PersistentVolumeClaim', pvc, home);
  if (snapshot) return read('VolumeSnapshot', snapshot, home);
  return dataSource ? read('DataSource', dataSource, home) : undefined;
}

function fromDataVolume({ source, sourceRef }: DataVolumeLike, home: string): InferenceStep {
  const step = source && fromOrigin(source, home);
  if (step) return step;
  if (!sourceRef) return silent('unable to infer defaults from the DataVolume: its source is neither a PVC, a snapshot nor a sourceRef');
  if (sourceRef.kind === 'DataSource') return read('DataSource', sourceRef, home);
  return silent(`unable to infer defaults from DataVolumeSourceRef as Kind ${sourceRef.kind} is not supported: use a DataSource`);
}

/** Where the walk begins. */
export function firstStep(vm: VirtualMachine, family: Family, namespace: string): InferenceStep {
  const wanted = vm.spec[family]?.inferFromVolume ?? '';
  const volume = vm.spec.template?.spec?.volumes?.find((v) => v.name === wanted);
  if (!volume) {
    return broken(`unable to find volume ${wanted} to infer defaults: spec.${family}.inferFromVolume must name a volume of the template`);
  }
  const { persistentVolumeClaim, dataVolume } = volume;
  if (persistentVolumeClaim) return read('PersistentVolumeClaim', { name: persistentVolumeClaim.claimName }, namespace);
  if (!dataVolume) {
    return silent(`unable to infer defaults from volume ${wanted} as type is not supported: use a dataVolume or a persistentVolumeClaim`);
  }
  const template = vm.spec.dataVolumeTemplates?.find((t) => t.metadata?.name === dataVolume.name);
  return template ? fromDataVolume(template.spec, namespace) : read('DataVolume', dataVolume, namespace);
}

function fromLabels({ metadata }: KubeObject, family: Family): InferenceStep | undefined {
  const name = metadata.labels?.[nameLabel(family)];
  if (name === undefined) return undefined;
  const kind = metadata.labels?.[`${nameLabel(family)}-kind`];
  return { do: 'take', name, ...(kind ? { kind } : {}) };
}

function missing({ kind, namespace, name }: VolumeSource): InferenceStep {
  // A DataVolume may be collected once its claim is filled.
  if (kind === 'DataVolume') return read('PersistentVolumeClaim', { name, namespace }, namespace);
  return broken(`unable to infer defaults: ${kind} ${namespace}/${name} was not found`);
}

function deeper({ kind, namespace, name }: VolumeSource, object: KubeObject & { spec?: unknown }, family: Family): InferenceStep {
  if (kind === 'DataVolume') return fromDataVolume((object.spec ?? {}) as DataVolumeLike, namespace);
  const step = kind === 'DataSource' ? fromOrigin((object.spec as DataVolumeLike | undefined)?.source ?? {}, namespace) : undefined;
  return step ?? silent(`unable to find required ${nameLabel(family)} label on the volume: ${kind} ${namespace}/${name} does not have it`);
}

/** What follows from an object of the chain; undefined when there is none. */
export function nextStep(source: VolumeSource, object: KubeObject | undefined, family: Family): InferenceStep {
  return object ? (fromLabels(object, family) ?? deeper(source, object, family)) : missing(source);
}

/** The VM with its reference filled in or, as its policy has it, dropped; or why neither is possible. */
export function inferred(vm: VirtualMachine, family: Family, end: End): Result<VirtualMachine, string> {
  const mayIgnore = vm.spec[family]?.inferFromVolumeFailurePolicy === 'Ignore';
  if (end.do === 'fail' && !(end.ignorable && mayIgnore)) return fail(end.message);
  const { [family]: _, ...rest } = structuredClone(vm.spec);
  if (end.do === 'fail') return ok({ ...vm, spec: rest });
  const matcher: InstancetypeMatcher = { name: end.name, ...(end.kind ? { kind: end.kind } : {}) };
  // Who lets the volume decide if it can has given a memory size for the case that it cannot.
  if (family === 'instancetype' && mayIgnore) delete rest.template.spec?.domain.memory;
  return ok({ ...vm, spec: { ...rest, [family]: matcher } });
}

export type ReadSource = (source: VolumeSource) => Promise<KubeObject | undefined>;

async function walk(vm: VirtualMachine, family: Family, namespace: string, readSource: ReadSource): Promise<End> {
  let step = firstStep(vm, family, namespace);
  for (let reads = 0; step.do === 'read'; reads++) {
    if (reads === MOST_READS)
      return { do: 'fail', message: `unable to infer defaults: ${step.source.name} leads in a circle`, ignorable: false };
    step = nextStep(step.source, await readSource(step.source), family);
  }
  return step;
}

/** The VM with both references inferred where it asks for that. */
export async function inferMatchers(
  vm: VirtualMachine,
  namespace: string,
  readSource: ReadSource,
): Promise<Result<VirtualMachine, string>> {
  let result: Result<VirtualMachine, string> = ok(vm);
  for (const family of ['instancetype', 'preference'] as const) {
    if (!result.ok) return result;
    const at: VirtualMachine = result.value;
    if (at.spec[family]?.inferFromVolume) result = inferred(at, family, await walk(at, family, namespace, readSource));
  }
  return result;
}
