// What a VM keeps of its instance type and preference: a ControllerRevision of each, as it was when the VM first used it, and the status
// reference that names it. Later changes of the instance type do not reach the VM. Pure; instancetype-sync.ts writes what this decides.
import type {
  ControllerRevision,
  InstancetypeMatcher,
  InstancetypeStatusRef,
  KubeObject,
  ObjectMeta,
  PreferenceMatcher,
  VirtualMachine,
} from '../../api/index.js';
import type { Family } from '../../core/instancetype/index.js';
import { deepEqual } from '../../runtime/patch.js';
import { controllerRefOf } from './vmi-from-vm.js';

const GROUP = 'instancetype.kubevirt.io';
export const REVISION_VERSION = 'v1beta1';
const VERSION_LABEL = `${GROUP}/object-version`;

export const REF = { instancetype: 'instancetypeRef', preference: 'preferenceRef' } as const satisfies Record<Family, string>;

export type Matcher = InstancetypeMatcher | PreferenceMatcher;

/** An instance type or preference, as read from the API server or kept in a revision. */
export interface Kept extends KubeObject {
  readonly spec?: unknown;
}

export const keptIn = (revision: ControllerRevision): Kept | undefined => revision.data as Kept | undefined;

function withoutBallast({
  labels: _l,
  annotations: _a,
  finalizers: _f,
  ownerReferences: _o,
  managedFields: _m,
  ...rest
}: ObjectMeta): ObjectMeta {
  return rest;
}

export function revisionOf(vm: VirtualMachine, kind: string, object: Kept): ControllerRevision {
  const { name = '', uid = '', generation = 0 } = object.metadata;
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${vm.metadata.name}-${name}-${REVISION_VERSION}-${uid}-${generation}`,
      ...(vm.metadata.namespace ? { namespace: vm.metadata.namespace } : {}),
      labels: {
        [`${GROUP}/object-generation`]: String(generation),
        [`${GROUP}/object-kind`]: kind,
        [`${GROUP}/object-name`]: name,
        [`${GROUP}/object-uid`]: uid,
        [VERSION_LABEL]: REVISION_VERSION,
      },
      ownerReferences: [controllerRefOf(vm)],
    },
    data: { apiVersion: `${GROUP}/${REVISION_VERSION}`, kind, metadata: withoutBallast(object.metadata), spec: object.spec },
    revision: 0,
  };
}

/** A revision of this name that another pass has left holds what this one would have written. */
export const holdsSame = (a: ControllerRevision, b: ControllerRevision): boolean => deepEqual(keptIn(a)?.spec, keptIn(b)?.spec);

export const isCurrentVersion = (revision: ControllerRevision): boolean => revision.metadata.labels?.[VERSION_LABEL] === REVISION_VERSION;

export const keptName = (ref: InstancetypeStatusRef | undefined): string | undefined => ref?.controllerRevisionRef?.name || undefined;

/**
 * The status reference that follows from the matcher. Without a name in it a revision must be made: the VM is new, or it now asks for
 * another instance type. A revision that the matcher itself names always counts.
 */
export function nextRef(matcher: Matcher, current: InstancetypeStatusRef = {}): InstancetypeStatusRef {
  const { controllerRevisionRef: kept, ...told } = current;
  const { name, kind, inferFromVolume, inferFromVolumeFailurePolicy, revisionName } = matcher;
  const asked = Object.fromEntries(Object.entries({ name, kind, inferFromVolume }).filter(([, value]) => value));
  const policy = inferFromVolumeFailurePolicy === undefined ? {} : { inferFromVolumeFailurePolicy };
  const isChanged = Object.entries(asked).some(([key, value]) => told[key as keyof typeof told] !== value);
  const revision = revisionName ? { name: revisionName } : isChanged ? undefined : kept;
  return { ...told, ...asked, ...policy, ...(revision ? { controllerRevisionRef: revision } : {}) };
}

type RefPatch = Readonly<Record<string, unknown>>;

/** A merge patch from one reference to the other. */
export function refPatch(old: InstancetypeStatusRef | undefined, next: InstancetypeStatusRef): RefPatch | undefined {
  if (deepEqual(old, next)) return undefined;
  const gone = Object.keys(old ?? {}).filter((key) => !(key in next));
  return { ...next, ...Object.fromEntries(gone.map((key) => [key, null])) };
}
