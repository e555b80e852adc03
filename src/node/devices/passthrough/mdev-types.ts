// Divides the node's cards into the mediated devices that the configuration wants, and takes back what it wants no more: never a device that
// a process has. Remembers in a folder which ones it made. Run by the node agent until the context ends; never throws.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ctx } from '../../../base/context.js';
import { messageOf } from '../../../base/errors.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import {
  dependsOnNode,
  type MdevOrder,
  type MdevWish,
  mdevsToCreate,
  mdevsToRemove,
  wantedMdevs,
} from '../../../core/devices/mediated-types.js';
import { listPids, PROC, readOptional } from '../../../linux/proc.js';
import { ifThere, type Mdev, mdevDir, names, readMdevs, readMdevTypes, typeDir } from './sysfs.js';
import { untilChange } from './until-change.js';

export interface MdevTypesDeps {
  /** undefined until the cluster's configuration is known. */
  readonly config: () => ClusterConfig | undefined;
  readonly hostRoot: string;
  /** Which devices this agent made, a file each. */
  readonly recordDir: string;
  readonly nodeLabels: () => Promise<Readonly<Record<string, string>>>;
  /** Looked at again and again: labels of the node change, and devices are given back. */
  readonly intervalMs?: number;
  readonly proc?: string;
  /** Orders the kernel; default writes the file. */
  readonly write?: (path: string, text: string) => Promise<void>;
}

const INTERVAL_MS = 60_000;

export async function keepMdevTypes(ctx: Ctx, deps: MdevTypesDeps): Promise<void> {
  const { config, intervalMs = INTERVAL_MS } = deps;
  const relevant = (): readonly unknown[] => [config()?.spec.mediatedDevicesConfiguration, config()?.spec.permittedHostDevices, !config()];
  while (!ctx.signal.aborted) {
    const seen = relevant();
    const known = config();
    if (known) {
      try {
        await round(ctx, deps, known);
      } catch (err) {
        ctx.log.warn({ err: messageOf(err) }, 'The mediated devices of this node are not as configured; trying again');
      }
    }
    await untilChange(ctx, intervalMs, relevant, seen);
  }
}

async function round(ctx: Ctx, deps: MdevTypesDeps, config: ClusterConfig): Promise<void> {
  const wish = wantedMdevs(config, dependsOnNode(config) ? await deps.nodeLabels() : {});
  if (!wish) return;
  const own = await names(deps.recordDir);
  // Nothing to make and nothing to take back: the usual case, in which the kernel is not even asked.
  if (wish.types.length === 0 && own.length === 0) return;
  await removeUnwanted(ctx, deps, wish, new Set(own));
  const [existing, supported] = await Promise.all([readMdevs(deps.hostRoot), readMdevTypes(deps.hostRoot)]);
  for (const order of mdevsToCreate(wish, existing, supported)) await create(ctx, deps, order);
}

async function removeUnwanted(ctx: Ctx, deps: MdevTypesDeps, wish: MdevWish, own: ReadonlySet<string>): Promise<void> {
  const { hostRoot, recordDir, write = order, proc = PROC } = deps;
  const [existing, supported] = await Promise.all([readMdevs(hostRoot), readMdevTypes(hostRoot)]);
  const unwanted = mdevsToRemove(wish, existing, supported, own);
  const used = unwanted.length > 0 ? await mdevsInUse(unwanted, proc) : new Set<string>();
  for (const { uuid, typeId, parent } of unwanted) {
    if (used.has(uuid)) {
      ctx.log.warn(
        { mdev: uuid, type: typeId, parent },
        'A mediated device is wanted no more, but in use: it goes when its guest has ended',
      );
      continue;
    }
    await write(join(hostRoot + mdevDir(uuid), 'remove'), '1');
    ctx.log.info({ mdev: uuid, type: typeId, parent }, 'Removed mediated device');
  }
  const left = new Set((await readMdevs(hostRoot)).map(({ uuid }) => uuid));
  for (const uuid of own) if (!left.has(uuid)) await rm(join(recordDir, uuid), { force: true });
}

/** The record comes first: a device that nobody knows to be ours would never be taken back. */
async function create(
  ctx: Ctx,
  { hostRoot, recordDir, write = order }: MdevTypesDeps,
  { parent, typeId, count }: MdevOrder,
): Promise<void> {
  await mkdir(recordDir, { recursive: true });
  try {
    for (let made = 0; made < count; made++) {
      const uuid = randomUUID();
      await writeFile(join(recordDir, uuid), '');
      await write(join(hostRoot + typeDir(parent, typeId), 'create'), uuid);
    }
    ctx.log.info({ type: typeId, parent, count }, 'Made mediated devices');
  } catch (err) {
    // Another card may still do.
    ctx.log.warn({ type: typeId, parent, err: messageOf(err) }, 'Cannot make mediated devices; trying again');
  }
}

/** These files can only be written, and one that the kernel does not offer must not be made. */
const order = (path: string, text: string): Promise<void> => writeFile(path, text, { flag: constants.O_WRONLY });

/**
 * Removing a device that somebody has would pull it out of the guest. A launcher that was given it has its UUID in the environment from the
 * start; whoever works with it has its group open.
 */
export async function mdevsInUse(mdevs: readonly Pick<Mdev, 'uuid' | 'group'>[], proc = PROC): Promise<Set<string>> {
  const used = new Set<string>();
  for (const pid of await listPids(proc)) {
    const dir = join(proc, String(pid));
    const [environment, opened] = await Promise.all([readOptional(join(dir, 'environ')), openedGroups(dir)]);
    for (const { uuid, group = '' } of mdevs) if (environment?.includes(uuid) || opened.has(group)) used.add(uuid);
  }
  return used;
}

async function openedGroups(dir: string): Promise<ReadonlySet<string>> {
  const fds = await names(join(dir, 'fd'));
  const targets = await Promise.all(fds.map((fd) => ifThere(readlink(join(dir, 'fd', fd)))));
  return new Set(targets.flatMap((target) => (target?.startsWith('/dev/vfio/') ? [target.slice('/dev/vfio/'.length)] : [])));
}
