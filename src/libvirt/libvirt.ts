// What the rest of the project sees of libvirt: a connection and a domain as typed promises. The real one talks to the library
// (connection.ts, domain.ts), tests use a fake; one contract suite runs against both.
import type { JobType, LibvirtState, LifecycleEvent } from './constants.js';

export interface StateReport {
  readonly state: LibvirtState;
  /** One of constants.STATE_REASONS[state]. */
  readonly reason: string;
}

export interface DomainInfo extends StateReport {
  readonly maxMemoryKib: number;
  readonly memoryKib: number;
  readonly vcpus: number;
  readonly cpuTimeNs: number;
}

export interface GuestAddress {
  readonly family: 4 | 6;
  readonly ip: string;
  readonly prefix: number;
}

export interface GuestInterface {
  readonly name: string;
  readonly mac?: string;
  readonly addresses: readonly GuestAddress[];
}

export type TypedValue = number | string | boolean;

export interface XmlOptions {
  readonly inactive?: boolean;
  readonly secure?: boolean;
  readonly migratable?: boolean;
}

export interface UndefineOptions {
  readonly keepNvram?: boolean;
  readonly nvram?: boolean;
  readonly checkpointsMetadata?: boolean;
  readonly snapshotsMetadata?: boolean;
  readonly managedSave?: boolean;
}

/** Where a device change applies; without either, the running domain. */
export interface DeviceOptions {
  readonly live?: boolean;
  readonly config?: boolean;
}

export interface Picture {
  /** "image/png" where QEMU writes it, else "image/x-portable-pixmap". */
  readonly mime: string;
  readonly data: Buffer;
}

export type StatsType = 'state' | 'cpu' | 'balloon' | 'vcpu' | 'interface' | 'block' | 'dirtyRate';
export type MigrateFlag =
  | 'live'
  | 'peer2peer'
  | 'persistDest'
  | 'paused'
  | 'nonSharedInc'
  | 'unsafe'
  | 'compressed'
  | 'autoConverge'
  | 'postcopy'
  | 'parallel';
/** libvirt's typed parameters by name; a list gives the same name several times. bigint and number differ: ullong and int. */
export type ParamValues = Readonly<Record<string, string | number | bigint | readonly string[]>>;

export interface JobStats {
  readonly type: JobType;
  /** libvirt's flat key → value list, e.g. 'data_remaining'. */
  readonly params: ReadonlyMap<string, TypedValue>;
}

export type StopMode = 'default' | 'acpi' | 'agent';
export type AddressSource = 'lease' | 'agent' | 'arp';
export type GuestInfoType = 'users' | 'os' | 'timezone' | 'hostname' | 'filesystem' | 'disks' | 'interfaces';

