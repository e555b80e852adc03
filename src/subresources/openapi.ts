// OpenAPI documents of the aggregated API, versions 2 and 3: enough for the API server's aggregator and for kubectl to know the paths
// without complaint. Pure; rendered once.
import { createHash } from 'node:crypto';
import { GROUP, MISSING_GROUP_PATHS, objectPath, SUBRESOURCES, VERSIONS, type Verb, versionPath } from './verbs.js';

const INFO = { title: 'KubeVirt API', description: 'Subresources of virtual machines' } as const;
const UNAUTHORIZED = { 401: { description: 'Unauthorized' } } as const;

interface Operation {
  readonly path: string;
  readonly method: Verb;
  readonly id: string;
}

const braced = (path: string): string => path.replace(/:(\w+)/g, '{$1}');
const parametersOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1] ?? '');

function operations(version: string): Operation[] {
  const rows = SUBRESOURCES.map((row) => ({ path: objectPath(version, row), method: row.method }));
  const own = ['version', 'healthz', 'guestfs'].map((name) => ({ path: `${versionPath(version)}/${name}`, method: 'GET' as const }));
  const group = MISSING_GROUP_PATHS.map(({ path, method }) => ({ path: `${versionPath(version)}/${path}`, method }));
  return [{ path: `${versionPath(version)}/`, method: 'GET' as const }, ...own, ...group, ...rows].map(({ path, method }) => {
    const tail = braced(path)
      .slice(versionPath(version).length)
      .replace(/[^a-zA-Z0-9]+/g, '-');
    return { path: braced(path), method, id: `${version}${method.toLowerCase()}${tail}` };
  });
}

function paths(list: readonly Operation[], parameter: (name: string) => object): Record<string, object> {
  const out: Record<string, object> = {};
  for (const { path, method, id } of list) {
    const parameters = parametersOf(path).map(parameter);
    const operation = {
      operationId: id,
      responses: { 200: { description: 'OK' }, ...UNAUTHORIZED },
      ...(parameters.length ? { parameters } : {}),
    };
    out[path] = { ...out[path], [method.toLowerCase()]: operation };
  }
  return out;
}

export const openapiV2 = (): object => ({
  swagger: '2.0',
  info: { ...INFO, version: VERSIONS[0] },
  paths: paths(operations(VERSIONS[0]), (name) => ({ name, in: 'path', required: true, type: 'string' })),
  definitions: {},
});

export const openapiV3 = (version: string): object => ({
  openapi: '3.0.0',
  info: { ...INFO, version },
  paths: paths(operations(version), (name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
  components: {},
});

export const v3Path = (version: string): string => `/openapi/v3/apis/${GROUP}/${version}`;

/** Where the documents of version 3 are; the hash tells clients when a cached one is stale. */
export function openapiV3Root(): object {
  const entry = (version: string): [string, object] => {
    const hash = createHash('sha256')
      .update(JSON.stringify(openapiV3(version)))
      .digest('hex')
      .toUpperCase();
    return [`apis/${GROUP}/${version}`, { serverRelativeURL: `${v3Path(version)}?hash=${hash}` }];
  };
  return { paths: Object.fromEntries(VERSIONS.map(entry)) };
}
