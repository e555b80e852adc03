// One domain handle. Every method is one libvirt call through the connection's queue; results are plain values.
import { KvError } from '../base/errors.js';
import type { Caller } from './caller.js';
import {
  ADDRESS_SOURCE,
  BLOCK_RESIZE_BYTES,
  DESTROY_GRACEFUL,
  DEVICE,
  DOMAIN_STATES,
  DUMP_MEMORY_ONLY,
  DUMP_RAW,
  GUEST_INFO,
  REBOOT_MODE,
  SHUTDOWN_MODE,
  START_PAUSED,
  STATE_REASONS,
  UNDEFINE,
  VCPU,
  XML,
} from './constants.js';
import {
  cpuMap,
  type DomainCall,
  migrateDomain,
  readJobStats,
  readLaunchSecurity,
  readStats,
  setLaunchSecurity,
  takeScreenshot,
} from './domain-jobs.js';
import { type AsyncCalls, ffi, type Ptr, type RawDomainInfo } from './ffi.js';
import type {
  AddressSource,
  DeviceOptions,
  Domain,
  DomainInfo,
  GuestAddress,
  GuestInfoType,
  GuestInterface,
  JobStats,
  MigrateFlag,
  ParamValues,
  Picture,
  StateReport,
  StatsType,
  StopMode,
  TypedValue,
  UndefineOptions,
  XmlOptions,
} from './libvirt.js';
import { takeTypedParams } from './typed-params.js';

const UUID_BUFFER = 37;

/** The OR of the bits whose option is true. */
function flagsOf<K extends string>(bits: Readonly<Record<K, number>>, options: Partial<Record<K, boolean>>): number {
  return (Object.keys(bits) as K[]).reduce((flags, key) => (options[key] ? flags | bits[key] : flags), 0);
}

function stateReport(state: number, reason: number): StateReport {
  const name = DOMAIN_STATES[state] ?? 'nostate';
  return { state: name, reason: STATE_REASONS[name][reason] ?? 'unknown' };
}

/** Name and UUID of a handle; no call to the daemon, so it is safe inside event callbacks. */
export function identityOf(dom: Ptr): { name: string; uuid: string } {
  const buffer = Buffer.alloc(UUID_BUFFER);
  ffi().sync.virDomainGetUUIDString(dom, buffer);
  return { name: ffi().sync.virDomainGetName(dom), uuid: buffer.toString('latin1', 0, UUID_BUFFER - 1) };
}

function takeInterface(ptr: Ptr): GuestInterface {
  const { name, hwaddr, naddrs, addrs } = ffi().decodeInterface(ptr);
  const raw = addrs === null || naddrs === 0 ? [] : ffi().decodeAddresses(addrs, naddrs);
  // virIPAddrType: 0 is IPv4, 1 is IPv6.
  const addresses = raw.map(({ type, addr, prefix }): GuestAddress => ({ family: type === 0 ? 4 : 6, ip: addr, prefix }));
  ffi().sync.virDomainInterfaceFree(ptr);
  return { name, addresses, ...(hwaddr === null ? {} : { mac: hwaddr }) };
}

export class LibvirtDomain implements Domain {
  readonly name: string;
  readonly uuid: string;
  readonly #caller: Caller;
  readonly #dom: Ptr;
  #open = true;

  constructor(caller: Caller, dom: Ptr) {
    this.#caller = caller;
    this.#dom = dom;
    const { name, uuid } = identityOf(dom);
    this.name = name;
    this.uuid = uuid;
  }

