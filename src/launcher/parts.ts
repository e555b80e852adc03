// Builds the launcher's parts around one VM and ties them together. No part starts anything here; launcher.ts runs them.
import type { Ctx } from '../base/context.js';
import { NOTIFY_SOCKET } from '../core/storage/paths.js';
import type { Libvirt } from '../libvirt/index.js';
import type { Run } from '../linux/exec.js';
import { createNotifyClient } from '../rpc/index.js';
import { AccessCredentials } from './access-credentials.js';
import { AgentPoller } from './agent-poller.js';
import { type CmdTargets, cmdHandlers } from './cmd-server.js';
import { LibvirtDaemon } from './daemon.js';
import type { DaemonLayout, DaemonSettings } from './daemon-config.js';
import { DhcpServers } from './dhcp/server.js';
import { DownwardMetrics } from './downward-metrics/downward-metrics.js';
import { catchUp, type EventTargets, handleEvent } from './events.js';
import { GuestCommands } from './guest-commands.js';
import { GuestFiles } from './guest-files.js';
import { HookSidecars, type Hooks } from './hooks/hooks.js';
import { Inspection } from './inspection.js';
import { Lifecycle } from './lifecycle.js';
import { DomainManager } from './manager.js';
import { MemoryDump } from './memory-dump.js';
import { MigrationSource } from './migration/source.js';
import { MigrationTarget } from './migration/target.js';
import { QemuMonitor } from './monitor.js';
import { Notifier } from './notify-client.js';
import type { LauncherOptions } from './options.js';
import type { Env } from './prepare/facts.js';
import { newRecord, type VmRecord } from './report.js';
import { Reporter } from './reporter.js';
import { LibvirtSession } from './session.js';

export interface LauncherSetup {
  readonly options: LauncherOptions;
  readonly env: Env;
  readonly verbosity: number;
  readonly libvirt: Libvirt;
  readonly run: Run;
  readonly layout: DaemonLayout;
  readonly settings: DaemonSettings;
  readonly recordedCapabilities: string;
}

export interface Parts {
  readonly domain: string;
  readonly record: VmRecord;
  readonly daemon: LibvirtDaemon;
  readonly session: LibvirtSession;
  readonly notifier: Notifier;
  readonly reporter: Reporter;
  readonly agent: AgentPoller;
  readonly manager: DomainManager;
  readonly lifecycle: Lifecycle;
  readonly monitor: QemuMonitor;
  readonly dhcp: DhcpServers;
  readonly metrics: DownwardMetrics;
  readonly source: MigrationSource;
  readonly target: MigrationTarget;
  /** Only in pods with hook sidecars. */
  readonly hooks?: Hooks;
  readonly handlers: ReturnType<typeof cmdHandlers>;
}

/** libvirt's name of the domain; one a pod, but logs and files carry it. */
export const domainName = ({ namespace, name }: Pick<LauncherOptions, 'namespace' | 'name'>): string => `${namespace}_${name}`;

/** Who listens to libvirt: known to the session before it is built. */
interface Listener {
  targets?: EventTargets;
}

function buildSession(ctx: Ctx, setup: LauncherSetup, listener: Listener): LibvirtSession {
  const session: LibvirtSession = new LibvirtSession(ctx, setup.libvirt, setup.layout.uri, {
    event: (event) => listener.targets && handleEvent(listener.targets, event),
    reconnected: () => {
      if (listener.targets) void catchUp(listener.targets, session);
    },
  });
  return session;
}

function buildDaemon(ctx: Ctx, { env, layout, settings, recordedCapabilities }: LauncherSetup): LibvirtDaemon {
  return new LibvirtDaemon(ctx, { env, layout, settings, recordedCapabilities });
}

type InspectionDeps = ConstructorParameters<typeof Inspection>[0];

function inspectionOf(
  { options }: LauncherSetup,
  deps: Pick<InspectionDeps, 'ctx' | 'session' | 'agent' | 'record' | 'domain' | 'source'>,
): Inspection {
  return new Inspection({ ...deps, firmwareDir: options.ovmfPath, collectsVmStats: options.vmStatsCollector });
}

const hooksOf = (ctx: Ctx, { hookSidecars }: LauncherOptions): { hooks?: Hooks } =>
  hookSidecars > 0 ? { hooks: new HookSidecars(ctx, hookSidecars) } : {};

/** What a migration needs to know of this pod's libvirt. */
const sourceFacts = ({ libvirt, layout }: LauncherSetup): { libvirtVersion: () => number; mode: 'session' | 'system' } => ({
  libvirtVersion: () => libvirt.version(),
  mode: layout.uri.includes(':///system') ? 'system' : 'session',
});

export function buildParts(ctx: Ctx, setup: LauncherSetup): Parts {
  const { options, layout, env, verbosity, run } = setup;
  const domain = domainName(options);
  const record = newRecord({ name: options.name, namespace: options.namespace, uid: options.uid });
  const listener: Listener = {};
  const session = buildSession(ctx, setup, listener);
  const notifier = new Notifier(ctx, createNotifyClient(NOTIFY_SOCKET));
  const reporter = new Reporter(ctx, session, notifier, record, domain);
  let credentials: AccessCredentials | undefined;
  const onChange = (isThere: boolean): void => credentials?.setAgent(isThere);
  const agent = new AgentPoller({ ctx, session, record, reporter, intervals: options.agentIntervals, domain, onChange });
  const dhcp = new DhcpServers(ctx);
  const shared = { ctx, session, reporter, record, domain };
  const metrics = new DownwardMetrics(shared);
  const sources = { options, env, verbosity, libvirtVersion: () => setup.libvirt.version() };
  const hooks = hooksOf(ctx, options);
  const manager = new DomainManager({ ...shared, metrics, ...hooks, run, dhcp, qemuLogDir: layout.qemuLogDir, sources });
  const source: MigrationSource = new MigrationSource({ ...shared, manager, owesThaw: () => guest.owesThaw, ...sourceFacts(setup) });
  const lifecycle = new Lifecycle({ ...shared, manager, agent, stayHere: () => source.giveUp() });
  const target: MigrationTarget = new MigrationTarget({
    ...{ ...shared, manager, lifecycle, run, sources, dhcp, ...hooks },
    ...{ podName: env.POD_NAME, qemuLogDir: layout.qemuLogDir },
    catchUp: async () => void (listener.targets && (await catchUp(listener.targets, session))),
  });
  const guest: GuestCommands = new GuestCommands({ ctx, agent, record, reporter, session, domain });
  credentials = new AccessCredentials({ ctx, agent, files: new GuestFiles({ agent, guest, domain }), record, reporter });
  listener.targets = { ctx, domain, record, reporter, notifier, agent, source, target };
  const inspection = inspectionOf(setup, { ...shared, agent, source });
  const memoryDump = new MemoryDump(shared);
  const targets: CmdTargets = {
    ...{ domain, identity: record.identity, manager, lifecycle, guest, agent },
    ...{ reporter, session, inspection, memoryDump, source, target },
  };
  const daemon = buildDaemon(ctx, setup);
  const monitor = new QemuMonitor(ctx, layout.pidDir, domain);
  const handlers = cmdHandlers(targets);
  return {
    ...{ domain, record, daemon, session, notifier, reporter, agent, manager, lifecycle, monitor, dhcp, metrics },
    ...{ source, target, ...hooks, handlers },
  };
}
