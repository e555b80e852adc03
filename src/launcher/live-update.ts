// Makes a running guest match its VMI: plugs and unplugs disks, media, interfaces and functions, sets vCPUs and memory. What differs is planned by
// the converter from libvirt's own description; here it is done, one device after the other, and a device that fails does not stop the others.
// Called by the manager, one update at a time.
import { stat } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../api/index.js';
import type { Ctx } from '../base/context.js';
import { isKvError, KvError, messageOf } from '../base/errors.js';
import { atStep } from '../base/steps.js';
import {
  type DeviceChange,
  type DomainModel,
  describeLive,
  type LiveDomain,
  planDeviceChanges,
  planHostDevices,
  planMemory,
  readDomain,
} from '../core/converter/index.js';
import { type Domain, isLibvirtError } from '../libvirt/index.js';
import { growRunning } from './grow-disks.js';
import { withoutUndoing } from './hooks/undoing.js';
import type { PreparedDomain } from './prepare/domain.js';
import { parseCpuList } from './prepare/facts.js';
import { lockedImageOf } from './qemu-log.js';
import { text } from './text.js';

/** The running domain and the one that the VMI asks for. */
export interface Update {
  readonly ctx: Ctx;
  readonly handle: Domain;
  readonly vmi: VirtualMachineInstance;
  readonly prepared: PreparedDomain;
  readonly live: DomainModel;
  /** What hooks did, which stays. */
  readonly undoings: readonly DeviceChange[];
}

const LIVE = { live: true, config: true } as const;

export async function readLive(handle: Domain): Promise<DomainModel> {
  return readDomain(await handle.xml());
}

/** The VMI with the target names that its disks have in the guest, also where nobody has written them down yet. */
export function withKnownTargets(vmi: VirtualMachineInstance, { disks }: LiveDomain): VirtualMachineInstance {
  const targets = new Map(disks.map(({ name, target }) => [name, target]));
  const listed = (vmi.status?.volumeStatus ?? []).map((entry) => ({ ...entry, target: targets.get(entry.name) ?? entry.target ?? '' }));
  const names = new Set(listed.map(({ name }) => name));
  const added = [...targets].filter(([name]) => !names.has(name)).map(([name, target]) => ({ name, target }));
  return { ...vmi, status: { ...vmi.status, volumeStatus: [...listed, ...added] } };
}

/** "absent": not mounted yet; the node agent asks again once it is. */
async function lookAt(path: string): Promise<'disk' | 'absent' | 'other'> {
  return stat(path).then(
    (found) => (found.isFile() || found.isBlockDevice() ? 'disk' : 'other'),
    () => 'absent',
  );
}

async function apply(handle: Domain, { kind, xml, path }: DeviceChange): Promise<void> {
  // libvirt and QEMU would open a pipe, and wait there for ever.
  if (path !== undefined && (await lookAt(path)) === 'other') throw new KvError('Invalid', `${path} is neither a file nor a block device`);
  if (kind === 'attach') return handle.attachDevice(xml, LIVE);
  if (kind === 'update') return handle.updateDevice(xml, LIVE);
  try {
    await handle.detachDevice(xml, LIVE);
  } catch (err) {
    // The guest has been asked before and takes its time; or it has let go meanwhile.
    const isUnderWay = isLibvirtError(err, 'deviceMissing') || messageOf(err).includes('already in the process of unplug');
    if (!isUnderWay) throw err;
  }
}

/** True when there was anything to change. */
async function applyAll(ctx: Ctx, handle: Domain, changes: readonly DeviceChange[]): Promise<boolean> {
  const failures: unknown[] = [];
  for (const change of changes) {
    const { kind, what, name, path } = change;
    if (path !== undefined && (await lookAt(path)) === 'absent') continue;
    ctx.log.info({ kind, what, name }, 'Changing a device of the guest');
    atStep(`${kind} ${what} ${name}`);
    try {
      await apply(handle, change);
    } catch (err) {
      const details = isKvError(err) ? err.details : {};
      ctx.log.warn({ kind, what, name, reason: messageOf(err) }, 'A device of the guest was not changed');
      failures.push(
        new KvError('Libvirt', text.cannotChange(kind, what, name, lockedImageOf(messageOf(err)) ?? messageOf(err)), {
          cause: err,
          details,
        }),
      );
    }
  }
  if (failures.length > 0) throw failures[0];
  return changes.length > 0;
}

export async function updateDevices({ ctx, handle, vmi, prepared, live, undoings }: Update): Promise<boolean> {
  await growRunning(ctx, handle, vmi, live);
  return applyAll(ctx, handle, withoutUndoing(planDeviceChanges(vmi, prepared.domain, live), undoings));
}

export const plugHostDevices = ({ ctx, handle, prepared, live }: Update): Promise<boolean> =>
  applyAll(ctx, handle, planHostDevices(prepared.domain, live));

/** vCPUs, and where dedicated ones run. */
export async function updateVcpus({ ctx, handle, prepared, live }: Update): Promise<boolean> {
  const { vcpu, vcpus, cputune } = prepared.domain;
  const wanted = vcpus?.vcpu?.filter(({ enabled }) => enabled === true).length || (vcpu?.value ?? 0);
  if (describeLive(live).vcpus !== wanted) {
    ctx.log.info({ vcpus: wanted }, 'Setting the vCPUs of the guest');
    await handle.setVcpus(wanted);
  }
  for (const { vcpu: id = 0, cpuset = '' } of cputune?.vcpupin ?? []) {
    if (id < wanted) await handle.pinVcpu(id, parseCpuList(cpuset));
  }
  const emulator = cputune?.emulatorpin?.cpuset;
  if (emulator !== undefined) await handle.pinEmulator(parseCpuList(emulator));
  return true;
}

export async function updateMemory(ctx: Ctx, handle: Domain, vmi: VirtualMachineInstance): Promise<void> {
  const change = planMemory(vmi, await readLive(handle));
  if (change === undefined) return;
  ctx.log.info({ kind: change.kind, requestedBytes: String(change.requestedBytes) }, 'Changing the memory of the guest');
  if (change.kind === 'attach') await handle.attachDevice(change.xml, LIVE);
  else await handle.updateDevice(change.xml, { live: true });
}
