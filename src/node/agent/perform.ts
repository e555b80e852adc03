// Carries out one action of decide.ts: the only place of the agent that touches pods and commands launchers. Every step can be repeated.
// Returns when to look again; throws what went wrong.
import { ANNOTATION, isFinalPhase, type Plugin, type VirtualMachineInstance } from '../../api/index.js';
import { allOrFirstError } from '../../base/all.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError, messageOf } from '../../base/errors.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { hypervisorOf } from '../../core/config/cluster-lookups.js';
import { lockedMemoryBytes } from '../../core/resources/locked-memory.js';
import { HOTPLUG_DISKS_DIR } from '../../core/storage/paths.js';
import { isSameProcess } from '../../linux/proc.js';
import type { EventRecorder, Next } from '../../runtime/types.js';
import { allowLockedMemory } from '../devices/memlock.js';
import { claimDevices, hasDevice } from '../devices/ownership.js';
import type { ContainerDisks } from '../disks/container-disks.js';
import { ensureDiskImages } from '../disks/disk-images.js';
import type { HotplugDisks } from '../disks/hotplug-disks.js';
import { oneLook } from '../disks/one-look.js';
import { clientOf, isolationOf, type Launcher, rootOf, vmiOfGhost } from '../launchers/launcher.js';
import type { Launchers } from '../launchers/launchers.js';
import type { NetworkJournal } from '../network/journal.js';
import type { NetworkSettings } from '../network/request.js';
import { type NetworkSetup, networkTargetOf } from '../network/setup.js';
import { awaitedPlugs, isPlugging } from '../status/volumes.js';
import { text } from '../text.js';
import type { Action } from './decide.js';
import { decideIoErrorRetry } from './io-errors.js';
import { liveResize } from './live-resize.js';
import { networksToChange } from './networks-to-change.js';
import type { NodeHookPoint, NodeHooks } from './node-hooks.js';
import { syncOptions } from './sync-options.js';

export interface PerformDeps {
  readonly node: string;
  readonly launchers: Launchers;
  readonly network: NetworkSetup;
  readonly journal: NetworkJournal;
  readonly disks: ContainerDisks;
  readonly hotplug: HotplugDisks;
  readonly events: EventRecorder;
  readonly config: () => ClusterConfig;
  /** Plugins of the cluster; asked only where the gate is on. */
  readonly plugins?: () => Promise<readonly Plugin[]>;
  readonly nodeHooks?: NodeHooks;
  readonly preferredFamily: NetworkSettings['preferredFamily'];
  /** Tests have no devices to hand over. */
  readonly devices?: { readonly claim: typeof claimDevices; readonly hasDevice: typeof hasDevice };
}

const SOCKET_POLL_MS = 1_000;
/** A launcher says farewell and ends within moments; one that does not is left to the kubelet. */
const FAREWELL_MS = 60_000;

type Vmi = VirtualMachineInstance;

interface Job<A extends Action = Action> {
  readonly deps: PerformDeps;
  readonly ctx: Ctx;
  readonly action: A;
  readonly launcher: Launcher;
  readonly vmi: Vmi | undefined;
}

type Kind = Action['kind'];
type Steps = { readonly [K in Kind]: (job: Job<Extract<Action, { kind: K }>>) => Promise<Next> };

/** For actions that make no sense without the object. */
const withVmi =
  (work: (deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi) => Promise<void>, next?: Next) =>
  async ({ deps, ctx, launcher, vmi }: Job): Promise<Next> => {
    if (vmi !== undefined) await work(deps, ctx, launcher, vmi);
    return next;
  };

const STEPS: Steps = {
  nothing: async () => undefined,
  wait: async ({ action }) => ({ afterMs: action.afterMs, why: action.why }),
  prepare: withVmi(prepare, { afterMs: SOCKET_POLL_MS, why: 'libvirt of the launcher is not up yet' }),
  start: withVmi(start),
  update: async ({ deps, ctx, launcher, vmi }) => (vmi === undefined ? undefined : update(deps, ctx, launcher, vmi)),
  shutdown,
  kill,
  delete: remove,
  cleanup: cleanUp,
};

