// Unpacks a docker archive's layers into a folder: for tests that use programs or files of an image without a container engine.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { KvError } from '../src/base/errors.js';
import { run } from '../test/cluster/run.js';

/** Our images never delete files of a lower layer, so that layers only add up. */
export async function unpackArchive(archive: string, target: string, only: readonly string[] = []): Promise<void> {
  if (existsSync(target)) return;
  const work = `${target}.part`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, 'root'), { recursive: true });
  try {
    await run(['tar', '-C', work, '-xf', archive]);
    for (const layer of layersOf(archive, readFileSync(join(work, 'manifest.json'), 'utf8'))) {
      await unpackLayer(join(work, layer), join(work, 'root'), only);
    }
    renameSync(join(work, 'root'), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** All of a layer, or those of the wanted files that it has. */
async function unpackLayer(layer: string, target: string, only: readonly string[]): Promise<void> {
  const held = only.length === 0 ? [] : (await run(['tar', '-tf', layer])).split('\n').filter((name) => only.includes(name));
  if (only.length === 0 || held.length > 0) await run(['tar', '-C', target, '-xf', layer, ...held]);
}

function layersOf(archive: string, manifest: string): readonly string[] {
  const layers = (JSON.parse(manifest) as { Layers: string[] }[])[0]?.Layers ?? [];
  if (layers.length === 0) throw new KvError('Internal', `${archive} has no layers; remove it and run \`npm run images\``);
  return layers;
}
