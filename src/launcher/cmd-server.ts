// The command service's methods tied to what does them. One table; methods this launcher does not offer are left out and answered
// as unknown by the rpc room.

import type { VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import type { CmdHandlers } from '../rpc/index.js';
import type { AgentPoller } from './agent-poller.js';
import type { GuestCommands } from './guest-commands.js';
import type { Lifecycle } from './lifecycle.js';
import type { DomainManager } from './manager.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';

export interface CmdTargets {
  /** libvirt's name of the domain. */
  readonly domain: string;
  readonly identity: VmRecord['identity'];
  readonly manager: Pick<DomainManager, 'sync'>;
  readonly lifecycle: Lifecycle;
  readonly guest: GuestCommands;
  readonly agent: AgentPoller;
  readonly reporter: Reporter;
  readonly session: LibvirtSession;
}

/** A pod serves one VMI: a request for another one came to the wrong socket. Backup hooks know the name only. */
function assertOwn({ name, namespace, uid }: VmRecord['identity'], { metadata }: VirtualMachineInstance): void {
  const isOwn = metadata.name === name && metadata.namespace === namespace && (metadata.uid ?? uid) === uid;
  if (isOwn) return;
  const asked = `${metadata.namespace}/${metadata.name} (${metadata.uid ?? 'no uid'})`;
  throw new KvError('Conflict', `this launcher serves VMI ${namespace}/${name} (${uid}), not ${asked}`, { retry: 'never' });
}

export function cmdHandlers(targets: CmdTargets): CmdHandlers {
  const { domain, identity, manager, lifecycle, guest, agent, reporter, session } = targets;
  const own = (vmi: VirtualMachineInstance): VirtualMachineInstance => {
    assertOwn(identity, vmi);
    return vmi;
  };
  const forDomain = (asked: string): void => {
    if (asked !== domain) throw new KvError('NotFound', `this launcher runs domain ${domain}, not ${asked}`, { retry: 'never' });
  };
  const forOwn = (work: () => Promise<void>) => async (vmi: VirtualMachineInstance) => {
    own(vmi);
    await work();
  };
  return {
    syncVirtualMachine: async (vmi, options) => manager.sync(own(vmi), options),
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
    getDomain: () => reporter.read(),
    getGuestInfo: () => agent.info(),
    getUsers: () => agent.users(),
    getFilesystems: () => agent.filesystems(),
    getQemuVersion: () => session.connection.hypervisorVersion(),
    guestPing: async (asked, timeoutSeconds) => {
      forDomain(asked);
      await guest.ping(timeoutSeconds);
    },
    exec: async (command) => {
      forDomain(command.domainName);
      return guest.exec(command);
    },
    ping: async () => {
      // Reading the connection fails while libvirt is away, which is what the caller wants to know.
      void session.connection;
    },
  };
}