export function perform(deps: PerformDeps, ctx: Ctx, action: Action, launcher: Launcher, vmi: Vmi | undefined): Promise<Next> {
  const step = STEPS[action.kind] as (job: Job) => Promise<Next>;
  return step({ deps, ctx, action, launcher, vmi });
}

/** All of a VMI that the launcher acts upon: its spec, which volumes and networks have come to the pod, and how large their claims are. */
function toldOf({ spec, status, metadata }: Vmi): string {
  const volumes = status?.volumeStatus ?? [];
  const plugged = volumes.flatMap(({ name, phase, hotplugVolume }) => (hotplugVolume ? [[name, phase]] : []));
  const sizes = volumes.flatMap(({ persistentVolumeClaimInfo: info }) => (info ? [[info.capacity, info.requests]] : []));
  const networks = (status?.interfaces ?? []).flatMap(({ name, infoSource }) => (infoSource?.includes('multus-status') ? [name] : []));
  return JSON.stringify([spec, plugged, sizes, networks, metadata.annotations?.[ANNOTATION.pauseAgentProbes]]);
}

async function prepare(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<void> {
  if (launcher.isPrepared) return;
  const isolation = isolationOf(launcher);
  const [network] = await allOrFirstError([
    setUpNetwork(deps, ctx, launcher, vmi),
    deps.disks.mount(ctx, vmi, launcher.ghost.podUid),
    makeImages(deps, ctx, launcher, vmi),
    (deps.devices?.claim ?? claimDevices)(isolation),
  ]);
  launcher.network = network;
  launcher.isPrepared = true;
}

async function makeImages({ events, config }: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<void> {
  const isolation = isolationOf(launcher);
  const owner = { root: rootOf(isolation), uid: isolation.uid };
  const late = (): KvError => new KvError('NotReady', text.imagesHang(launcher.key), { reason: 'StorageHangs' });
  const notes = await oneLook(ctx, launcher.images, () => ensureDiskImages(ctx, vmi, owner, config()), late);
  for (const { type, reason, message } of notes) events.event(vmi, type, reason, message);
}

function setUpNetwork(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): ReturnType<NetworkSetup['ensure']> {
  const { process, uid } = isolationOf(launcher);
  const config = deps.config();
  const bindings = config.spec.network?.binding;
  const settings: NetworkSettings = {
    portRangesGate: config.isEnabled('PortRangesSpec'),
    preferredFamily: deps.preferredFamily,
    ...(bindings ? { bindings } : {}),
  };
  return deps.network.ensure(ctx, vmi, networkTargetOf({ pid: process.pid, uid }), settings);
}

async function start(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<void> {
  await prepare(deps, ctx, launcher, vmi);
  await requireHypervisor(deps, launcher);
  await plugVolumes(deps, ctx, launcher, vmi);
  requirePlugs(vmi);
  await callHooks(deps, ctx, launcher, 'PreVMStart', vmi);
  await sync(deps, ctx, launcher, vmi);
}

/** Plugins that want to know. A VMI whose object is gone has no conditions left to be matched against. */
async function callHooks(deps: PerformDeps, ctx: Ctx, launcher: Launcher, point: NodeHookPoint, vmi: Vmi | undefined): Promise<void> {
  if (vmi !== undefined) await deps.nodeHooks?.call(ctx, point, vmi, launcher.told);
}

/** A guest starts with all its disks: it may boot from one of them. */
function requirePlugs(vmi: Vmi): void {
  const names = awaitedPlugs(vmi);
  if (names.length === 0) return;
  throw new KvError('NotReady', text.awaitingPlugs(names.join(', ')), {
    reason: 'HotplugVolumesNotReady',
    retry: { afterMs: SOCKET_POLL_MS },
  });
}

async function requireHypervisor(deps: PerformDeps, launcher: Launcher): Promise<void> {
  const device = `/dev/${hypervisorOf(deps.config()).device}`;
  if (deps.config().useEmulation || (await (deps.devices?.hasDevice ?? hasDevice)(isolationOf(launcher), device))) return;
  throw new KvError('NotReady', text.noHypervisor(deps.node, device), { reason: 'NoKvm', retry: { afterMs: 30_000 } });
}

/** Tells the launcher what shall be, and asks at once what has become of it: the notification may take longer. */
async function sync(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<void> {
  const locked = lockedMemoryBytes(vmi, deps.config());
  if (locked !== undefined) await allowLockedMemory(ctx, { podUid: launcher.ghost.podUid, bytes: locked, vm: launcher.key });
  ctx.log.info({ uid: launcher.ghost.uid, phase: vmi.status?.phase }, 'Synchronizing with the launcher');
  const mayStart = vmi.status?.phase !== 'Running' && deps.config().isEnabled('Plugins');
  const plugins = mayStart ? await deps.plugins?.() : undefined;
  await clientOf(launcher).syncVirtualMachine(vmi, syncOptions(vmi, deps.config(), plugins));
  launcher.syncedSpec = toldOf(vmi);
  await deps.launchers.refresh(launcher);
}

/** The guest runs: whatever of its VMI changed is changed in it, and those who wait for its start are told. */
async function update(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<Next> {
  const next = await change(deps, ctx, launcher, vmi);
  if (launcher.hasJustStarted) await callHooks(deps, ctx, launcher, 'PostVMStart', vmi);
  launcher.hasJustStarted = false;
  return next;
}

async function change(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<Next> {
  launcher.network ??= await deps.journal.read(launcher.ghost.uid);
  await plugVolumes(deps, ctx, launcher, vmi);
  const disk = decideIoErrorRetry(launcher.domain, launcher.ioErrorRetry, ctx.now());
  if (disk.retry) launcher.ioErrorRetry = disk.retry;
  else delete launcher.ioErrorRetry;
  await plugNetworks(deps, ctx, launcher, vmi);
  if (disk.isDue || launcher.syncedSpec !== toldOf(vmi)) await sync(deps, ctx, launcher, vmi);
  await resize(deps, launcher, vmi);
  await dumpMemory(launcher, vmi);
  if (isPlugging(vmi)) return { afterMs: SOCKET_POLL_MS, why: 'a volume is on its way into or out of the guest' };
  return disk.afterMs === undefined ? undefined : { afterMs: disk.afterMs, why: 'a failing disk has the guest paused' };
}

/** What fails concerns the new volume only: its status tells. */
async function plugVolumes(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<void> {
  const hasPlugged = vmi.status?.volumeStatus?.some(({ hotplugVolume }) => hotplugVolume !== undefined) === true;
  if (!hasPlugged && (launcher.plugged?.there.size ?? 0) === 0) return;
  const inUse = new Set((launcher.domain?.spec.disks ?? []).map(({ name }) => name));
  const into = { podUid: launcher.ghost.podUid, pid: isolationOf(launcher).process.pid };
  launcher.plugged = await deps.hotplug.sync(ctx, vmi, into, inUse);
}

/** Networks that came to the pod, or left the guest. What fails concerns that interface only; the running guest keeps its others. */
async function plugNetworks(deps: PerformDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi): Promise<void> {
  const changed = networksToChange(vmi, launcher.network, launcher.domain);
  const wish = JSON.stringify(changed?.spec.domain.devices.interfaces);
  if (changed === undefined || launcher.failedNetworks === wish) return;
  try {
    launcher.network = await setUpNetwork(deps, ctx, launcher, changed);
    delete launcher.failedNetworks;
  } catch (err) {
    // Told once; tried again when the wish is another.
    launcher.failedNetworks = wish;
    ctx.log.warn({ uid: launcher.ghost.uid, err: messageOf(err) }, 'A network could not be plugged into a running guest');
    deps.events.event(vmi, 'Warning', 'NicHotplug', messageOf(err));
  }
}

async function resize(deps: PerformDeps, launcher: Launcher, vmi: Vmi): Promise<void> {
  const { cpus, memory } = liveResize(vmi);
  const client = clientOf(launcher);
  const options = syncOptions(vmi, deps.config());
  if (cpus) {
    await client.syncVirtualMachineCPUs(vmi, options);
    launcher.resized = { ...launcher.resized, cpus: true };
  }
  if (!memory || hasFailedToGrow(vmi)) return;
  try {
    await client.syncVirtualMachineMemory(vmi, options);
    launcher.resized = { ...launcher.resized, memory: true };
  } catch (err) {
    // Told by a condition of its own; asked again once that is taken away.
    if (!hasCode(err, 'Invalid', 'Libvirt')) throw err;
    launcher.resized = { ...launcher.resized, memory: false };
    deps.events.event(vmi, 'Warning', 'MemoryHotplugFailed', messageOf(err));
  }
}

const hasFailedToGrow = ({ status }: Vmi): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'HotMemoryChange' && value === 'False') === true;

/** Asked again until the status says that it ended: the launcher knows which dump it has made. */
async function dumpMemory(launcher: Launcher, vmi: Vmi): Promise<void> {
  for (const { name, phase, memoryDumpVolume } of vmi.status?.volumeStatus ?? []) {
    const file = memoryDumpVolume?.targetFileName;
    if (phase !== 'MemoryDumpInProgress' || !file || launcher.domain?.spec.memoryDump?.fileName === file) continue;
    await clientOf(launcher).virtualMachineMemoryDump(vmi, `${HOTPLUG_DISKS_DIR}/${name}/${file}`);
  }
}

async function shutdown({ deps, ctx, launcher, vmi, action }: Job<Extract<Action, { kind: 'shutdown' }>>): Promise<Next> {
  const object = vmi ?? vmiOfGhost(launcher);
  const { recheckMs } = action;
  const next: Next = { afterMs: recheckMs, why: 'the guest is shutting down' };
  // Every change of the domain brings us here; the guest needs no button pressed five times a second.
  if (launcher.askedToEndAt !== undefined && ctx.now() - launcher.askedToEndAt < recheckMs) return next;
  await callHooks(deps, ctx, launcher, 'PreVMStop', vmi);
  ctx.log.info({ uid: launcher.ghost.uid }, 'Asking the guest to power off');
  await clientOf(launcher).shutdownVirtualMachine(object);
  launcher.askedToEndAt = ctx.now();
  if (!launcher.hasAnnouncedShutdown) deps.events.event(object, 'Normal', 'ShuttingDown', text.shuttingDown);
  launcher.hasAnnouncedShutdown = true;
  await deps.launchers.refresh(launcher);
  return next;
}

async function kill({ deps, ctx, launcher, vmi }: Job): Promise<Next> {
  const object = vmi ?? vmiOfGhost(launcher);
  if (!isFinalPhase(vmi?.status?.phase)) await callHooks(deps, ctx, launcher, 'PreVMStop', vmi);
  ctx.log.info({ uid: launcher.ghost.uid }, 'Killing the guest');
  await clientOf(launcher).killVirtualMachine(object);
  if (!isFinalPhase(vmi?.status?.phase)) deps.events.event(object, 'Normal', 'Deleted', text.stopping);
  await deps.launchers.refresh(launcher);
  return { afterMs: SOCKET_POLL_MS, why: 'the guest was killed' };
}

async function remove({ deps, ctx, launcher, vmi }: Job): Promise<Next> {
  const object = vmi ?? vmiOfGhost(launcher);
  ctx.log.info({ uid: launcher.ghost.uid }, 'Deleting the domain');
  await clientOf(launcher).deleteVirtualMachine(object);
  // A VMI whose end was written down needs no further event.
  if (!isFinalPhase(vmi?.status?.phase)) deps.events.event(object, 'Normal', 'Deleted', text.deletion);
  await deps.launchers.refresh(launcher);
  return { afterMs: SOCKET_POLL_MS, why: 'the domain was deleted' };
}

async function cleanUp({ deps, ctx, launcher, vmi }: Job): Promise<Next> {
  launcher.endedAt ??= ctx.now();
  if (isFinalPhase(vmi?.status?.phase)) await callHooks(deps, ctx, launcher, 'PostVMStop', vmi);
  // First: the kubelet cannot remove the pod's volumes before.
  await deps.disks.unmount(ctx, launcher.ghost.podUid);
  // The launcher reports the end of its domain before it goes; somebody must listen.
  const isThere = launcher.isolation !== undefined && (await isSameProcess(launcher.isolation.process));
  if (isThere && ctx.now() - launcher.endedAt < FAREWELL_MS) return { afterMs: SOCKET_POLL_MS, why: 'the launcher has not ended yet' };
  await deps.journal.forget(launcher.ghost.uid);
  await deps.launchers.release(ctx, launcher);
  return undefined;
}
