// libvirt in memory for unit tests: domains with states, events and errors as the contract suite demands, plus levers a test pulls
// (make a call fail, let the guest power off, lose the daemon). Knows of the XML only name and UUID.
import { KvError } from '../../src/base/errors.js';
import { atStep } from '../../src/base/steps.js';
import type {
  Connection,
  Domain,
  DomainEvent,
  JobType,
  Libvirt,
  LibvirtState,
  LifecycleEvent,
  ParamValues,
  Picture,
  StateReport,
  TypedValue,
} from '../../src/libvirt/index.js';

const CODE = { internal: 1, noDomain: 42, operationInvalid: 55, operationAborted: 78, agentUnresponsive: 86 } as const;

function libvirtFailure(message: string, libvirtCode: number): KvError {
  return new KvError('Libvirt', message, { details: { libvirtCode, libvirtDomain: 10 } });
}

interface FakeDomainState extends StateReport {
  readonly name: string;
  readonly uuid: string;
  xml: string;
  state: LibvirtState;
  reason: string;
}

const field = (xml: string, tag: string): string | undefined => new RegExp(`<${tag}[^>]*>([^<]*)</${tag}>`).exec(xml)?.[1];

export class FakeLibvirt implements Libvirt {
  readonly domains = new Map<string, FakeDomainState>();
  readonly calls: string[] = [];
  readonly connections = new Set<FakeConnection>();
  /** Answers of the guest agent by command; a command without answer fails as an unresponsive agent does. */
  readonly agent = new Map<string, unknown>();
  readonly guestFacts = new Map<string, TypedValue>();
  /** Devices that were attached, detached or changed, as "attach <disk …>". */
  readonly deviceCalls: string[] = [];
  readonly stats = new Map<string, TypedValue>();
  readonly launchSecurity = new Map<string, TypedValue>();
  picture: Picture = { mime: 'image/png', data: Buffer.from('png') };
  jobType: JobType = 'none';
  /** Set by a test: a migration ends when this does, or is aborted. */
  migration: PromiseWithResolvers<void> | undefined;
  /** Calls of this method never end. */
  hanging: string | undefined;
  #failures = new Map<string, Error>();

  readonly version = (): number => 11_003_000;

  async open(_uri: string): Promise<Connection> {
    this.#maybeFail('open');
    const conn = new FakeConnection(this);
    this.connections.add(conn);
    return conn;
  }

  async shutdown(): Promise<void> {
    this.connections.clear();
  }

  /** The next call of this method fails. */
  failNext(method: string, message: string, code: number = CODE.internal): void {
    this.#failures.set(method, libvirtFailure(message, code));
  }

  record(method: string): void {
    this.calls.push(method);
    this.#maybeFail(method);
  }

  #maybeFail(method: string): void {
    const failure = this.#failures.get(method);
    if (!failure) return;
    this.#failures.delete(method);
    throw failure;
  }

  emit(event: DomainEvent): void {
    for (const conn of this.connections) conn.deliver(event);
  }

  lifecycle(domain: FakeDomainState, event: LifecycleEvent, detail = 0): void {
    this.emit({ kind: 'lifecycle', domain: { name: domain.name, uuid: domain.uuid }, event, detail });
  }

  /** The domain changes by itself: the guest powers off, panics, pauses on a bad disk. */
  change(name: string, to: { state: LibvirtState; reason: string }, event: LifecycleEvent): void {
    const domain = this.domains.get(name);
    if (!domain) throw libvirtFailure(`no fake domain ${name}`, CODE.noDomain);
    Object.assign(domain, to);
    this.lifecycle(domain, event);
  }

  connectAgent(name: string, connected = true): void {
    const domain = this.domains.get(name);
    if (domain) this.emit({ kind: 'agent', domain: { name, uuid: domain.uuid }, connected });
  }

  /** The daemon dies: connections are told and refuse calls; domains live on, as QEMU does. */
  loseDaemon(): void {
    for (const conn of [...this.connections]) conn.lose();
  }
}

class FakeConnection implements Connection {
  readonly #world: FakeLibvirt;
  readonly #handlers = new Set<(event: DomainEvent) => void>();
  readonly #closeHandlers: ((reason: string) => void)[] = [];
  #refusal: string | undefined;

  constructor(world: FakeLibvirt) {
    this.#world = world;
  }

