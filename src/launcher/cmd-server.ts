// The command service's methods tied to what does them. One table, and every method is in it: what is not offered yet says so.

import type { VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import type { CmdHandlers } from '../rpc/index.js';
import type { AgentPoller } from './agent-poller.js';
import type { GuestCommands } from './guest-commands.js';
import type { Inspection } from './inspection.js';
import type { Lifecycle } from './lifecycle.js';
import type { DomainManager } from './manager.js';
import type { MemoryDump } from './memory-dump.js';
import type { MigrationSource } from './migration/source.js';
import type { MigrationTarget } from './migration/target.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';
import { text } from './text.js';

export interface CmdTargets {
  /** libvirt's name of the domain. */
  readonly domain: string;
  readonly identity: VmRecord['identity'];
  readonly manager: Pick<DomainManager, 'sync' | 'hotplugHostDevices' | 'syncCpus' | 'syncMemory'>;
  readonly lifecycle: Lifecycle;
  readonly guest: GuestCommands;
  readonly agent: AgentPoller;
  readonly reporter: Reporter;
  readonly session: LibvirtSession;
  readonly inspection: Inspection;
  readonly memoryDump: MemoryDump;
  readonly source: MigrationSource;
  readonly target: MigrationTarget;
}

/** A pod serves one VMI: a request for another one came to the wrong socket. Backup hooks know the name only. */
function assertOwn({ name, namespace, uid }: VmRecord['identity'], { metadata }: VirtualMachineInstance): void {
  const isOwn = metadata.name === name && metadata.namespace === namespace && (metadata.uid ?? uid) === uid;
  if (isOwn) return;
  const asked = `${metadata.namespace}/${metadata.name} (${metadata.uid ?? 'no uid'})`;
  throw new KvError('Conflict', `this launcher serves VMI ${namespace}/${name} (${uid}), not ${asked}`, { retry: 'never' });
}

/** Answered, not performed: with the reason, for those who wait. */
const notYet = (what: string) => async (): Promise<never> => {
  throw new KvError('NotImplemented', text.notImplemented(what));
};

const LATER = {
  backupVirtualMachine: notYet('backup with changed block tracking'),
  redefineCheckpoint: notYet('backup with changed block tracking'),
} as const satisfies CmdHandlers;

type Own = (vmi: VirtualMachineInstance) => VirtualMachineInstance;

/** What changes the guest or what it has. */
function commandsOf({ manager, lifecycle, guest, inspection, memoryDump }: CmdTargets, own: Own) {
  const forOwn = (work: () => Promise<void>) => async (vmi: VirtualMachineInstance) => {
    own(vmi);
    await work();
  };
  return {
    syncVirtualMachine: async (vmi, options) => manager.sync(own(vmi), options),
    hotplugHostDevices: async (vmi, options) => manager.hotplugHostDevices(own(vmi), options),
    syncVirtualMachineCPUs: async (vmi, options) => manager.syncCpus(own(vmi), options),
    syncVirtualMachineMemory: async (vmi) => manager.syncMemory(own(vmi)),
    pauseVirtualMachine: forOwn(() => lifecycle.pause()),
    unpauseVirtualMachine: forOwn(() => lifecycle.unpause()),
    resetVirtualMachine: forOwn(() => lifecycle.reset()),
    softRebootVirtualMachine: forOwn(() => lifecycle.softReboot()),
    shutdownVirtualMachine: forOwn(() => lifecycle.shutdown()),
    killVirtualMachine: forOwn(() => lifecycle.kill()),
    deleteVirtualMachine: forOwn(() => lifecycle.delete()),
    freezeVirtualMachine: async (vmi, thawAfterSeconds) => {
      own(vmi);
      await guest.freeze(thawAfterSeconds);
    },
    unfreezeVirtualMachine: forOwn(() => guest.unfreeze()),
    virtualMachineMemoryDump: async (vmi, path) => {
      own(vmi);
      await memoryDump.start(path);
    },
    injectLaunchSecret: async (vmi, options) => {
      own(vmi);
      await inspection.injectSecret(options);
    },
  } satisfies CmdHandlers;
}

/** Calls of the node agents of both ends of a live migration. */
function migrationsOf({ source, target }: CmdTargets, own: Own) {
  return {
    migrateVirtualMachine: async (vmi, options) => source.start(own(vmi), options),
    cancelVirtualMachineMigration: async (vmi) => {
      own(vmi);
      await source.cancel();
    },
    syncMigrationTarget: async (vmi, options) => target.sync(own(vmi), options),
    finalizeVirtualMachineMigration: async (vmi, options) => target.finalize(own(vmi), options),
    signalTargetPodCleanup: async (vmi) => target.dismiss(own(vmi)),
  } satisfies CmdHandlers;
}

function questionsOf({ agent, reporter, session, inspection }: CmdTargets, own: Own) {
  return {
    getDomain: () => reporter.read(),
    getGuestInfo: () => agent.info(),
    getUsers: () => agent.users(),
    getFilesystems: () => agent.filesystems(),
    getDomainStats: () => inspection.stats(),
    getDomainDirtyRateStats: () => inspection.dirtyRate(),
    getVMStats: (wanted) => inspection.vmStats(wanted),
    getScreenshot: async (vmi) => {
      own(vmi);
      return inspection.screenshot();
    },
    getSEVInfo: () => inspection.sevInfo(),
    getLaunchMeasurement: async (vmi) => {
      own(vmi);
      return inspection.launchMeasurement();
    },
    getQemuVersion: () => session.connection.hypervisorVersion(),
    ping: async () => {
      // Reading the connection fails while libvirt is away, which is what the caller wants to know.
      void session.connection;
    },
  } satisfies CmdHandlers;
}

/** Asked by programs that know the domain's name only. */
function insideGuest({ domain, guest }: CmdTargets) {
  const check = (asked: string): void => {
    if (asked !== domain) throw new KvError('NotFound', `this launcher runs domain ${domain}, not ${asked}`, { retry: 'never' });
  };
  return {
    guestPing: async (asked, timeoutSeconds) => {
      check(asked);
      await guest.ping(timeoutSeconds);
    },
    exec: async (command) => {
      check(command.domainName);
      return guest.exec(command);
    },
  } satisfies CmdHandlers;
}

export function cmdHandlers(targets: CmdTargets): Required<CmdHandlers> {
  const own: Own = (vmi) => {
    assertOwn(targets.identity, vmi);
    return vmi;
  };
  return { ...LATER, ...commandsOf(targets, own), ...migrationsOf(targets, own), ...questionsOf(targets, own), ...insideGuest(targets) };
}
