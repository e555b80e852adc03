// OpenAPI documents of the aggregated API, versions 2 and 3: the paths, operations, bodies and answers that the API server merges into its own
// and that clients are generated from. Pure; rendered once.
import { createHash } from 'node:crypto';
import { DEFINITIONS, QUERY_TYPES } from './openapi-types.js';
import { GROUP, GROUP_PATHS, type OperationFacts, objectPath, SUBRESOURCES, VERSIONS, versionPath } from './verbs.js';

const INFO = { title: 'KubeVirt API', description: 'Subresources of virtual machines' } as const;
const JSON_TYPE = 'application/json';

type Json = Readonly<Record<string, unknown>>;

interface Operation extends OperationFacts {
  readonly path: string;
}

/** The parameters of our paths and what the documents call them. */
const PARAMETER: Readonly<Record<string, string>> = { ns: 'namespace' };
const braced = (path: string): string => path.replace(/:(\w+)/g, (_, name: string) => `{${PARAMETER[name] ?? name}}`);
const parametersOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1] ?? '');

function operations(version: string): Operation[] {
  const list: Operation[] = [
    { path: `${versionPath(version)}/`, method: 'GET', id: 'getAPISubResources' },
    ...GROUP_PATHS.map((row) => ({ ...row, path: `${versionPath(version)}/${row.path}` })),
    ...SUBRESOURCES.map((row) => ({ ...row, path: objectPath(version, row) })),
  ];
  return list.map((operation) => ({ ...operation, path: braced(operation.path), id: `${version}${operation.id}` }));
}

/** What differs between the versions of OpenAPI. */
interface Dialect {
  parameter(where: 'path' | 'query', name: string, type: Json): Json;
  /** The operation's parts that tell of its body. */
  body(type: string): { readonly parameters?: readonly Json[]; readonly requestBody?: Json; readonly consumes?: readonly string[] };
  answer(type: string | undefined): Json;
}

const V2: Dialect = {
  parameter: (where, name, type) => ({ name, in: where, ...type, ...(where === 'path' ? { required: true } : {}) }),
  body: (type) => ({ consumes: ['*/*'], parameters: [{ name: 'body', in: 'body', schema: { $ref: `#/definitions/${type}` } }] }),
  answer: (type) => ({ description: 'OK', ...(type ? { schema: { $ref: `#/definitions/${type}` } } : {}) }),
};

const ref3 = (type: string): Json => ({ [JSON_TYPE]: { schema: { $ref: `#/components/schemas/${type}` } } });
const V3: Dialect = {
  parameter: (where, name, type) => ({ name, in: where, schema: type, ...(where === 'path' ? { required: true } : {}) }),
  body: (type) => ({ requestBody: { content: ref3(type) } }),
  answer: (type) => ({ description: 'OK', ...(type ? { content: ref3(type) } : {}) }),
};

function operationOf({ path, id, body, answer, query = [] }: Operation, dialect: Dialect): Json {
  const { parameters: bodies = [], ...rest } = body ? dialect.body(body) : {};
  const parameters = [
    ...parametersOf(path).map((name) => dialect.parameter('path', name, { type: 'string' })),
    ...query.map((name) => dialect.parameter('query', name, QUERY_TYPES[name] ?? { type: 'string' })),
    ...bodies,
  ];
  return {
    operationId: id,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...rest,
    responses: { 200: dialect.answer(answer), 401: { description: 'Unauthorized' } },
  };
}

function paths(version: string, dialect: Dialect): Record<string, Json> {
  const out: Record<string, Json> = {};
  for (const operation of operations(version)) {
    const { path, method } = operation;
    out[path] = { ...out[path], [method.toLowerCase()]: operationOf(operation, dialect) };
  }
  return out;
}

export const openapiV2 = (): object => ({
  swagger: '2.0',
  info: { ...INFO, version: VERSIONS[0] },
  paths: paths(VERSIONS[0], V2),
  definitions: DEFINITIONS,
});

export const openapiV3 = (version: string): object => ({
  openapi: '3.0.0',
  info: { ...INFO, version },
  paths: paths(version, V3),
  components: { schemas: DEFINITIONS },
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