  check(what: string): void {
    if (this.#refusal !== undefined) throw new KvError('Libvirt', `${what}: ${this.#refusal}`);
  }

  deliver(event: DomainEvent): void {
    for (const handler of [...this.#handlers]) handler(event);
  }

  lose(): void {
    this.#refusal = 'the connection to libvirt was lost';
    this.#world.connections.delete(this);
    for (const handler of this.#closeHandlers.splice(0)) handler('the daemon went away');
  }

  async defineDomain(xml: string): Promise<Domain> {
    this.check('cannot define the domain');
    this.#world.record('define');
    const name = field(xml, 'name');
    if (name === undefined) throw libvirtFailure('cannot define the domain: XML error: no name', CODE.internal);
    const known = this.#world.domains.get(name);
    const uuid = field(xml, 'uuid') ?? known?.uuid ?? '00000000-0000-4000-8000-000000000000';
    const domain: FakeDomainState = known ?? { name, uuid, xml, state: 'shutoff', reason: 'unknown' };
    domain.xml = xml;
    this.#world.domains.set(name, domain);
    this.#world.lifecycle(domain, 'defined', known ? 1 : 0);
    return new FakeDomain(this.#world, this, domain);
  }

  async lookupDomain(name: string): Promise<Domain | undefined> {
    this.check(`cannot look up domain ${name}`);
    const domain = this.#world.domains.get(name);
    return domain && new FakeDomain(this.#world, this, domain);
  }

  readonly capabilities = async (): Promise<string> => '<capabilities/>';
  readonly domainCapabilities = async (): Promise<string> => '<domainCapabilities/>';
  readonly baselineCpu = async (): Promise<string> => '<cpu/>';
  readonly hypervisorVersion = async (): Promise<string> => '10.0.13';

  async sevInfo(): Promise<ReadonlyMap<string, TypedValue>> {
    this.#world.record('sevInfo');
    return this.#world.launchSecurity;
  }

  async subscribe(handler: (event: DomainEvent) => void): Promise<() => Promise<void>> {
    this.check('cannot subscribe to domain events');
    this.#world.record('subscribe');
    this.#handlers.add(handler);
    return async () => void this.#handlers.delete(handler);
  }

  onClose(handler: (reason: string) => void): void {
    if (this.#refusal === undefined) this.#closeHandlers.push(handler);
    else queueMicrotask(() => handler('the daemon went away'));
  }

  isAlive(): boolean {
    return this.#refusal === undefined;
  }

  async close(): Promise<void> {
    this.#refusal ??= 'the connection is closed';
    this.#world.connections.delete(this);
  }
}

class FakeDomain implements Domain {
  readonly name: string;
  readonly uuid: string;
  readonly #world: FakeLibvirt;
  readonly #conn: FakeConnection;
  readonly #domain: FakeDomainState;

  constructor(world: FakeLibvirt, conn: FakeConnection, domain: FakeDomainState) {
    this.#world = world;
    this.#conn = conn;
    this.#domain = domain;
    this.name = domain.name;
    this.uuid = domain.uuid;
  }

  #begin(what: string, method: string, ...states: readonly LibvirtState[]): FakeDomainState {
    const context = `cannot ${what} domain ${this.name}`;
    this.#conn.check(context);
    this.#world.record(method);
    if (this.#world.domains.get(this.name) !== this.#domain) throw libvirtFailure(`${context}: Domain not found`, CODE.noDomain);
    if (states.length > 0 && !states.includes(this.#domain.state)) {
      throw libvirtFailure(`${context}: Requested operation is not valid: domain is ${this.#domain.state}`, CODE.operationInvalid);
    }
    return this.#domain;
  }

  #become(state: LibvirtState, reason: string, event: LifecycleEvent, detail = 0): void {
    Object.assign(this.#domain, { state, reason });
    this.#world.lifecycle(this.#domain, event, detail);
  }

  async create({ paused = false } = {}): Promise<void> {
    this.#begin('start', 'create', 'shutoff', 'crashed');
    if (paused) this.#become('paused', 'user', 'started');
    else this.#become('running', 'booted', 'started');
  }

  async suspend(): Promise<void> {
    this.#begin('pause', 'suspend', 'running');
    this.#become('paused', 'user', 'suspended');
  }

  async resume(): Promise<void> {
    this.#begin('resume', 'resume', 'paused');
    this.#become('running', 'unpaused', 'resumed');
  }

  /** The fake guest obeys at once unless a test replaced this by failNext('shutdown', …). */
  async shutdown(): Promise<void> {
    this.#begin('shut down', 'shutdown', 'running', 'paused');
    this.#become('shutoff', 'shutdown', 'stopped');
  }

  async reboot(): Promise<void> {
    this.#begin('reboot', 'reboot', 'running');
    this.#world.emit({ kind: 'reboot', domain: { name: this.name, uuid: this.uuid } });
  }

  async reset(): Promise<void> {
    this.#begin('reset', 'reset', 'running', 'paused');
    this.#world.emit({ kind: 'reboot', domain: { name: this.name, uuid: this.uuid } });
  }

  async destroy(): Promise<void> {
    this.#begin('destroy', 'destroy', 'running', 'paused', 'shutdown');
    this.#become('shutoff', 'destroyed', 'stopped', 1);
  }

  async undefine(): Promise<void> {
    const domain = this.#begin('undefine', 'undefine');
    this.#world.domains.delete(this.name);
    this.#world.lifecycle(domain, 'undefined');
  }

  async state(): Promise<StateReport> {
    const { state, reason } = this.#begin('read the state of', 'state');
    return { state, reason };
  }

  async info(): ReturnType<Domain['info']> {
    const { state, reason, xml } = this.#begin('read the facts of', 'info');
    return {
      state,
      reason,
      maxMemoryKib: Number(field(xml, 'memory') ?? 0),
      memoryKib: 0,
      vcpus: Number(field(xml, 'vcpu') ?? 1),
      cpuTimeNs: 0,
    };
  }

  async xml(): Promise<string> {
    return this.#begin('read the XML of', 'xml').xml;
  }

  async attachDevice(xml: string): Promise<void> {
    await this.#begun('attach a device to', 'attachDevice', 'running', 'paused');
    this.#world.deviceCalls.push(`attach ${xml}`);
  }

  async detachDevice(xml: string): Promise<void> {
    await this.#begun('detach a device from', 'detachDevice', 'running', 'paused');
    this.#world.deviceCalls.push(`detach ${xml}`);
  }

  async updateDevice(xml: string): Promise<void> {
    await this.#begun('change a device of', 'updateDevice', 'running', 'paused');
    this.#world.deviceCalls.push(`update ${xml}`);
  }

  /** As #begin, for calls that a test may let hang. */
  async #begun(what: string, method: string, ...states: readonly LibvirtState[]): Promise<FakeDomainState> {
    const domain = this.#begin(what, method, ...states);
    atStep(`${what} domain ${this.name}`);
    if (this.#world.hanging === method) await new Promise(() => undefined);
    return domain;
  }

  async dumpMemory(path: string): Promise<void> {
    await this.#begun('dump the memory of', `dump:${path}`, 'running', 'paused');
  }

  async screenshot(): Promise<Picture> {
    await this.#begun('take a picture of', 'screenshot', 'running', 'paused');
    return this.#world.picture;
  }

  async setVcpus(count: number): Promise<void> {
    await this.#begun('set the vCPUs of', `setVcpus:${count}`, 'running', 'paused');
  }

  async pinVcpu(vcpu: number, cpus: readonly number[]): Promise<void> {
    await this.#begun('pin a vCPU of', `pinVcpu:${vcpu}=${cpus.join(',')}`, 'running', 'paused');
  }

  async pinEmulator(cpus: readonly number[]): Promise<void> {
    await this.#begun('pin the emulator of', `pinEmulator:${cpus.join(',')}`, 'running', 'paused');
  }

  async stats(): Promise<ReadonlyMap<string, TypedValue>> {
    await this.#begun('read the statistics of', 'stats');
    return this.#world.stats;
  }

  async startDirtyRate(): Promise<void> {
    await this.#begun('measure the dirty rate of', 'startDirtyRate', 'running');
  }

  async resizeBlock(target: string, bytes: bigint): Promise<void> {
    await this.#begun('grow a disk of', `resizeBlock:${target}=${bytes}`, 'running', 'paused');
  }

  async launchSecurityInfo(): Promise<ReadonlyMap<string, TypedValue>> {
    await this.#begun('read the launch measurement of', 'launchSecurityInfo', 'running', 'paused');
    return this.#world.launchSecurity;
  }

  async setLaunchSecurityState(params: ParamValues): Promise<void> {
    await this.#begun('hand a launch secret to', `setLaunchSecurityState:${Object.keys(params).join(',')}`, 'paused');
  }

  async migrate(destination: string): Promise<void> {
    await this.#begun('migrate', `migrate:${destination}`, 'running', 'paused');
    await this.#world.migration?.promise;
    this.#become('shutoff', 'migrated', 'stopped', 3);
  }

  async startPostCopy(): Promise<void> {
    await this.#begun('go on after the switch with', 'startPostCopy');
  }

  async setMaxDowntime(ms: number): Promise<void> {
    await this.#begun('limit the downtime of', `setMaxDowntime:${ms}`);
  }

  async abortJob(): Promise<void> {
    await this.#begun('abort the job of', 'abortJob');
    this.#world.migration?.reject(libvirtFailure('operation aborted: canceled by client', CODE.operationAborted));
  }

  async jobStats(): ReturnType<Domain['jobStats']> {
    await this.#begun('follow the job of', 'jobStats');
    return { type: this.#world.jobType, params: this.#world.stats };
  }

  async guestInfo(): Promise<ReadonlyMap<string, TypedValue>> {
    this.#begin('ask the guest agent of', 'guestInfo', 'running');
    return this.#world.guestFacts;
  }

  async interfaceAddresses(): ReturnType<Domain['interfaceAddresses']> {
    this.#begin('read the addresses of', 'interfaceAddresses', 'running');
    return [];
  }

  async agentCommand({ execute }: { execute: string }): Promise<unknown> {
    this.#begin(`run ${execute} by the guest agent of`, `agent:${execute}`, 'running');
    if (!this.#world.agent.has(execute)) throw libvirtFailure('Guest agent is not responding', CODE.agentUnresponsive);
    return this.#world.agent.get(execute);
  }

  close(): void {
    this.#world.calls.push('close');
  }
}
