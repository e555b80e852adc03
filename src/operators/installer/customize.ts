// spec.customizeComponents of the KubeVirt CR: the owner's own patches and flags, applied to what the installer rendered. Pure; a patch
// that does not fit is an error that names it.
import { applyPatch, type Operation } from 'rfc6902';
import type { CustomizeComponents, DaemonSet, Deployment, KubeObject } from '../../api/index.js';
import { KvError, messageOf } from '../../base/errors.js';
import { strategicMerge } from './strategic-merge.js';

type Patch = NonNullable<CustomizeComponents['patches']>[number];

/** Which workload a key of `flags` means. */
const FLAGS_OF: Readonly<Record<string, keyof NonNullable<CustomizeComponents['flags']>>> = {
  'virt-api': 'api',
  'virt-controller': 'controller',
  'virt-handler': 'handler',
};

/** The object as the CR's owner wants it: flags first, then the patches in their order. */
export function customized<T extends KubeObject>(object: T, custom: CustomizeComponents | undefined): T {
  if (!custom) return object;
  const patches = (custom.patches ?? []).filter((patch) => isMeant(patch, object));
  return patches.reduce(patched, withFlags(object, custom)) as T;
}

const isMeant = ({ resourceType, resourceName }: Patch, { kind = '', metadata }: KubeObject): boolean =>
  matches(resourceType, kind) && matches(resourceName, metadata.name ?? '');

const matches = (wanted: string, actual: string): boolean => wanted === '*' || wanted.toLowerCase() === actual.toLowerCase();

function patched(object: KubeObject, patch: Patch): KubeObject {
  const what = `the ${patch.type} patch of ${patch.resourceType} ${patch.resourceName} in spec.customizeComponents`;
  let content: unknown;
  try {
    content = JSON.parse(patch.patch);
  } catch (err) {
    throw new KvError('Invalid', `${what} is not JSON: ${messageOf(err)}`, { cause: err });
  }
  switch (patch.type) {
    case 'json':
      return jsonPatched(object, content as Operation[], what);
    case 'merge':
      return merged(object, content) as KubeObject;
    case 'strategic':
      return strategicMerge(object, content) as KubeObject;
    default:
      throw new KvError('Invalid', `${what} has an unknown type: use json, merge or strategic`);
  }
}

function jsonPatched(object: KubeObject, operations: readonly Operation[], what: string): KubeObject {
  if (!Array.isArray(operations)) throw new KvError('Invalid', `${what} must be a list of operations`);
  const copy = structuredClone(object);
  const failures = applyPatch(copy, [...operations]).filter((failure) => failure !== null);
  if (failures[0]) throw new KvError('Invalid', `${what} does not fit ${object.metadata.name}: ${failures[0].message}`);
  return copy;
}

type Json = Record<string, unknown>;
const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

function merged(object: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const result: Json = isMap(object) ? { ...object } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function withFlags(object: KubeObject, { flags }: CustomizeComponents): KubeObject {
  const name = object.metadata.name ?? '';
  const component = FLAGS_OF[name];
  const extra = component && flags?.[component];
  if (!extra || (object.kind !== 'Deployment' && object.kind !== 'DaemonSet')) return object;
  const workload = object as Deployment | DaemonSet;
  const template = workload.spec?.template;
  if (!template?.spec) return object;
  // Of a flag that is given twice the last one counts.
  const more = Object.entries(extra).flatMap(([flag, value]) => (value === '' ? [`--${flag}`] : [`--${flag}`, value]));
  const containers = template.spec.containers.map((one) => (one.name === name ? { ...one, args: [...(one.args ?? []), ...more] } : one));
  const result = { ...workload, spec: { ...workload.spec, template: { ...template, spec: { ...template.spec, containers } } } };
  return result as KubeObject;
}
