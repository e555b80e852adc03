// All launchers of this node: finds them, proves which process they are, listens to them, keeps their last words, lets go of them.
// adopt() is called at the start of every reconcile and moves one launcher as far as it can get; it waits for nothing.
import { watch } from 'node:fs';
import type { DomainReport } from '../../api/domain-report.js';
import type { ObjectKey } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError, messageOf } from '../../base/errors.js';
import { STUCK } from '../../base/steps.js';
import { isInPod, readCgroups } from '../../linux/cgroup.js';
import { isListening, peerOf } from '../../linux/peercred.js';
import { isSameProcess, readProcess } from '../../linux/proc.js';
import type { SafePath } from '../../linux/safe-path.js';
import { type CmdClient, createCmdClient, type DomainEvent, type LauncherEvent, type NotifyServer, serveNotify } from '../../rpc/index.js';
import { isAlive } from '../status/phase.js';
import type { GhostRecord, GhostRecords } from './ghost-records.js';
import { type Launcher, newLauncher } from './launcher.js';
import { closePodDirs, commandSocket, hasPodDirs, notifySocket, openPodDirs, type PodDirs, requirePods } from './pod-dirs.js';

export interface LaunchersOptions {
  readonly podsDir: string;
  readonly ghosts: GhostRecords;
  /** No answer for so long: the launcher is given up. */
  readonly watchdogMs: number;
  /** A launcher that never opened its socket gets longer: images and disks may be slow. */
  readonly startMs?: number;
  /** Something about the VM changed: reconcile it. */
  readonly wake: (key: ObjectKey) => void;
  readonly emit: (event: LauncherEvent) => void;
  /** For tests: connects without a launcher. */
  readonly connect?: (socketPath: string) => CmdClient;
  /** For tests, whose launchers live in no pod. */
  readonly belongsToPod?: (pid: number, podUid: string) => Promise<boolean>;
}

const START_MS = 3 * 60_000;
/** The API server's own limits for events. */
const MAX_REASON = 128;
const MAX_MESSAGE = 1024;

export class Launchers {
  readonly #options: LaunchersOptions;
  readonly #byUid = new Map<string, Launcher>();
  readonly #bySocket = new Map<string, Launcher>();
  readonly #notify: NotifyServer;

