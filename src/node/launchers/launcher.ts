// What the agent holds of one launcher while it manages it: who it is, how to reach it, what it last said. Plain state; launchers.ts
// fills it, the watchdog and notifications change it between two reconciles.
import type { FSWatcher } from 'node:fs';
import type { DomainReport } from '../../api/domain-report.js';
import type { ObjectKey, VirtualMachineInstance } from '../../api/index.js';
import type { Clock } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import type { PodInterfaceCache } from '../../core/network/caches.js';
import type { ProcessRef } from '../../linux/proc.js';
import type { SafePath } from '../../linux/safe-path.js';
import type { CmdClient } from '../../rpc/index.js';
import type { IoErrorRetry } from '../agent/io-errors.js';
import type { ImageNote } from '../disks/disk-images.js';
import type { PluggedVolumes } from '../disks/hotplug-disks.js';
import type { Looking } from '../disks/one-look.js';
import type { LauncherState } from '../status/phase.js';
import type { GhostRecord } from './ghost-records.js';
import { Pace } from './pace.js';
import type { PodDirs } from './pod-dirs.js';

/** The launcher's process in the node's PID namespace: the door to the pod's namespaces and files. */
export interface Isolation {
  readonly process: ProcessRef;
  /** uid of the launcher; its gid is the same. */
  readonly uid: number;
}

export interface Launcher {
  readonly ghost: GhostRecord;
  readonly key: ObjectKey;
  state: LauncherState;
  /** When this process first looked for it. */
  readonly since: number;
  dirs?: PodDirs;
  watcher?: FSWatcher;
  isolation?: Isolation;
  /** The launcher's command socket itself, held open: whatever the pod puts in its place later, this is what we talk to. */
  socket?: SafePath;
  client?: CmdClient;
  domain?: DomainReport;
  /** Counts notifications, so that the answer to an older question does not overwrite a newer message. */
  messages: number;
  /** Since when it has not answered: a time in which nobody asked is no silence. */
  silentSince?: number;
  /** How often it may notify, and emit events. */
  readonly pace: Pace;
  readonly eventPace: Pace;
  /** What the launcher was last told of the VMI. */
  syncedSpec?: string;
  /** Sizes of the guest that were changed, or failed to be, since the status was last written. */
  resized?: { cpus?: boolean; memory?: boolean };
  /** Volumes among its hotplugged disks. */
  plugged?: PluggedVolumes;
  /** While a failing disk has the guest paused, or had it lately. */
  ioErrorRetry?: IoErrorRetry;
  isPrepared: boolean;
  /** While its disk images are looked at. */
  readonly images: Looking<readonly ImageNote[]>;
  hasAnnouncedShutdown: boolean;
  /** When the guest was last asked to shut down. */
  askedToEndAt?: number;
  /** Addresses of the pod by network, as journalled. */
  network?: ReadonlyMap<string, PodInterfaceCache>;
  /** Interfaces, as JSON, whose links could not be made or removed. */
  failedNetworks?: string;
  /** Which node hooks of plugins were told of what happened to its VM. */
  readonly told: Set<string>;
  /** Its guest has started, and those who want to know were not told yet. */
  hasJustStarted?: boolean;
  /** SELinux label of its process. */
  selinuxContext?: string;
  /** When the agent found nothing left to manage. */
  endedAt?: number;
}

/** A guest that boots brings a dozen reports at once. */
const NOTIFICATIONS = { burst: 30, perSecond: 2, waiting: 8 } as const;
const EVENTS = { burst: 20, perSecond: 1 / 30, waiting: 0 } as const;

export function newLauncher(ghost: GhostRecord, clock: Clock): Launcher {
  const now = clock.now();
  return {
    ghost,
    key: `${ghost.namespace}/${ghost.name}`,
    state: ghost.unresponsive === true ? 'unresponsive' : 'starting',
    since: now,
    messages: 0,
    pace: new Pace(clock, NOTIFICATIONS),
    eventPace: new Pace(clock, EVENTS),
    isPrepared: false,
    images: {},
    told: new Set(),
    hasAnnouncedShutdown: false,
  };
}

export const rootOf = (isolation: Isolation): string => `/proc/${isolation.process.pid}/root`;

/** For calls that only make sense once the launcher answers. */
export function clientOf(launcher: Launcher): CmdClient {
  if (launcher.client === undefined) {
    throw new KvError('LauncherUnreachable', `the launcher of ${launcher.key} is not reachable (${launcher.state}); try again`);
  }
  return launcher.client;
}

export function isolationOf(launcher: Launcher): Isolation {
  if (launcher.isolation === undefined) {
    throw new KvError('LauncherUnreachable', `the process of the launcher of ${launcher.key} is not known yet; try again`);
  }
  return launcher.isolation;
}

/** Enough of a VMI for a command about one whose object is gone. */
export function vmiOfGhost({ ghost }: Launcher): VirtualMachineInstance {
  const { namespace, name, uid } = ghost;
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { namespace, name, uid },
    spec: { domain: { devices: {} } },
  };
}
