// The one table of subresources: method, where, what they are called, whether discovery lists them and whether they are served yet.
// Discovery, OpenAPI, the routes and docs/subresources.md follow it. Pure data.

export type Verb = 'GET' | 'PUT';

/** Facts that the OpenAPI documents tell of an operation. */
export interface OperationFacts {
  readonly method: Verb;
  /** What clients generated from the OpenAPI documents call it, without the version. */
  readonly id: string;
  /** Name in openapi-types.ts of what the body holds. */
  readonly body?: string;
  /** The same of the answer. */
  readonly answer?: string;
  readonly query?: readonly string[];
}

export interface SubresourceRow extends OperationFacts {
  readonly resource: 'virtualmachines' | 'virtualmachineinstances';
  /** May have several segments and `:parameters`. */
  readonly name: string;
  readonly stream?: true;
  readonly listed: boolean;
  /** Absent when it is served. */
  readonly missing?: string;
}

type Row = Omit<SubresourceRow, 'resource'>;
type Rest = Partial<Row>;

const put = (name: string, id: string, body?: string, rest: Rest = {}): Row => ({
  name,
  id,
  method: 'PUT',
  listed: true,
  ...(body ? { body } : {}),
  ...rest,
});
const get = (name: string, id: string, answer?: string, rest: Rest = {}): Row => ({
  name,
  id,
  method: 'GET',
  listed: true,
  ...(answer ? { answer } : {}),
  ...rest,
});
const stream = (name: string, id: string, rest: Rest = {}): Row => get(name, id, undefined, { stream: true, ...rest });
const unlisted = { listed: false } as const;

const graph = { body: 'v1.ObjectGraphOptions' } as const;

const VM_ROWS: readonly Row[] = [
  put('start', 'Start', 'v1.StartOptions'),
  put('stop', 'Stop', 'v1.StopOptions'),
  put('restart', 'Restart', 'v1.RestartOptions'),
  put('migrate', 'Migrate', 'v1.MigrateOptions'),
  get('expand-spec', 'vm-ExpandSpec'),
  get('objectgraph', 'vm-objectgraph', 'v1.ObjectGraphNode', graph),
  put('evacuate/cancel', 'vm-evacuatecancel', 'v1.EvacuateCancelOptions'),
  stream('portforward/:port', 'vm-PortForward', unlisted),
  stream('portforward/:port/:protocol', 'vm-PortForwardWithProtocol', unlisted),
  put('addvolume', 'vm-addvolume', 'v1.AddVolumeOptions', unlisted),
  put('removevolume', 'vm-removevolume', 'v1.RemoveVolumeOptions', unlisted),
  put('memorydump', 'MemoryDump', 'v1.VirtualMachineMemoryDumpRequest', unlisted),
  put('removememorydump', 'RemoveMemoryDump', undefined, unlisted),
];

const VMI_ROWS: readonly Row[] = [
  stream('vnc', 'VNC', { query: ['preserveSession'] }),
  get('vnc/screenshot', 'VNCScreenshot', undefined, { query: ['moveCursor'] }),
  stream('console', 'Console'),
  stream('portforward/:port', 'vmi-PortForward'),
  stream('portforward/:port/:protocol', 'vmi-PortForwardWithProtocol'),
  put('backup', 'Backup', 'v1alpha1.BackupOptions'),
  put('redefine-checkpoint', 'RedefineCheckpoint', 'v1alpha1.BackupCheckpoint'),
  put('pause', 'Pause', 'v1.PauseOptions'),
  put('unpause', 'Unpause', 'v1.UnpauseOptions'),
  put('freeze', 'Freeze', 'v1.FreezeUnfreezeTimeout'),
  put('unfreeze', 'Unfreeze'),
  put('reset', 'Reset'),
  put('softreboot', 'SoftReboot'),
  get('guestosinfo', 'Guestosinfo', 'v1.VirtualMachineInstanceGuestAgentInfo'),
  get('userlist', 'Userlist', 'v1.VirtualMachineInstanceGuestOSUserList'),
  get('filesystemlist', 'Filesystemlist', 'v1.VirtualMachineInstanceFileSystemList'),
  put('addvolume', 'vmi-addvolume', 'v1.AddVolumeOptions'),
  put('removevolume', 'vmi-removevolume', 'v1.RemoveVolumeOptions'),
  get('objectgraph', 'vmi-objectgraph', 'v1.ObjectGraphNode', graph),
  get('sev/fetchcertchain', 'SEVFetchCertChain', 'v1.SEVPlatformInfo'),
  get('sev/querylaunchmeasurement', 'SEVQueryLaunchMeasurement', 'v1.SEVMeasurementInfo'),
  put('sev/setupsession', 'SEVSetupSession', 'v1.SEVSessionOptions'),
  put('sev/injectlaunchsecret', 'SEVInjectLaunchSecret', 'v1.SEVSecretOptions'),
  put('evacuate/cancel', 'vmi-evacuatecancel', 'v1.EvacuateCancelOptions'),
  stream('usbredir', 'usbredir', unlisted),
  stream('vsock', 'VSOCK', { ...unlisted, query: ['port', 'tls'] }),
];

export const SUBRESOURCES: readonly SubresourceRow[] = [
  ...VM_ROWS.map((row) => ({ resource: 'virtualmachines' as const, ...row })),
  ...VMI_ROWS.map((row) => ({ resource: 'virtualmachineinstances' as const, ...row })),
];

export interface GroupRow extends OperationFacts {
  readonly path: string;
  readonly missing?: string;
}

/** Below the group's version, outside any object. */
export const GROUP_PATHS: readonly GroupRow[] = [
  { path: 'version', method: 'GET', id: 'Version' },
  { path: 'healthz', method: 'GET', id: 'CheckHealth' },
  { path: 'guestfs', method: 'GET', id: 'Guestfs' },
  { path: 'namespaces/:ns/expand-vm-spec', method: 'PUT', id: 'ExpandSpec' },
  { path: 'start-cluster-profiler', method: 'GET', id: 'start-cluster-profiler' },
  { path: 'stop-cluster-profiler', method: 'GET', id: 'stop-cluster-profiler' },
  { path: 'dump-cluster-profiler', method: 'GET', id: 'dump-cluster-profiler' },
];

export const GROUP = 'subresources.kubevirt.io';
export const VERSIONS = ['v1', 'v1alpha3'] as const;
export const versionPath = (version: string): string => `/apis/${GROUP}/${version}`;
export const objectPath = (version: string, { resource, name }: Pick<SubresourceRow, 'resource' | 'name'>): string =>
  `${versionPath(version)}/namespaces/:ns/${resource}/:name/${name}`;
