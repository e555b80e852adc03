// Lets the disks of a guest follow their claims: images are made longer before it starts, and a running guest is told. A disk that cannot
// grow keeps its size, and its guest runs. How far each may grow is decided in core/storage.
import { stat } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../api/index.js';
import type { Ctx } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import { atStep } from '../base/steps.js';
import { type DescribedDisk, type DomainModel, deviceName, sourcePath } from '../core/converter/index.js';
import { type Growth, planGrowth } from '../core/storage/index.js';
import type { Domain } from '../libvirt/index.js';
import { blockDeviceBytes } from '../linux/block-device.js';
import type { Run } from '../linux/exec.js';
import { growRaw } from '../linux/qemu-img.js';

/** Before the guest starts. Only raw images are touched: others have sizes of their own. */
export async function growImages(ctx: Ctx, run: Run, vmi: VirtualMachineInstance, disks: readonly DescribedDisk[]): Promise<void> {
  for (const growth of planGrowth(vmi)) {
    const disk = disks.find(({ name }) => name === growth.volume);
    if (disk?.path === undefined || disk.isBlock || disk.format !== 'raw') continue;
    await growImage(ctx, run, growth, disk.path).catch((err: unknown) => {
      ctx.log.warn({ disk: growth.volume, reason: messageOf(err) }, 'Cannot make a disk image longer; the guest starts with the old size');
    });
  }
}

async function growImage(ctx: Ctx, run: Run, { bytes, volume, isPreallocated }: Growth, path: string): Promise<void> {
  const { size } = await stat(path, { bigint: true });
  if (bytes === undefined || bytes <= size) return;
  ctx.log.info({ disk: volume, from: size.toString(), to: bytes.toString() }, 'Making a disk image longer: its claim has grown');
  await growRaw(ctx, run, path, { bytes, isPreallocated });
}

interface LiveDisk {
  readonly target: string;
  readonly path: string;
  readonly bytes: bigint;
}

/** While the guest runs; it sees the new size at once. */
export async function growRunning(ctx: Ctx, handle: Domain, vmi: VirtualMachineInstance, live: DomainModel): Promise<void> {
  const plan = planGrowth(vmi);
  if (plan.length === 0) return;
  atStep('growing disks');
  const capacities = await capacitiesOf(handle);
  for (const growth of plan) {
    const disk = liveDisk(growth.volume, live, capacities);
    if (disk) await tell(ctx, handle, growth, disk);
  }
}

async function tell(ctx: Ctx, handle: Domain, growth: Growth, { target, path, bytes }: LiveDisk): Promise<void> {
  try {
    const wanted = growth.bytes ?? (await blockDeviceBytes(path));
    if (wanted === undefined || wanted <= bytes) return;
    ctx.log.info({ disk: growth.volume, from: bytes.toString(), to: wanted.toString() }, 'Growing a disk of the running guest');
    await handle.resizeBlock(target, wanted);
  } catch (err) {
    ctx.log.warn({ disk: growth.volume, reason: messageOf(err) }, 'Cannot grow a disk of the running guest; it keeps its size');
  }
}

/** Target → size that the guest sees. */
async function capacitiesOf(handle: Domain): Promise<ReadonlyMap<string, bigint>> {
  const stats = await handle.stats(['block']);
  const count = Number(stats.get('block.count') ?? 0);
  const found = new Map<string, bigint>();
  for (let i = 0; i < count; i++) {
    const [name, capacity] = [stats.get(`block.${i}.name`), stats.get(`block.${i}.capacity`)];
    if (typeof name === 'string' && capacity !== undefined) found.set(name, BigInt(capacity));
  }
  return found;
}

function liveDisk(volume: string, { devices }: DomainModel, capacities: ReadonlyMap<string, bigint>): LiveDisk | undefined {
  const disk = devices?.disk?.find((each) => deviceName(each) === volume);
  const target = disk?.target?.dev;
  const path = disk && sourcePath(disk);
  const bytes = target === undefined ? undefined : capacities.get(target);
  return target === undefined || path === undefined || bytes === undefined ? undefined : { target, path, bytes };
}
