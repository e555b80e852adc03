// Builds the URL paths of the Kubernetes API. Pure.
import { type KubeObject, type ObjectKey, splitKey } from '../api/index.js';
import { KvError } from '../base/errors.js';
import type { Resource } from './types.js';

const root = ({ group, version }: Resource<KubeObject>): string => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`);

/** `virtualmachines.kubevirt.io`, or `pods` for the core group. */
export const resourceName = ({ group, plural }: Resource<KubeObject>): string => (group === '' ? plural : `${plural}.${group}`);

export function collectionPath(resource: Resource<KubeObject>, namespace?: string): string {
  const scope = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root(resource)}${scope}/${resource.plural}`;
}

export function objectPath(resource: Resource<KubeObject>, key: ObjectKey, subresource?: string): string {
  const { namespace, name } = splitKey(key);
  if (!name || resource.namespaced !== (namespace !== undefined)) {
    throw new KvError(
      'Internal',
      `'${key}' is no key of ${resourceName(resource)}: ${resource.namespaced ? 'namespace/name' : 'name'} expected`,
    );
  }
  const sub = subresource ? `/${subresource}` : '';
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}${sub}`;
}

/** The path with names replaced, for metrics: few distinct values. */
export function pathTemplate(resource: Resource<KubeObject>, named: boolean, subresource?: string): string {
  const scope = resource.namespaced ? '/namespaces/{namespace}' : '';
  return `${root(resource)}${scope}/${resource.plural}${named ? '/{name}' : ''}${subresource ? `/${subresource}` : ''}`;
}

export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  if (pairs.length === 0) return '';
  return `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}
