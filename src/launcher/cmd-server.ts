// The command service's methods tied to what does them. One table; methods this launcher does not offer are left out and answered
// as unknown by the rpc room.

import type { VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import type { CmdHandlers } from '../rpc/index.js';
import type { AgentPoller } from './agent-poller.js';
import type { GuestCommands } from './guest-commands.js';
import type { Lifecycle } from './lifecycle.js';
import type { DomainManager } from './manager.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';

export interface CmdTargets {
  readonly uid: string;
  readonly manager: Pick<DomainManager, 'sync'>;
  readonly lifecycle: Lifecycle;
  readonly guest: GuestCommands;
  readonly agent: AgentPoller;
  readonly reporter: Reporter;
  readonly session: LibvirtSession;
}

export function cmdHandlers(targets: CmdTargets): CmdHandlers {
  const { uid, manager, lifecycle, guest, agent, reporter, session } = targets;
  /** A pod serves one VMI: a request for another one of the same name came to the wrong socket. */
  const own = (vmi: VirtualMachineInstance): VirtualMachineInstance => {
    const asked = vmi.metadata.uid;
    if (asked !== undefined && asked !== uid)
      throw new KvError('Conflict', `this launcher serves VMI ${uid}, not ${asked}`, { retry: 'never' });
    return vmi;
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
    guestPing: (_, timeoutSeconds) => guest.ping(timeoutSeconds),
    exec: (command) => guest.exec(command),
    ping: async () => {
      // Reading the connection fails while libvirt is away, which is what the caller wants to know.
      void session.connection;
    },
  };
}
