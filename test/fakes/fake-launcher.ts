// A launcher without libvirt: the real command service on a real socket in a pod directory, a domain that is a value, and the real notify
// client. Tests drive the guest (`ends`, `crashes`) and look at the commands that came.
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { DomainReport, DomainState } from '../../src/api/domain-report.js';
import { serveCmd } from '../../src/rpc/cmd-server.js';
import { type CmdHandlers, createNotifyClient, type NotifyClient, type RpcServer } from '../../src/rpc/index.js';
import { POD_UID, UID } from '../builders/node-vm.js';

export interface FakeLauncher {
  /** Names of the commands received, in order. */
  readonly commands: string[];
  domain: DomainReport | undefined;
  /** Thrown by the next syncs. */
  syncError: Error | undefined;
  /** Called when the domain is to be deleted. */
  onDelete: (() => void) | undefined;
  /** The guest ignores the power button. */
  isDeaf: boolean;
  /** Its libvirt never says what the domain is. */
  isStuck: boolean;
  /** libvirt is up: the socket gets its final name. */
  publish(): Promise<void>;
  set(status: DomainState, reason?: string, spec?: Partial<DomainReport['spec']>): Promise<void>;
  stop(): Promise<void>;
}

export interface FakeLauncherOptions {
  readonly podsDir: string;
  readonly podUid?: string;
  readonly uid?: string;
  readonly now: () => number;
}

const volume = (options: FakeLauncherOptions, name: string): string =>
  join(options.podsDir, options.podUid ?? POD_UID, 'volumes/kubernetes.io~empty-dir', name);

export async function makePodDirs(options: FakeLauncherOptions): Promise<void> {
  for (const name of ['sockets', 'public']) await mkdir(volume(options, name), { recursive: true });
}

const definedDomain = (options: FakeLauncherOptions): DomainReport => ({
  metadata: { name: 'vm', namespace: 'default', uid: options.uid ?? UID },
  spec: {
    disks: [{ name: 'root', target: 'vda' }],
    interfaces: [{ name: 'default', mac: '02:00:00:aa:bb:cc' }],
    machineType: 'pc-q35-10.0',
  },
  status: { status: 'NoState' },
});

export async function startFakeLauncher(options: FakeLauncherOptions): Promise<FakeLauncher> {
  await makePodDirs(options);
  const sockets = volume(options, 'sockets');
  const notify: NotifyClient = createNotifyClient(join(volume(options, 'public'), 'domain-notify-pipe.sock'));
  let server: RpcServer | undefined;
  const base = definedDomain(options);
  const launcher: FakeLauncher = {
    commands: [],
    domain: undefined,
    syncError: undefined,
    onDelete: undefined,
    isDeaf: false,
    isStuck: false,
    publish: () => rename(join(sockets, 'launcher-init-sock'), join(sockets, 'launcher-sock')),
    async set(status, reason, spec) {
      const known = launcher.domain ?? base;
      launcher.domain = { ...known, spec: { ...known.spec, ...spec }, status: { status, ...(reason ? { reason } : {}) } };
      await notify.domainEvent({ type: 'MODIFIED', domain: launcher.domain });
    },
    async stop() {
      notify.close();
      await server?.close();
    },
  };
  const command =
    (name: string, work: () => void): (() => Promise<void>) =>
    async () => {
      launcher.commands.push(name);
      work();
    };
  const assign = (status: DomainState, reason?: string, spec?: Partial<DomainReport['spec']>): void => {
    const known = launcher.domain ?? base;
    launcher.domain = { ...known, spec: { ...known.spec, ...spec }, status: { status, ...(reason ? { reason } : {}) } };
  };
  const handlers: CmdHandlers = {
    syncVirtualMachine: command('sync', () => {
      if (launcher.syncError) throw launcher.syncError;
      if (launcher.domain === undefined) assign('Running');
    }),
    shutdownVirtualMachine: command('shutdown', () => {
      const gracePeriodStartedAt = launcher.domain?.spec.gracePeriodStartedAt ?? new Date(options.now()).toISOString();
      if (launcher.isDeaf) assign(launcher.domain?.status.status ?? 'Running', undefined, { gracePeriodStartedAt });
      else assign('Shutoff', 'Shutdown', { gracePeriodStartedAt });
    }),
    killVirtualMachine: command('kill', () => assign('Shutoff', 'Destroyed')),
    deleteVirtualMachine: command('delete', () => {
      launcher.onDelete?.();
      launcher.domain = undefined;
    }),
    pauseVirtualMachine: command('pause', () => assign('Paused', 'User')),
    getDomain: () => (launcher.isStuck ? new Promise(() => undefined) : Promise.resolve(launcher.domain)),
    ping: async () => undefined,
  };
  server = await serveCmd(join(sockets, 'launcher-init-sock'), handlers);
  return launcher;
}
