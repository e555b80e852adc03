// What became of each volume in the guest: which device it is, and for those that were plugged into the running pod, how far they have come.
// Memory dumps likewise. Pure; everything else in these parts of the status belongs to virt-controller and stays as it is.
import type { DomainReport, MemoryDumpReport } from '../../api/domain-report.js';
import type { MemoryStatus, VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import { quantityOf } from '../../api/quantity.js';
import { metaTime } from '../../base/clock.js';
import { isHotpluggable } from '../../core/storage/hotpluggable.js';
import type { PluggedVolumes } from '../disks/hotplug-disks.js';
import { text } from '../text.js';

export interface VolumeFacts {
  /** What is among the launcher's hotplugged disks; undefined = not looked at. */
  readonly plugged?: PluggedVolumes;
  readonly now: number;
}

const TO_MOUNTED: ReadonlySet<string> = new Set(['Bound', 'Pending', 'AttachedToNode']);
const TO_UNMOUNTED: ReadonlySet<string> = new Set([
  'Ready',
  'MountedToPod',
  'AttachedToNode',
  'MemoryDumpInProgress',
  'MemoryDumpCompleted',
  'MemoryDumpFailed',
]);
const IN_PROGRESS = 'MemoryDumpInProgress';

/** What the guest has of its volumes. */
export interface DiskReport {
  readonly spec: Pick<DomainReport['spec'], 'disks' | 'memoryDump'>;
}

const THERE: ReadonlySet<string> = new Set(['MountedToPod', 'Ready']);

/** Volumes that a guest must have when it starts though they come by an attachment pod, and whose way to the launcher is not done. */
export function awaitedPlugs({ spec, status }: VirtualMachineInstance): string[] {
  const phases = new Map((status?.volumeStatus ?? []).map(({ name, phase = '' }) => [name, phase]));
  const names = (spec.volumes ?? []).filter(isHotpluggable).map(({ name }) => name);
  return names.filter((name) => !THERE.has(phases.get(name) ?? ''));
}

export const hasPlugs = ({ spec }: VirtualMachineInstance): boolean => (spec.volumes ?? []).some(isHotpluggable);

export function nextVolumeStatus(vmi: VirtualMachineInstance, domain: DiskReport, facts?: VolumeFacts): VolumeStatus[] {
  const disks = new Map(domain.spec.disks.map((disk) => [disk.name, disk]));
  const listed = new Map((vmi.status?.volumeStatus ?? []).map((status) => [status.name, status]));
  const wanted = new Set([...(vmi.spec.volumes ?? []), ...(vmi.spec.utilityVolumes ?? [])].map(({ name }) => name));
  for (const name of wanted) {
    const disk = disks.get(name);
    if (disk === undefined) continue;
    const { target, size } = disk;
    listed.set(name, { ...listed.get(name), name, target, ...(size === undefined ? {} : { size }) });
  }
  return [...listed.values()]
    .map((status) => (status.hotplugVolume ? nextPlugged(status, disks.get(status.name)?.target, wanted.has(status.name), facts) : status))
    .map((status) => (status.memoryDumpVolume && facts ? nextDump(vmi, status, domain.spec.memoryDump, facts.now) : status))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A volume that came to the running pod: mounted there, then attached to the guest, and back. */
function nextPlugged(status: VolumeStatus, target: string | undefined, isWanted: boolean, facts: VolumeFacts | undefined): VolumeStatus {
  const { name, phase = '' } = status;
  if (target !== undefined) return { ...status, target, phase: 'Ready', reason: 'VolumeReady', message: text.volumeReady(name) };
  const left = { ...status, target: '' };
  if (facts?.plugged === undefined) return left;
  if (facts.plugged.there.has(name)) {
    if (!isWanted || !TO_MOUNTED.has(phase)) return left;
    return { ...left, phase: 'MountedToPod', reason: 'VolumeMountedToPod', message: text.volumeMounted(name) };
  }
  const failure = facts.plugged.failures.get(name);
  if (isWanted && failure !== undefined) return { ...left, reason: 'HotplugFailed', message: failure };
  if (isWanted || !TO_UNMOUNTED.has(phase)) return left;
  return { ...left, phase: 'UnMountedFromPod', reason: 'VolumeUnMountedFromPod', message: text.volumeUnmounted(name) };
}

/** 2026-11-30T05:04:03Z → 20261130-050403. */
const stamp = (ms: number): string => metaTime(ms).replace(/[-:Z]/g, '').replace('T', '-');

function nextDump(vmi: VirtualMachineInstance, status: VolumeStatus, dump: MemoryDumpReport | undefined, now: number): VolumeStatus {
  const { name, phase, memoryDumpVolume } = status;
  if (phase === 'MountedToPod') {
    const targetFileName = `${vmi.metadata.name}-${name}-${stamp(now)}.memory.dump`;
    return {
      ...status,
      phase: IN_PROGRESS,
      reason: 'VolumeMountedToPod',
      message: text.dumpBegins(name),
      memoryDumpVolume: { ...memoryDumpVolume, targetFileName },
    };
  }
  if (phase !== IN_PROGRESS || dump === undefined || dump.fileName !== memoryDumpVolume?.targetFileName) return status;
  const { startTimestamp, endTimestamp, failure } = dump;
  const started = { ...status, memoryDumpVolume: { ...memoryDumpVolume, startTimestamp } };
  if (endTimestamp === undefined) return started;
  const ended = { ...started, memoryDumpVolume: { ...started.memoryDumpVolume, endTimestamp } };
  if (failure !== undefined) return { ...ended, phase: 'MemoryDumpFailed', message: text.dumpFailed(name, failure) };
  return { ...ended, phase: 'MemoryDumpCompleted', reason: 'VolumeReady', message: text.dumpCompleted(name) };
}

export function nextMemory(vmi: VirtualMachineInstance, domain: DomainReport): MemoryStatus | undefined {
  const { memoryBytes } = domain.spec;
  return memoryBytes === undefined ? vmi.status?.memory : { ...vmi.status?.memory, guestCurrent: quantityOf(memoryBytes) };
}

/** Something of the volumes is under way that no event announces. */
export const isPlugging = ({ status }: VirtualMachineInstance): boolean =>
  (status?.volumeStatus ?? []).some(
    ({ hotplugVolume, phase, target }) => hotplugVolume !== undefined && (phase === IN_PROGRESS || (target ?? '') === ''),
  );
