// The launcher's manager and life-cycle commands around a fake libvirt, with a node agent that only listens: what unit tests of the
// launcher room start from. Nothing here touches disk, network or processes.
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { systemClock } from '../../src/base/clock.js';
import { makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';
import { readDomain } from '../../src/core/converter/index.js';
import { AgentPoller } from '../../src/launcher/agent-poller.js';
import { type EventTargets, handleEvent } from '../../src/launcher/events.js';
import { GuestCommands } from '../../src/launcher/guest-commands.js';
import { Lifecycle } from '../../src/launcher/lifecycle.js';
import { DomainManager } from '../../src/launcher/manager.js';
import { MigrationSource } from '../../src/launcher/migration/source.js';
import { MigrationTarget } from '../../src/launcher/migration/target.js';
import { Notifier } from '../../src/launcher/notify-client.js';
import { type LauncherOptions, parseLauncherOptions } from '../../src/launcher/options.js';
import type { PreparedDomain } from '../../src/launcher/prepare/domain.js';
import { newRecord } from '../../src/launcher/report.js';
import { Reporter } from '../../src/launcher/reporter.js';
import { LibvirtSession } from '../../src/launcher/session.js';
import type { DomainEvent, LauncherEvent } from '../../src/rpc/index.js';
import { FakeLibvirt } from './fake-libvirt.js';

export const DOMAIN = 'ns_vm1';

export const guestVmi = (patch: Partial<VirtualMachineInstance['spec']> = {}): VirtualMachineInstance => ({
  metadata: { name: 'vm1', namespace: 'ns', uid: 'u1' },
  spec: { domain: { devices: {} }, ...patch },
});

function launcherOptions(): LauncherOptions {
  const parsed = parseLauncherOptions(['--name', 'vm1', '--namespace', 'ns', '--uid', 'u1']);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

/** As libvirt would describe it once it runs. */
export const domainXml = (devices = ''): string =>
  `<domain type='test'><name>${DOMAIN}</name><os><type arch='x86_64' machine='pc-q35-10.0'>hvm</type></os><devices>${devices}</devices></domain>`;

export const preparedOf = (devices = ''): PreparedDomain => ({
  ...PREPARED,
  xml: domainXml(devices),
  domain: readDomain(domainXml(devices)),
});

const PREPARED: PreparedDomain = {
  domain: readDomain(domainXml()),
  xml: domainXml(),
  type: 'qemu',
  memoryBytes: 1024,
  devices: { disks: [{ name: 'root', target: 'vda' }], interfaces: [{ name: 'default', mac: '02:00:00:00:00:01' }] },
  interfaces: [],
};

export interface FakeLauncherParts {
  readonly libvirt: FakeLibvirt;
  readonly session: LibvirtSession;
  readonly manager: DomainManager;
  readonly lifecycle: Lifecycle;
  readonly agent: AgentPoller;
  readonly guest: GuestCommands;
  readonly reporter: Reporter;
  readonly record: ReturnType<typeof newRecord>;
  readonly source: MigrationSource;
  readonly target: MigrationTarget;
  /** What the node agent heard, oldest first. */
  readonly heard: DomainEvent[];
  readonly k8sEvents: LauncherEvent[];
  /** "TYPE Status/Reason" of everything heard, once all was delivered. */
  states(): Promise<string[]>;
}

export async function fakeLauncherParts(prepare: () => Promise<PreparedDomain> = async () => PREPARED): Promise<FakeLauncherParts> {
  const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
  const libvirt = new FakeLibvirt();
  const heard: DomainEvent[] = [];
  const k8sEvents: LauncherEvent[] = [];
  const notifier = new Notifier(ctx, {
    negotiate: async () => 1,
    domainEvent: async (event) => void heard.push(event),
    k8sEvent: async (event) => void k8sEvents.push(event),
    close: () => undefined,
  });
  const record = newRecord({ name: 'vm1', namespace: 'ns', uid: 'u1' });
  const listener: { targets?: EventTargets } = {};
  const session = new LibvirtSession(ctx, libvirt, 'fake:///', {
    event: (event) => listener.targets && handleEvent(listener.targets, event),
    reconnected: () => undefined,
  });
  await session.open();
  const reporter = new Reporter(ctx, session, notifier, record, DOMAIN);
  const options = launcherOptions();
  const agent = new AgentPoller({ ctx, session, record, reporter, intervals: options.agentIntervals, domain: DOMAIN });
  listener.targets = { ctx, domain: DOMAIN, record, reporter, notifier, agent };
  const shared = { ctx, session, reporter, record, domain: DOMAIN };
  const run = async () => ({ stdout: '', stderr: '' });
  const sources = { options, env: {}, verbosity: 2, libvirtVersion: () => 11_003_000 };
  const manager = new DomainManager({ ...shared, run, sources, dhcp: { serve: async () => undefined }, qemuLogDir: '/nowhere', prepare });
  const lifecycle: Lifecycle = new Lifecycle({ ...shared, manager, agent, stayHere: () => source.giveUp() });
  const source: MigrationSource = new MigrationSource({
    ...shared,
    manager,
    libvirtVersion: () => libvirt.version(),
    mode: 'session',
    owesThaw: () => guest.owesThaw,
    sizeOf: async () => 0n,
  });
  const target = new MigrationTarget({
    ...{ ...shared, manager, lifecycle, run, sources, prepare },
    dhcp: { serve: async () => undefined },
    podName: 'this-pod',
    qemuLogDir: '/nowhere',
    makeRoom: async () => undefined,
    catchUp: () => reporter.devicesChanged(),
  });
  Object.assign(listener.targets, { source, target });
  const guest: GuestCommands = new GuestCommands({ ctx, agent, record, reporter, session, domain: DOMAIN });
  const states = async (): Promise<string[]> => {
    await reporter.refresh();
    await notifier.flush(1000);
    return heard.map(({ type, domain }) => `${type} ${domain?.status.status}/${domain?.status.reason}`);
  };
  return { libvirt, session, manager, lifecycle, agent, guest, reporter, record, source, target, heard, k8sEvents, states };
}
