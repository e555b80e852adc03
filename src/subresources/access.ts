// Who asks, and for what: reads the identity that the API server vouches for from the request's headers, and the attributes to be
// authorised from its path. Pure; a request that cannot be understood is refused with the reason.
import type { SubjectAccessReview } from '../api/index.js';
import { fail, ok, type Result } from '../base/result.js';

export interface IdentityHeaders {
  /** In order of trust; the first that is present counts. */
  readonly user: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
  /** Who is believed about them: common names of client certificates; empty or absent: whomever the front proxy's CA signed. */
  readonly proxyNames?: readonly string[];
}

export const DEFAULT_HEADERS: IdentityHeaders = {
  user: ['X-Remote-User'],
  group: ['X-Remote-Group'],
  extraPrefix: ['X-Remote-Extra-'],
};

export interface AccessRequest {
  readonly method: string;
  /** As received, percent-encoded. */
  readonly path: string;
  /** By lower-case name. */
  readonly headerValues: Readonly<Record<string, readonly string[] | undefined>>;
}

type Spec = SubjectAccessReview['spec'];
type Attributes = NonNullable<Spec['resourceAttributes']>;

const GROUP = 'subresources.kubevirt.io';
const VERSIONS = ['v1', 'v1alpha3'];

/** What the API server itself, or a readiness probe, asks without an identity. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  '/',
  '/apis',
  '/healthz',
  '/openapi/v2',
  '/openapi/v3',
  ...VERSIONS.map((v) => `/openapi/v3/apis/${GROUP}/${v}`),
  ...VERSIONS.flatMap((v) =>
    ['', '/version', '/guestfs', '/healthz', '/start-cluster-profiler', '/stop-cluster-profiler', '/dump-cluster-profiler'].map(
      (rest) => `/apis/${GROUP}/${v}${rest}`,
    ),
  ),
]);

export const isOpen = (path: string): boolean => OPEN_PATHS.has(path);

function firstPresent(names: readonly string[], { headerValues }: AccessRequest): readonly string[] | undefined {
  for (const name of names) {
    const values = headerValues[name.toLowerCase()];
    if (values) return values;
  }
  return undefined;
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // A key that is not encoded is taken as it is, rather than lost.
    return key;
  }
}

function extrasOf(prefixes: readonly string[], { headerValues }: AccessRequest): Record<string, string[]> {
  const extras: Record<string, string[]> = {};
  for (const prefix of prefixes.map((p) => p.toLowerCase())) {
    for (const [name, values] of Object.entries(headerValues)) {
      if (name.startsWith(prefix) && values) extras[unescaped(name.slice(prefix.length))] = [...values];
    }
  }
  return extras;
}

function verbOf(method: string, name: string): string | undefined {
  switch (method) {
    case 'POST':
      return 'create';
    case 'GET':
    case 'HEAD':
      return name ? 'get' : 'list';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name ? 'delete' : 'deletecollection';
    default:
      return undefined;
  }
}

/** An encoded slash would let one segment pass for several: such paths are refused. */
function segmentsOf(path: string): readonly string[] | undefined {
  const parts = path.split('/').map(unescaped);
  return parts.some((p) => p.includes('/')) ? undefined : parts;
}

function attributesOf({ method, path }: AccessRequest): Result<Attributes, string> {
  const parts = segmentsOf(path) ?? [];
  const [, , group = '', version = '', , namespace = '', resource = '', name = '', ...rest] = parts;
  const base = { namespace, group, version, resource };
  if (parts.length >= 9) {
    if (resource !== 'virtualmachines' && resource !== 'virtualmachineinstances') return fail(`unknown resource type ${resource}`);
    const verb = verbOf(method, name);
    // Port and protocol of a forwarding are no part of the permission.
    const subresource = rest[0] === 'portforward' ? 'portforward' : rest.join('/');
    return verb ? ok({ ...base, verb, subresource, name }) : fail(`unknown http verb in request: ${method}`);
  }
  if (parts.length !== 7) return fail(`unknown api endpoint: ${path}`);
  if (resource !== 'expand-vm-spec') return fail(`unknown resource type ${resource}`);
  const verb = verbOf(method, '');
  return verb ? ok({ ...base, verb }) : fail(`unknown http verb in request: ${method}`);
}

/** The review to ask the API server for, or why the request cannot be authorised. */
export function accessReview(request: AccessRequest, headers: IdentityHeaders): Result<SubjectAccessReview, string> {
  const user = firstPresent(headers.user, request)?.[0];
  if (user === undefined) return fail('a valid user header is required for authorization');
  const groups = firstPresent(headers.group, request);
  if (groups === undefined) return fail('a valid group header is required for authorization');
  const attributes = attributesOf(request);
  if (!attributes.ok) return attributes;
  const spec: Spec = { user, groups: [...groups], extra: extrasOf(headers.extraPrefix, request), resourceAttributes: attributes.value };
  return ok({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {}, spec });
}