export interface Domain {
  readonly name: string;
  readonly uuid: string;
  create(options?: { readonly paused?: boolean }): Promise<void>;
  suspend(): Promise<void>;
  resume(): Promise<void>;
  shutdown(mode?: StopMode): Promise<void>;
  reboot(mode?: StopMode): Promise<void>;
  reset(): Promise<void>;
  /** graceful: SIGTERM only; fails when the process does not go. */
  destroy(options?: { readonly graceful?: boolean }): Promise<void>;
  undefine(options?: UndefineOptions): Promise<void>;
  state(): Promise<StateReport>;
  info(): Promise<DomainInfo>;
  xml(options?: XmlOptions): Promise<string>;
  attachDevice(xml: string, options?: DeviceOptions): Promise<void>;
  detachDevice(xml: string, options?: DeviceOptions): Promise<void>;
  updateDevice(xml: string, options?: DeviceOptions): Promise<void>;
  /** libvirt's flat key → value list, e.g. 'os.pretty-name'. */
  guestInfo(types: readonly GuestInfoType[]): Promise<ReadonlyMap<string, TypedValue>>;
  interfaceAddresses(source: AddressSource): Promise<GuestInterface[]>;
  /** Sends a guest-agent command and gives its `return` value. */
  agentCommand(command: { readonly execute: string; readonly arguments?: object }, timeoutSeconds: number): Promise<unknown>;
  /** Writes the guest's memory into a file, as an ELF core. The guest stands meanwhile. */
  dumpMemory(path: string): Promise<void>;
  /** What the first screen shows. */
  screenshot(): Promise<Picture>;
  setVcpus(count: number): Promise<void>;
  /** `cpus`: host CPUs that the vCPU, or QEMU's own threads, may run on. */
  pinVcpu(vcpu: number, cpus: readonly number[]): Promise<void>;
  pinEmulator(cpus: readonly number[]): Promise<void>;
  /** libvirt's flat key → value list, e.g. 'vcpu.0.time'. Never waits for a job. */
  stats(types: readonly StatsType[]): Promise<ReadonlyMap<string, TypedValue>>;
  /** Measures how fast the guest writes to its memory; stats give the result once `seconds` are over. */
  startDirtyRate(seconds: number): Promise<void>;
  /** Tells the guest that the image behind the target has grown. */
  resizeBlock(target: string, bytes: bigint): Promise<void>;
  launchSecurityInfo(): Promise<ReadonlyMap<string, TypedValue>>;
  setLaunchSecurityState(params: ParamValues): Promise<void>;
  /** Ends when the migration does. */
  migrate(destination: string, params: ParamValues, flags: readonly MigrateFlag[]): Promise<void>;
  startPostCopy(): Promise<void>;
  setMaxDowntime(ms: number): Promise<void>;
  abortJob(): Promise<void>;
  /** Of the job under way, or of the last one that ended. */
  jobStats(which?: 'current' | 'completed'): Promise<JobStats>;
  /** Gives the handle back; the domain itself stays. */
  close(): void;
}

interface OfDomain {
  readonly domain: { readonly name: string; readonly uuid: string };
}

export type DomainEvent = OfDomain &
  (
    | { readonly kind: 'lifecycle'; readonly event: LifecycleEvent; readonly detail: number }
    | { readonly kind: 'reboot' }
    | { readonly kind: 'agent'; readonly connected: boolean }
    | { readonly kind: 'io-error'; readonly path: string; readonly alias: string; readonly paused: boolean; readonly reason: string }
    | { readonly kind: 'device-added' | 'device-removed' | 'device-removal-failed'; readonly alias: string }
    | { readonly kind: 'memory-device-size'; readonly alias: string; readonly bytes: number }
    | { readonly kind: 'migration-iteration'; readonly iteration: number }
    | { readonly kind: 'job-completed'; readonly params: ReadonlyMap<string, TypedValue> }
  );

export interface CapabilitiesQuery {
  readonly emulator?: string;
  readonly arch?: string;
  readonly machine?: string;
  readonly virtType?: string;
}

export interface Connection {
  defineDomain(xml: string): Promise<Domain>;
  /** undefined when there is no such domain. */
  lookupDomain(name: string): Promise<Domain | undefined>;
  capabilities(): Promise<string>;
  domainCapabilities(query: CapabilitiesQuery): Promise<string>;
  /** The CPU all of `cpus` (XML documents) can run, with every feature listed when asked. */
  baselineCpu(cpus: readonly string[], query: CapabilitiesQuery & { readonly features?: boolean }): Promise<string>;
  /** The hypervisor's version, e.g. "10.0.13". */
  hypervisorVersion(): Promise<string>;
  /** The node's part in confidential guests: 'pdh', 'cert-chain' … */
  sevInfo(): Promise<ReadonlyMap<string, TypedValue>>;
  /** Calls `handler` for every event of every domain until the returned function is called. */
  subscribe(handler: (event: DomainEvent) => void): Promise<() => Promise<void>>;
  /** Calls `handler` once when the daemon goes away, or soon if it has gone. */
  onClose(handler: (reason: string) => void): void;
  isAlive(): boolean;
  close(): Promise<void>;
}

export interface Libvirt {
  /** Of the library in this process, and so of the daemon beside it: 11003000 is 11.3.0. */
  version(): number;
  /** `uri` as libvirt's, e.g. qemu+unix:///session?socket=… */
  open(uri: string): Promise<Connection>;
  /** Ends the event loop; the process can exit then. */
  shutdown(): Promise<void>;
}