  constructor(options: LaunchersOptions) {
    this.#options = options;
    this.#notify = serveNotify({
      admit: (socketPath) => this.#bySocket.get(socketPath)?.pace.turn(),
      domainEvent: (event, socketPath) => this.#heard(event, socketPath),
      k8sEvent: (event, socketPath) => this.#eventFrom(event, socketPath),
    });
  }

  /** Remembers the launchers of an earlier process; their keys are to be reconciled. */
  async restore(ctx: Ctx): Promise<ObjectKey[]> {
    const ghosts = await this.#options.ghosts.readAll(ctx);
    for (const ghost of ghosts) if (!this.#byUid.has(ghost.uid)) this.#byUid.set(ghost.uid, newLauncher(ghost, ctx.clock));
    return ghosts.map((ghost) => `${ghost.namespace}/${ghost.name}`);
  }

  all(): Launcher[] {
    return [...this.#byUid.values()];
  }

  of(key: ObjectKey): Launcher[] {
    return this.all().filter((launcher) => launcher.key === key);
  }

  get(uid: string): Launcher | undefined {
    return this.#byUid.get(uid);
  }

  /** The launcher of a VMI, made known (and remembered on disk) on first sight. */
  async manage(ctx: Ctx, ghost: GhostRecord): Promise<Launcher> {
    const known = this.#byUid.get(ghost.uid);
    if (known !== undefined) return known;
    await this.#options.ghosts.write(ghost);
    const launcher = newLauncher(ghost, ctx.clock);
    this.#byUid.set(ghost.uid, launcher);
    return launcher;
  }

  /** Moves the launcher towards 'ready'. Throws only what a retry or a person must settle. */
  async adopt(ctx: Ctx, launcher: Launcher): Promise<void> {
    if (launcher.state === 'unresponsive') return;
    if (launcher.state === 'ready') return void (await this.giveUpIfEnded(ctx, launcher));
    try {
      await this.#approach(ctx, launcher);
      answered(launcher);
    } catch (err) {
      if (!hasCode(err, 'LauncherUnreachable', 'Timeout', 'NotFound')) throw err;
      ctx.log.debug({ err: messageOf(err) }, 'Launcher not reached');
      if (!hasCode(err, 'Timeout')) return this.#giveUpAfterGrace(ctx, launcher);
      // It listens: busy, or with a libvirt that is. Its guest may run, and is not given up while it does.
      answered(launcher);
      if (err.reason === STUCK) throw err;
    }
  }

  /** True when its process is no more; the launcher counts as lost then. */
  async giveUpIfEnded(ctx: Ctx, launcher: Launcher): Promise<boolean> {
    if (launcher.isolation === undefined || (await isSameProcess(launcher.isolation.process))) return false;
    await this.giveUp(ctx, launcher, 'its process has ended');
    return true;
  }

  async #approach(ctx: Ctx, launcher: Launcher): Promise<void> {
    const dirs = await this.#open(ctx, launcher);
    if (dirs === undefined) return this.#giveUpWithPod(ctx, launcher);
    const socket = await commandSocket(dirs);
    if (socket === undefined) {
      // The descriptors that we hold outlive the directories.
      if (!(await hasPodDirs(this.#options.podsDir, launcher.ghost.podUid))) return this.#giveUpWithPod(ctx, launcher);
      throw new KvError('NotFound', 'the launcher has not opened its socket');
    }
    try {
      await this.#identify(launcher, socket.found.path);
      if (socket.name === 'launcher-sock') return await this.#connect(ctx, launcher, socket.found);
      launcher.state = 'initialising';
    } finally {
      if (launcher.socket !== socket.found) await socket.found.close();
    }
  }

  async #connect(ctx: Ctx, launcher: Launcher, socket: SafePath): Promise<void> {
    if (launcher.client === undefined) {
      launcher.socket = socket;
      launcher.client = (this.#options.connect ?? createCmdClient)(socket.path);
    }
    await launcher.client.negotiate();
    await this.#ask(launcher, launcher.client);
    launcher.state = 'ready';
    this.#stopWatching(launcher);
    ctx.log.info(
      { uid: launcher.ghost.uid, pid: launcher.isolation?.process.pid, domain: launcher.domain?.status.status },
      'Launcher is ready',
    );
  }

  /** Directories, watch and notify socket: from here on the launcher can wake us and talk to us. */
  async #open(ctx: Ctx, launcher: Launcher): Promise<PodDirs | undefined> {
    if (launcher.dirs !== undefined) return launcher.dirs;
    const dirs = await openPodDirs(this.#options.podsDir, launcher.ghost.podUid);
    if (dirs === undefined) return undefined;
    launcher.dirs = dirs;
    this.#watch(ctx, launcher, dirs);
    return dirs;
  }

  #watch(ctx: Ctx, launcher: Launcher, dirs: PodDirs): void {
    try {
      launcher.watcher = watch(dirs.sockets.path, () => this.#options.wake(launcher.key));
      launcher.watcher.on('error', (err) => ctx.log.debug({ err: messageOf(err) }, 'Watch of a socket directory ended'));
    } catch (err) {
      // Only slower without: the reconcile looks again every second.
      ctx.log.warn({ err: messageOf(err) }, 'Cannot watch a socket directory; is fs.inotify.max_user_instances too low?');
    }
  }

  #stopWatching(launcher: Launcher): void {
    launcher.watcher?.close();
    delete launcher.watcher;
  }

  async #identify(launcher: Launcher, socketPath: string): Promise<void> {
    if (launcher.isolation !== undefined && (await isSameProcess(launcher.isolation.process))) return;
    const { pid, uid, gid } = await peerOf(socketPath);
    const process = await readProcess(pid);
    if (process === undefined) throw new KvError('LauncherUnreachable', `process ${pid} behind the launcher's socket has ended`);
    const { podUid } = launcher.ghost;
    if (!(await (this.#options.belongsToPod ?? belongsToPod)(pid, podUid))) {
      throw new KvError('Terminal', `process ${pid} behind the launcher's socket does not belong to pod ${podUid}; it is not touched`);
    }
    launcher.isolation = { process, uid };
    await this.#listen(launcher, { uid, gid });
  }

  async #listen(launcher: Launcher, owner: { uid: number; gid: number }): Promise<void> {
    if (launcher.dirs === undefined) return;
    const path = notifySocket(launcher.dirs);
    this.#bySocket.set(path, launcher);
    await this.#notify.listen(path, { owner });
  }

  async #ask(launcher: Launcher, client: CmdClient): Promise<void> {
    const { messages } = launcher;
    const domain = await client.getDomain();
    if (launcher.messages === messages) setDomain(launcher, domain);
  }

  /** Asks again what the launcher's domain is; for the time after a command and for resyncs. True when it changed. */
  async refresh(launcher: Launcher): Promise<boolean> {
    if (launcher.client === undefined || launcher.state !== 'ready') return false;
    const before = JSON.stringify(launcher.domain);
    await this.#ask(launcher, launcher.client);
    answered(launcher);
    return JSON.stringify(launcher.domain) !== before;
  }

  #heard(event: DomainEvent, socketPath: string): void {
    const launcher = this.#bySocket.get(socketPath);
    if (launcher === undefined) return;
    launcher.messages++;
    if (event.type === 'DELETED') setDomain(launcher, undefined);
    else if (event.domain !== undefined) setDomain(launcher, event.domain);
    this.#options.wake(launcher.key);
  }

  /** A launcher speaks for its own VMI only. */
  #eventFrom(event: LauncherEvent, socketPath: string): void {
    const ghost = this.#bySocket.get(socketPath)?.ghost;
    if (ghost === undefined || event.involved.uid !== ghost.uid) return;
    // What it tells beyond that is told by nobody: an event is a write to the cluster.
    if (this.#bySocket.get(socketPath)?.eventPace.take() !== true) {
      throw new KvError('Unavailable', 'this launcher emitted too many events; this one is dropped', { retry: 'never' });
    }
    const type = event.type === 'Normal' ? 'Normal' : 'Warning';
    const [reason, message] = [event.reason.slice(0, MAX_REASON), event.message.slice(0, MAX_MESSAGE)];
    this.#options.emit({ type, reason, message, involved: { namespace: ghost.namespace, name: ghost.name, uid: ghost.uid } });
  }

  async #giveUpWithPod(ctx: Ctx, launcher: Launcher): Promise<void> {
    await requirePods(this.#options.podsDir);
    await this.giveUp(ctx, launcher, 'its pod is gone');
  }

  async #giveUpAfterGrace(ctx: Ctx, launcher: Launcher): Promise<void> {
    const { watchdogMs, startMs = START_MS } = this.#options;
    // A process that was seen and has ended will not come back: launcher pods are never restarted.
    const hasEnded = launcher.isolation !== undefined && !(await isSameProcess(launcher.isolation.process));
    const graceMs = launcher.isolation === undefined ? startMs : watchdogMs;
    if (hasEnded || silence(ctx, launcher) > graceMs)
      await this.giveUp(ctx, launcher, hasEnded ? 'its process has ended' : 'it does not answer');
  }

  /** One look of the watchdog: dials the launcher and gives it up when it was silent for too long. */
  async probe(ctx: Ctx, launcher: Launcher): Promise<void> {
    if (launcher.state !== 'ready' || launcher.client === undefined) return;
    if (await this.giveUpIfEnded(ctx, launcher)) return;
    if (await isListening(launcher.client.socketPath)) answered(launcher);
    else if (silence(ctx, launcher) > this.#options.watchdogMs) await this.giveUp(ctx, launcher, 'it does not answer');
  }

  /** From now on the launcher counts as lost, also for a restarted agent. */
  async giveUp(ctx: Ctx, launcher: Launcher, why: string): Promise<void> {
    const { uid, namespace, name } = launcher.ghost;
    const hasGuest = isAlive(launcher.domain);
    ctx.log[hasGuest ? 'warn' : 'info']({ uid, namespace, name, why }, 'A launcher is gone');
    launcher.state = 'unresponsive';
    // A guest that ended before its launcher did still says how; one that was alive is lost with it.
    if (hasGuest) setDomain(launcher, undefined);
    await this.#options.ghosts.write({ ...launcher.ghost, unresponsive: true });
    this.#options.wake(launcher.key);
  }

  /** Lets go: closes what is open and forgets the VM. Its mounts and journals must be gone before. */
  async release(ctx: Ctx, launcher: Launcher): Promise<void> {
    ctx.log.info({ uid: launcher.ghost.uid }, 'Forgetting a VM');
    await this.#detach(launcher);
    await this.#options.ghosts.remove(launcher.ghost.uid);
    this.#byUid.delete(launcher.ghost.uid);
  }

  async #detach(launcher: Launcher): Promise<void> {
    this.#stopWatching(launcher);
    launcher.client?.close();
    delete launcher.client;
    await launcher.socket?.close();
    delete launcher.socket;
    if (launcher.dirs === undefined) return;
    const path = notifySocket(launcher.dirs);
    await this.#notify.unlisten(path);
    this.#bySocket.delete(path);
    await closePodDirs(launcher.dirs);
    delete launcher.dirs;
  }

  /** Ends this process's connections; the launchers and their guests run on. */
  async close(): Promise<void> {
    await Promise.all(this.all().map((launcher) => this.#detach(launcher)));
    await this.#notify.close();
  }
}

function answered(launcher: Launcher): void {
  delete launcher.silentSince;
}

/** How long it has been asked in vain. This process may have stood still, or not have run, for any time before the first question. */
function silence(ctx: Ctx, launcher: Launcher): number {
  launcher.silentSince ??= ctx.now();
  return ctx.now() - launcher.silentSince;
}

function setDomain(launcher: Launcher, domain: DomainReport | undefined): void {
  if (domain === undefined) delete launcher.domain;
  else launcher.domain = domain;
}

async function belongsToPod(pid: number, podUid: string): Promise<boolean> {
  return isInPod(await readCgroups(pid), podUid);
}
