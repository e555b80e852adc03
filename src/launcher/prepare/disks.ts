// Makes the disks that exist only for this guest: overlays, empty disks, ISOs of config volumes, the cloud-init ISO. What is to be made
// where is decided in core/storage; here it is done, once: what exists already is left alone, as the guest may have written to it.
import { randomUUID } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { allOrFirstError } from '../../base/all.js';
import type { Ctx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import {
  type CloudInitIso,
  type ConfigIsoPlan,
  cloudInitSecretDirs,
  type PreparedDiskFacts,
  planPreparedDisks,
  renderCloudInit,
  requireCloudInitKeys,
  type SecretFiles,
  secretDir,
} from '../../core/storage/index.js';
import type { Run } from '../../linux/exec.js';
import { isoOfDirectory, isoOfFiles } from '../../linux/iso.js';
import { createQcow2, type ImageFormat } from '../../linux/qemu-img.js';
import { prepareDownwardMetrics } from '../downward-metrics/downward-metrics.js';
import type { Hooks } from '../hooks/hooks.js';

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    // Not there (or not ours): the caller makes it, and reports what then goes wrong.
    () => false,
  );
}

/** Runs `make` unless the file exists; its directory is made first. What a failed `make` leaves is no disk, and goes. */
export async function once(path: string, make: () => Promise<void>): Promise<void> {
  if (await isThere(path)) return;
  await mkdir(posix.dirname(path), { recursive: true });
  try {
    await make();
  } catch (err) {
    await rm(path, { force: true });
    throw err;
  }
}

/** Entries of a mounted config volume. Kubernetes keeps the real files in directories that start with "..". */
async function configFiles({ sourceDir, volume, requires }: ConfigIsoPlan): Promise<Map<string, string>> {
  const names = await readdir(sourceDir).catch((err: unknown) => {
    throw new KvError('Internal', `the files of volume ${volume} are not mounted at ${sourceDir}`, { cause: err });
  });
  const visible = names.filter((name) => !name.startsWith('..'));
  if (requires && !visible.some((name) => requires.includes(name.toLowerCase()))) {
    throw new KvError('Terminal', `volume ${volume} must hold one of ${requires.join(', ')}; it holds ${visible.join(', ') || 'nothing'}`);
  }
  return new Map(visible.map((name) => [name, posix.join(sourceDir, name)]));
}

/** Overlays, empty disks and config ISOs, all at the same time. */
export async function makeDisks(ctx: Ctx, run: Run, vmi: VirtualMachineInstance, facts: PreparedDiskFacts): Promise<void> {
  const { overlays, emptyDisks, configIsos } = planPreparedDisks(vmi, facts);
  await allOrFirstError([
    prepareDownwardMetrics(vmi),
    ...overlays.map(({ path, backingPath, backingFormat }) =>
      once(path, () => createQcow2(ctx, run, path, { backing: backingPath, backingFormat: backingFormat as ImageFormat })),
    ),
    ...emptyDisks.map(({ path, bytes }) => once(path, () => createQcow2(ctx, run, path, { sizeBytes: bytes }))),
    ...configIsos.map((plan) =>
      once(plan.iso, async () => isoOfFiles(ctx, run, { output: plan.iso, volumeId: plan.volumeId }, await configFiles(plan))),
    ),
  ]);
}

async function readSecret(name: string): Promise<SecretFiles | undefined> {
  const dir = secretDir(name);
  const names = await readdir(dir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return undefined;
    throw new KvError('Internal', `cannot read the secret mounted at ${dir}`, { cause: err });
  });
  if (!names) return undefined;
  const files: Record<string, Uint8Array> = {};
  for (const file of names) {
    const path = posix.join(dir, file);
    if ((await stat(path)).isFile()) files[file] = await readFile(path);
  }
  return files;
}

async function readSecrets(names: readonly string[]): Promise<Record<string, SecretFiles>> {
  const found = await Promise.all(names.map(async (name) => [name, await readSecret(name)] as const));
  return Object.fromEntries(found.flatMap(([name, files]) => (files ? [[name, files] as const] : [])));
}

async function writeIso(ctx: Ctx, run: Run, { isoPath, volumeId, files }: CloudInitIso): Promise<void> {
  const dir = await mkdtemp(posix.join(tmpdir(), 'cloud-init-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      const path = posix.join(dir, name);
      await mkdir(posix.dirname(path), { recursive: true });
      await writeFile(path, content, { mode: 0o600 });
    }
    await isoOfDirectory(ctx, run, { output: isoPath, volumeId }, dir);
  } finally {
    // They hold the user's secrets.
    await rm(dir, { recursive: true, force: true });
  }
}

/** The cloud-init ISO, if the VMI has such a volume. Made before the domain is defined, kept for its life. */
export async function makeCloudInit(ctx: Ctx, run: Run, vmi: VirtualMachineInstance, hooks?: Hooks): Promise<void> {
  const secrets = await readSecrets(cloudInitSecretDirs(vmi));
  requireCloudInitKeys(vmi, secrets);
  const iso = renderCloudInit(vmi, { secrets, fallbackUuid: randomUUID() });
  if (iso) await once(iso.isoPath, async () => writeIso(ctx, run, (await hooks?.preCloudInitIso(iso, vmi)) ?? iso));
}
