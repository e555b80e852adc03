// What is known about the one VM, and the report the node agent gets of it. The record is the launcher's only memory of the domain;
// renderReport is pure.
import type {
  AgentReport,
  CredentialsReport,
  DomainInterfaceReport,
  DomainReport,
  MemoryDumpReport,
  MigrationReport,
} from '../api/domain-report.js';
import type { VirtualMachineInstance } from '../api/index.js';
import type { DeviceChange, LiveDomain } from '../core/converter/index.js';
import type { StateReport } from '../libvirt/index.js';
import { domainStatus, hasCrashed } from './domain-state.js';
import type { PreparedDomain } from './prepare/domain.js';

/** From the guest agent. */
export interface GuestFacts {
  readonly osInfo?: Record<string, string>;
  readonly hostname?: string;
  readonly interfaces?: readonly DomainInterfaceReport[];
  readonly fsFreezeStatus?: string;
  /** Of the agent: its version and what it can do. */
  readonly agent?: AgentReport;
}

export interface VmRecord {
  readonly identity: { readonly name: string; readonly namespace: string; readonly uid: string };
  vmi?: VirtualMachineInstance;
  prepared?: Pick<PreparedDomain, 'type' | 'memoryBytes' | 'devices'>;
  /** Disk → bytes. */
  isoSizes: Readonly<Record<string, number>>;
  machineType?: string;
  /** Known once it was changed. */
  vcpus?: number;
  /** Tap → interface. */
  taps?: ReadonlyMap<string, string>;
  /** Work of hooks that must not be taken back. */
  undoings: readonly DeviceChange[];
  memoryDump?: MemoryDumpReport;
  accessCredentials?: CredentialsReport;
  migration?: MigrationReport;
  /** A guest is to arrive from another launcher: none is started here. */
  isExpected: boolean;
  /** The domain ran at least once: its end is the VM's end. */
  started: boolean;
  userPaused: boolean;
  /** The guest's operating system said that it can go on no longer. */
  hasPanicked: boolean;
  agentConnected: boolean;
  gracePeriodSeconds?: number;
  gracePeriodStartedAt?: string;
  markedForGracefulShutdown: boolean;
  /** Somebody asked the guest to power off. */
  shutdownRequested: boolean;
  guest: GuestFacts;
}

export function newRecord(identity: VmRecord['identity']): VmRecord {
  return {
    identity,
    undoings: [],
    isExpected: false,
    isoSizes: {},
    started: false,
    userPaused: false,
    hasPanicked: false,
    agentConnected: false,
    markedForGracefulShutdown: false,
    shutdownRequested: false,
    guest: {},
  };
}

/** What libvirt says that the guest has now. */
export function noteDevices(record: VmRecord, { disks, interfaces, taps, memoryBytes, vcpus, machineType }: LiveDomain): void {
  record.taps = taps;
  if (machineType !== undefined) record.machineType = machineType;
  const { prepared } = record;
  if (prepared === undefined) return;
  record.prepared = {
    type: prepared.type,
    memoryBytes: memoryBytes ?? prepared.memoryBytes,
    devices: { disks: [...disks], interfaces: [...interfaces] },
  };
  if (vcpus !== undefined) record.vcpus = vcpus;
}

/** Interfaces of the domain with what the agent says about them, then those only the guest knows. */
export function mergeInterfaces(own: readonly DomainInterfaceReport[], guest: readonly DomainInterfaceReport[]): DomainInterfaceReport[] {
  const byMac = new Map(guest.map((iface) => [iface.mac.toLowerCase(), iface]));
  const merged = own.map((iface) => {
    const found = byMac.get(iface.mac.toLowerCase());
    byMac.delete(iface.mac.toLowerCase());
    return { ...found, ...iface };
  });
  return [...merged, ...byMac.values()];
}

const given = <K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };

function renderSpec(record: VmRecord): DomainReport['spec'] {
  const { prepared, guest } = record;
  return {
    disks: (prepared?.devices.disks ?? []).map((disk) => ({ ...disk, ...given('size', record.isoSizes[disk.name]) })),
    interfaces: mergeInterfaces(prepared?.devices.interfaces ?? [], guest.interfaces ?? []),
    ...given('machineType', record.machineType),
    ...given('type', prepared?.type),
    ...given('memoryBytes', prepared?.memoryBytes),
    ...given('vcpus', record.vcpus),
    ...given('memoryDump', record.memoryDump),
    ...given('accessCredentials', record.accessCredentials),
    ...given('migration', record.migration),
    ...given('gracePeriodSeconds', record.gracePeriodSeconds),
    ...given('gracePeriodStartedAt', record.gracePeriodStartedAt),
    ...given('markedForGracefulShutdown', record.markedForGracefulShutdown || undefined),
    agentConnected: record.agentConnected,
    ...given('agent', record.agentConnected ? guest.agent : undefined),
  };
}

/** libvirt ends QEMU right after a panic; read a moment later, its state no longer tells of it. */
const endOf = ({ hasPanicked }: VmRecord, state: StateReport): StateReport =>
  hasPanicked && hasCrashed(state) ? { state: 'crashed', reason: 'panicked' } : state;

export function renderReport(record: VmRecord, state: StateReport): DomainReport {
  const { guest } = record;
  return {
    metadata: { ...record.identity },
    spec: renderSpec(record),
    status: {
      ...domainStatus(endOf(record, state)),
      ...given('osInfo', guest.osInfo),
      ...given('hostname', guest.hostname),
      ...given('fsFreezeStatus', guest.fsFreezeStatus),
    },
  };
}

/** The report of a domain that is gone. */
export function renderGone(record: VmRecord, now: string): DomainReport {
  return {
    metadata: { ...record.identity, deletionTimestamp: now },
    spec: renderSpec(record),
    status: { status: 'NoState', reason: 'NonExistent' },
  };
}
