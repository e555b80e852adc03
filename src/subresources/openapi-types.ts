// What bodies and answers of subresources hold, for the OpenAPI documents: shallow, since clients read fields' types and not more. Pure data.

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const int: Schema = { type: 'integer', format: 'int64' };
const texts: Schema = { type: 'array', items: text };
const textMap: Schema = { type: 'object', additionalProperties: text };
const time: Schema = { type: 'string', format: 'date-time' };
/** Described with the kind that it is a part of. */
const any: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const list = (items: Schema = any): Schema => ({ type: 'array', items });

const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
});

const META = { apiVersion: text, kind: text } as const;
const DRY_RUN = { dryRun: texts } as const;

export const DEFINITIONS: Readonly<Record<string, Schema>> = {
  'v1.StartOptions': object({ ...META, ...DRY_RUN, paused: flag }),
  'v1.StopOptions': object({ ...META, ...DRY_RUN, gracePeriod: int }),
  'v1.RestartOptions': object({ ...META, ...DRY_RUN, gracePeriodSeconds: int }),
  'v1.MigrateOptions': object({ ...META, ...DRY_RUN, addedNodeSelector: textMap }),
  'v1.EvacuateCancelOptions': object({ ...META, ...DRY_RUN, evacuationNodeName: text }, ['evacuationNodeName']),
  'v1.PauseOptions': object({ ...META, ...DRY_RUN }),
  'v1.UnpauseOptions': object({ ...META, ...DRY_RUN }),
  'v1.FreezeUnfreezeTimeout': object({ unfreezeTimeout: text }, ['unfreezeTimeout']),
  'v1.AddVolumeOptions': object({ ...DRY_RUN, name: text, disk: any, volumeSource: any }, ['name', 'disk', 'volumeSource']),
  'v1.RemoveVolumeOptions': object({ ...DRY_RUN, name: text }, ['name']),
  'v1.VirtualMachineMemoryDumpRequest': object({
    claimName: text,
    phase: text,
    remove: flag,
    startTimestamp: time,
    endTimestamp: time,
    fileName: text,
    message: text,
  }),
  'v1.ObjectGraphOptions': object({ includeOptionalNodes: flag, labelSelector: any }),
  'v1.ObjectGraphNode': object({ ...META, objectReference: any, labels: textMap, optional: flag, children: list() }, ['objectReference']),
  'v1.SEVSessionOptions': object({ session: text, dhCert: text }),
  'v1.SEVSecretOptions': object({ header: text, secret: text }),
  'v1.SEVPlatformInfo': object({ ...META, pdh: text, certChain: text }),
  'v1.SEVMeasurementInfo': object({
    ...META,
    measurement: text,
    apiMajor: int,
    apiMinor: int,
    buildID: int,
    policy: int,
    loaderSHA: text,
  }),
  'v1alpha1.BackupOptions': object({
    backupName: text,
    cmd: text,
    mode: text,
    backupStartTime: time,
    incremental: text,
    targetPath: text,
    skipQuiesce: flag,
    exportServerAddr: text,
    exportServerName: text,
    backupCert: text,
    backupKey: text,
    caCert: text,
  }),
  'v1alpha1.BackupCheckpoint': object({ name: text, creationTime: time, volumes: list() }),
  'v1.VirtualMachineInstanceGuestAgentInfo': object({
    ...META,
    guestAgentVersion: text,
    supportedCommands: list(),
    hostname: text,
    os: any,
    timezone: text,
    userList: list(),
    fsInfo: any,
    fsFreezeStatus: text,
    load: any,
  }),
  'v1.VirtualMachineInstanceGuestOSUserList': object({ ...META, metadata: any, items: list() }, ['items']),
  'v1.VirtualMachineInstanceFileSystemList': object({ ...META, metadata: any, items: list() }, ['items']),
};

/** Parameters of the query, by name. */
export const QUERY_TYPES: Readonly<Record<string, Schema>> = {
  preserveSession: flag,
  moveCursor: flag,
  port: int,
  tls: flag,
};