  #call<T>(what: string, work: (calls: AsyncCalls, dom: Ptr) => Promise<T>): Promise<NonNullable<T>> {
    return this.#caller.call(`cannot ${what} domain ${this.name}`, () => {
      if (!this.#open) throw new KvError('Internal', `domain handle ${this.name} was closed`);
      return work(ffi().async, this.#dom);
    });
  }

  async create({ paused = false } = {}): Promise<void> {
    await this.#call('start', (calls, dom) => calls.virDomainCreateWithFlags(dom, paused ? START_PAUSED : 0));
  }

  async suspend(): Promise<void> {
    await this.#call('pause', (calls, dom) => calls.virDomainSuspend(dom));
  }

  async resume(): Promise<void> {
    await this.#call('resume', (calls, dom) => calls.virDomainResume(dom));
  }

  async shutdown(mode: StopMode = 'default'): Promise<void> {
    await this.#call('shut down', (calls, dom) => calls.virDomainShutdownFlags(dom, SHUTDOWN_MODE[mode]));
  }

  async reboot(mode: StopMode = 'default'): Promise<void> {
    await this.#call('reboot', (calls, dom) => calls.virDomainReboot(dom, REBOOT_MODE[mode]));
  }

  async reset(): Promise<void> {
    await this.#call('reset', (calls, dom) => calls.virDomainReset(dom, 0));
  }

  async destroy({ graceful = false } = {}): Promise<void> {
    await this.#call('destroy', (calls, dom) => calls.virDomainDestroyFlags(dom, graceful ? DESTROY_GRACEFUL : 0));
  }

  async undefine(options: UndefineOptions = {}): Promise<void> {
    await this.#call('undefine', (calls, dom) => calls.virDomainUndefineFlags(dom, flagsOf(UNDEFINE, options)));
  }

  async state(): Promise<StateReport> {
    const state: [number] = [0];
    const reason: [number] = [0];
    await this.#call('read the state of', (calls, dom) => calls.virDomainGetState(dom, state, reason, 0));
    return stateReport(state[0], reason[0]);
  }

  async info(): Promise<DomainInfo> {
    const report = await this.state();
    const raw: Partial<RawDomainInfo> = {};
    await this.#call('read the facts of', (calls, dom) => calls.virDomainGetInfo(dom, raw));
    const { maxMem = 0, memory = 0, nrVirtCpu = 0, cpuTime = 0 } = raw;
    return { ...report, maxMemoryKib: Number(maxMem), memoryKib: Number(memory), vcpus: nrVirtCpu, cpuTimeNs: Number(cpuTime) };
  }

  xml(options: XmlOptions = {}): Promise<string> {
    return this.#call('read the XML of', (calls, dom) => calls.virDomainGetXMLDesc(dom, flagsOf(XML, options)));
  }

  async attachDevice(xml: string, options: DeviceOptions = {}): Promise<void> {
    await this.#call('attach a device to', (calls, dom) => calls.virDomainAttachDeviceFlags(dom, xml, flagsOf(DEVICE, options)));
  }

  async detachDevice(xml: string, options: DeviceOptions = {}): Promise<void> {
    await this.#call('detach a device from', (calls, dom) => calls.virDomainDetachDeviceFlags(dom, xml, flagsOf(DEVICE, options)));
  }

  async updateDevice(xml: string, options: DeviceOptions = {}): Promise<void> {
    await this.#call('change a device of', (calls, dom) => calls.virDomainUpdateDeviceFlags(dom, xml, flagsOf(DEVICE, options)));
  }

  async guestInfo(types: readonly GuestInfoType[]): Promise<ReadonlyMap<string, TypedValue>> {
    const wanted = types.reduce((bits, type) => bits | GUEST_INFO[type], 0);
    const params: [Ptr | null] = [null];
    const count: [number] = [0];
    await this.#call('ask the guest agent of', (calls, dom) => calls.virDomainGetGuestInfo(dom, wanted, params, count, 0));
    return takeTypedParams(params[0], count[0]);
  }

  async interfaceAddresses(source: AddressSource): Promise<GuestInterface[]> {
    const list: [Ptr | null] = [null];
    const count = await this.#call('read the addresses of', (calls, dom) =>
      calls.virDomainInterfaceAddresses(dom, list, ADDRESS_SOURCE[source], 0),
    );
    if (list[0] === null) return [];
    const interfaces = ffi().decodePointers(list[0], count).map(takeInterface);
    ffi().libc.free(list[0]);
    return interfaces;
  }

  async agentCommand(command: { execute: string; arguments?: object }, timeoutSeconds: number): Promise<unknown> {
    const text = JSON.stringify(command);
    const answer = await this.#call(`run ${command.execute} by the guest agent of`, (calls, dom) =>
      calls.virDomainQemuAgentCommand(dom, text, timeoutSeconds, 0),
    );
    return (JSON.parse(answer) as { return?: unknown }).return;
  }

  /** For the functions of domain-jobs.ts. */
  get #jobs(): DomainCall {
    return (what, work) => this.#call(what, work);
  }

  async dumpMemory(path: string): Promise<void> {
    await this.#call('dump the memory of', (calls, dom) => calls.virDomainCoreDumpWithFormat(dom, path, DUMP_RAW, DUMP_MEMORY_ONLY));
  }

  screenshot(): Promise<Picture> {
    return takeScreenshot(this.#jobs);
  }

  async setVcpus(count: number): Promise<void> {
    await this.#call('set the vCPUs of', (calls, dom) => calls.virDomainSetVcpusFlags(dom, count, VCPU.live | VCPU.config));
  }

  async pinVcpu(vcpu: number, cpus: readonly number[]): Promise<void> {
    const map = cpuMap(cpus);
    await this.#call('pin a vCPU of', (calls, dom) => calls.virDomainPinVcpuFlags(dom, vcpu, map, map.length, VCPU.live | VCPU.config));
  }

  async pinEmulator(cpus: readonly number[]): Promise<void> {
    const map = cpuMap(cpus);
    await this.#call('pin the emulator of', (calls, dom) => calls.virDomainPinEmulator(dom, map, map.length, VCPU.live | VCPU.config));
  }

  stats(types: readonly StatsType[]): Promise<ReadonlyMap<string, TypedValue>> {
    return readStats(this.#jobs, types);
  }

  async startDirtyRate(seconds: number): Promise<void> {
    await this.#call('measure the dirty rate of', (calls, dom) => calls.virDomainStartDirtyRateCalc(dom, seconds, 0));
  }

  async resizeBlock(target: string, bytes: bigint): Promise<void> {
    await this.#call('grow a disk of', (calls, dom) => calls.virDomainBlockResize(dom, target, bytes, BLOCK_RESIZE_BYTES));
  }

  launchSecurityInfo(): Promise<ReadonlyMap<string, TypedValue>> {
    return readLaunchSecurity(this.#jobs);
  }

  setLaunchSecurityState(params: ParamValues): Promise<void> {
    return setLaunchSecurity(this.#jobs, params);
  }

  migrate(destination: string, params: ParamValues, flags: readonly MigrateFlag[]): Promise<void> {
    return migrateDomain(this.#jobs, destination, params, flags);
  }

  async startPostCopy(): Promise<void> {
    await this.#call('go on after the switch with', (calls, dom) => calls.virDomainMigrateStartPostCopy(dom, 0));
  }

  async setMaxDowntime(ms: number): Promise<void> {
    await this.#call('limit the downtime of', (calls, dom) => calls.virDomainMigrateSetMaxDowntime(dom, BigInt(ms), 0));
  }

  async abortJob(): Promise<void> {
    await this.#call('abort the job of', (calls, dom) => calls.virDomainAbortJob(dom));
  }

  jobStats(which: 'current' | 'completed' = 'current'): Promise<JobStats> {
    return readJobStats(this.#jobs, which);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    ffi().sync.virDomainFree(this.#dom);
  }
}
