// libvirt's numbers under names of our own: states with their reasons, flags, event ids and the error codes somebody acts on.
// Values are libvirt's ABI (libvirt-domain.h, libvirt-qemu.h, virterror.h) and never change there.

export const DOMAIN_STATES = ['nostate', 'running', 'blocked', 'paused', 'shutdown', 'shutoff', 'crashed', 'pmsuspended'] as const;
export type LibvirtState = (typeof DOMAIN_STATES)[number];

/** Reason names by state, in libvirt's order; an unlisted number is 'unknown'. */
export const STATE_REASONS: Record<LibvirtState, readonly string[]> = {
  nostate: ['unknown'],
  running: [
    'unknown',
    'booted',
    'migrated',
    'restored',
    'from-snapshot',
    'unpaused',
    'migration-canceled',
    'save-canceled',
    'wakeup',
    'crashed',
    'postcopy',
    'postcopy-failed',
  ],
  blocked: ['unknown'],
  paused: [
    'unknown',
    'user',
    'migration',
    'save',
    'dump',
    'io-error',
    'watchdog',
    'from-snapshot',
    'shutting-down',
    'snapshot',
    'crashed',
    'starting-up',
    'postcopy',
    'postcopy-failed',
  ],
  shutdown: ['unknown', 'user'],
  shutoff: ['unknown', 'shutdown', 'destroyed', 'crashed', 'migrated', 'saved', 'failed', 'from-snapshot', 'daemon'],
  crashed: ['unknown', 'panicked'],
  pmsuspended: ['unknown'],
};

export const LIFECYCLE_EVENTS = [
  'defined',
  'undefined',
  'started',
  'suspended',
  'resumed',
  'stopped',
  'shutdown',
  'pmsuspended',
  'crashed',
] as const;
export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number];

export const EVENT_ID = {
  lifecycle: 0,
  reboot: 1,
  ioErrorReason: 6,
  deviceRemoved: 15,
  agentLifecycle: 18,
  deviceAdded: 19,
  migrationIteration: 20,
  jobCompleted: 21,
  deviceRemovalFailed: 22,
  memoryDeviceSizeChange: 26,
} as const;

export const ERROR_CODE = {
  internal: 1,
  noSupport: 3,
  operationFailed: 9,
  domainExists: 28,
  system: 38,
  rpc: 39,
  noDomain: 42,
  operationInvalid: 55,
  configUnsupported: 67,
  operationTimeout: 68,
  argumentUnsupported: 74,
  operationAborted: 78,
  agentUnresponsive: 86,
  agentUnsynced: 97,
  deviceMissing: 99,
} as const;

export const START_PAUSED = 1;
export const SHUTDOWN_MODE = { default: 0, acpi: 1, agent: 2 } as const;
export const REBOOT_MODE = { default: 0, acpi: 1, agent: 2 } as const;
export const DESTROY_GRACEFUL = 1;
export const UNDEFINE = { managedSave: 1, snapshotsMetadata: 2, nvram: 4, keepNvram: 8, checkpointsMetadata: 16 } as const;
export const XML = { secure: 1, inactive: 2, updateCpu: 4, migratable: 8 } as const;
/** virDomainModificationImpact with the flags of attach, detach and update. */
export const DEVICE = { live: 1, config: 2, force: 4 } as const;
export const GUEST_INFO = { users: 1, os: 2, timezone: 4, hostname: 8, filesystem: 16, disks: 32, interfaces: 64 } as const;
export const BASELINE_EXPAND_FEATURES = 1;
export const ADDRESS_SOURCE = { lease: 0, agent: 1, arp: 2 } as const;
/** virDomainCoreDumpFlags; the format 0 is plain ELF. */
export const DUMP_MEMORY_ONLY = 16;
export const DUMP_RAW = 0;
/** virDomainVcpuFlags */
export const VCPU = { live: 1, config: 2 } as const;
/** virDomainStatsTypes */
export const STATS = { state: 1, cpu: 2, balloon: 4, vcpu: 8, interface: 16, block: 32, dirtyRate: 512 } as const;
/** What needs a lock that another job holds is left out instead of waited for. */
export const STATS_NOWAIT = 1 << 29;
export const BLOCK_RESIZE_BYTES = 1;
/** virDomainMigrateFlags */
export const MIGRATE = {
  live: 1 << 0,
  peer2peer: 1 << 1,
  persistDest: 1 << 3,
  paused: 1 << 5,
  nonSharedInc: 1 << 7,
  unsafe: 1 << 9,
  compressed: 1 << 11,
  autoConverge: 1 << 13,
  postcopy: 1 << 15,
  parallel: 1 << 17,
} as const;
/** virDomainJobType */
export const JOB_TYPES = ['none', 'bounded', 'unbounded', 'completed', 'failed', 'cancelled'] as const;
export type JobType = (typeof JOB_TYPES)[number];
/** Of the job that ended last, instead of the one under way. */
export const JOB_STATS_COMPLETED = 1;
/** virErrorLevel: 1 is a warning, 2 an error. */
export const ERROR_LEVEL_ERROR = 2;
