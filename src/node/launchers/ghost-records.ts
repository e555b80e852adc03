// The node agent's memory of which VMs it manages on this node, one file a VM, written before the agent touches a pod. After a
// restart it finds the launchers again by it, even of VMIs whose object vanished meanwhile, and can clean up after them.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Ctx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';

export interface GhostRecord {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly podUid: string;
  /** The launcher was given up. */
  readonly unresponsive?: boolean;
}

export interface GhostRecords {
  readAll(ctx: Ctx): Promise<GhostRecord[]>;
  write(record: GhostRecord): Promise<void>;
  remove(uid: string): Promise<void>;
}

const PARTIAL = '.partial';

export function createGhostRecords(privateDir: string): GhostRecords {
  const dir = join(privateDir, 'ghost-records');
  const fileOf = (uid: string): string => join(dir, basename(uid));
  return {
    async readAll(ctx) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const names = (await readdir(dir)).filter((name) => !name.endsWith(PARTIAL));
      const records = await Promise.all(names.map((name) => readRecord(ctx, join(dir, name))));
      return records.filter((record) => record !== undefined);
    },
    async write(record) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const file = fileOf(record.uid);
      await writeFile(`${file}${PARTIAL}`, JSON.stringify(record), { mode: 0o600 });
      await rename(`${file}${PARTIAL}`, file);
    },
    remove: (uid) => rm(fileOf(uid), { force: true }),
  };
}

async function readRecord(ctx: Ctx, path: string): Promise<GhostRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(path, 'utf8')) as Partial<GhostRecord>;
    const { uid, namespace, name, podUid } = record;
    if (uid && namespace && name && podUid) return { uid, namespace, name, podUid, ...(record.unresponsive ? { unresponsive: true } : {}) };
    ctx.log.warn({ path }, 'Ignoring an incomplete ghost record');
  } catch (err) {
    // One damaged file must not keep the agent from managing the other VMs.
    ctx.log.warn({ path, err: messageOf(err) }, 'Ignoring an unreadable ghost record');
  }
  return undefined;
}
