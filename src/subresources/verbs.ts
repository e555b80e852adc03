// The one table of subresources: method, where, whether discovery lists them and whether they are served yet. Discovery, OpenAPI, the
// routes and docs/subresources.md follow it. Pure data.

export type Verb = 'GET' | 'PUT';

export interface SubresourceRow {
  readonly resource: 'virtualmachines' | 'virtualmachineinstances';
  /** May have several segments and `:parameters`. */
  readonly name: string;
  readonly method: Verb;
  readonly stream?: true;
  readonly listed: boolean;
  /** Absent when it is served. */
  readonly missing?: string;
}

const HOTPLUG = 'volumes cannot be hot-plugged yet';
const SEV = 'confidential guests are not supported yet';
const STREAM = 'this stream is not served yet';
const GRAPH = 'object graphs are not drawn yet';
const MIGRATION = 'live migration is not supported yet';
const MEMORY_DUMP = 'memory dumps are not taken yet';
const BACKUP = 'backups are not taken yet';

type Row = Omit<SubresourceRow, 'resource'>;

const served = (name: string, method: Verb = 'PUT'): Row => ({ name, method, listed: true });
const missing = (name: string, method: Verb, why: string, listed = true): Row => ({ name, method, listed, missing: why });
const stream = (row: Row): Row => ({ ...row, method: 'GET', stream: true });

const VM_ROWS: readonly Row[] = [
  served('start'),
  served('stop'),
  served('restart'),
  missing('migrate', 'PUT', MIGRATION),
  missing('expand-spec', 'GET', 'the kinds of instance types are not installed yet'),
  missing('objectgraph', 'GET', GRAPH),
  missing('evacuate/cancel', 'PUT', MIGRATION),
  stream({ ...served('portforward/:port'), listed: false }),
  stream({ ...served('portforward/:port/:protocol'), listed: false }),
  missing('addvolume', 'PUT', HOTPLUG, false),
  missing('removevolume', 'PUT', HOTPLUG, false),
  missing('memorydump', 'PUT', MEMORY_DUMP, false),
  missing('removememorydump', 'PUT', MEMORY_DUMP, false),
];

const VMI_ROWS: readonly Row[] = [
  stream(served('vnc', 'GET')),
  missing('vnc/screenshot', 'GET', 'screenshots are not taken yet'),
  stream(served('console', 'GET')),
  stream(served('portforward/:port')),
  stream(served('portforward/:port/:protocol')),
  missing('backup', 'PUT', BACKUP),
  missing('redefine-checkpoint', 'PUT', BACKUP),
  served('pause'),
  served('unpause'),
  served('freeze'),
  served('unfreeze'),
  served('reset'),
  served('softreboot'),
  served('guestosinfo', 'GET'),
  served('userlist', 'GET'),
  served('filesystemlist', 'GET'),
  missing('addvolume', 'PUT', HOTPLUG),
  missing('removevolume', 'PUT', HOTPLUG),
  missing('objectgraph', 'GET', GRAPH),
  missing('sev/fetchcertchain', 'GET', SEV),
  missing('sev/querylaunchmeasurement', 'GET', SEV),
  missing('sev/setupsession', 'PUT', SEV),
  missing('sev/injectlaunchsecret', 'PUT', SEV),
  missing('evacuate/cancel', 'PUT', MIGRATION),
  stream(missing('usbredir', 'GET', STREAM, false)),
  stream(missing('vsock', 'GET', STREAM, false)),
];

export const SUBRESOURCES: readonly SubresourceRow[] = [
  ...VM_ROWS.map((row) => ({ resource: 'virtualmachines' as const, ...row })),
  ...VMI_ROWS.map((row) => ({ resource: 'virtualmachineinstances' as const, ...row })),
];

/** Below the group's version, outside any object. */
export const MISSING_GROUP_PATHS: readonly { readonly path: string; readonly method: Verb; readonly missing: string }[] = [
  { path: 'namespaces/:ns/expand-vm-spec', method: 'PUT', missing: 'the kinds of instance types are not installed yet' },
  { path: 'start-cluster-profiler', method: 'GET', missing: 'profiles are not collected yet' },
  { path: 'stop-cluster-profiler', method: 'GET', missing: 'profiles are not collected yet' },
  { path: 'dump-cluster-profiler', method: 'GET', missing: 'profiles are not collected yet' },
];

export const GROUP = 'subresources.kubevirt.io';
export const VERSIONS = ['v1', 'v1alpha3'] as const;
export const versionPath = (version: string): string => `/apis/${GROUP}/${version}`;
export const objectPath = (version: string, { resource, name }: SubresourceRow): string =>
  `${versionPath(version)}/namespaces/:ns/${resource}/:name/${name}`;
