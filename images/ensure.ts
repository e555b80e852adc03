// Builds the images whose inputs changed and hands out their archives, one file an image, named by the hash of its inputs. Everything is
// kept in the cache folder, so that a second run with nothing changed only computes hashes.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir } from '../test/cluster/config.js';
import { withLock } from '../test/cluster/lock.js';
import { type Log, timedLog } from '../test/cluster/progress.js';
import { BUNDLE_DIR } from '../tools/bundle.js';
import { ensureBundles } from './app-files.js';
import { buildImage, saveImage } from './buildah.js';
import { IMAGE_NAMES, type ImageName, type ImageRecipe, recipes, USUAL_IMAGES } from './catalogue.js';
import { ensureSystem } from './debian-system.js';

export interface ImageOptions {
  /** Default: all but the Debian guest. The archives of the others are still named in the answer when they exist. */
  readonly only?: readonly ImageName[];
  readonly log?: Log;
}

/** Paths of docker archives. */
export type ImageArchives = Readonly<Record<ImageName, string>>;

/** One older archive an image is kept: going back to the last commit and forth again costs nothing. */
const KEPT_OLD = 1;
const MIB = 1024 * 1024;

export async function ensureImages(options: ImageOptions = {}): Promise<ImageArchives> {
  const log = options.log ?? timedLog((line) => process.stderr.write(`${line}\n`));
  const dir = join(cacheDir(process.env), 'images');
  mkdirSync(dir, { recursive: true });
  return await withLock(join(dir, 'lock'), log, async () => {
    const bundles = await ensureBundles(join(dir, 'bundles.json'), BUNDLE_DIR);
    const all = recipes(IMAGE_NAMES, bundles);
    const wanted: readonly ImageName[] = options.only ?? USUAL_IMAGES;
    const missing = all.filter((recipe) => wanted.includes(recipe.name) && !existsSync(archiveOf(dir, recipe)));
    for (const [index, recipe] of missing.entries()) {
      await build(dir, recipe, (line) => log(`image ${index + 1} of ${missing.length}: ${line}`));
      prune(dir, recipe);
    }
    return Object.fromEntries(all.map((recipe) => [recipe.name, archiveOf(dir, recipe)])) as ImageArchives;
  });
}

const archiveOf = (dir: string, { name, key }: Pick<ImageRecipe, 'name' | 'key'>): string => join(dir, `${name}-${key}.tar`);

async function build(dir: string, recipe: ImageRecipe, log: Log): Promise<void> {
  const args: Record<string, string> = {};
  for (const [name, system] of Object.entries(recipe.systems)) args[name] = await ensureSystem(system, dir, log);
  const context = mkdtempSync(join(dir, `context-${recipe.name}-`));
  const unfinished = `${archiveOf(dir, recipe)}.part`;
  try {
    recipe.writeContext(context);
    const onStep = (step: string): void => log(`${recipe.name}: ${step}`);
    await buildImage({ tag: recipe.tag, context, args, onStep });
    rmSync(unfinished, { force: true });
    await saveImage(recipe.tag, unfinished);
    renameSync(unfinished, archiveOf(dir, recipe));
    log(`${recipe.name}: ready, ${Math.round(statSync(archiveOf(dir, recipe)).size / MIB)} MiB`);
  } finally {
    rmSync(context, { recursive: true, force: true });
    rmSync(unfinished, { force: true });
  }
}

function prune(dir: string, recipe: ImageRecipe): void {
  const older = readdirSync(dir)
    .filter((file) => file.startsWith(`${recipe.name}-`) && file.endsWith('.tar') && join(dir, file) !== archiveOf(dir, recipe))
    .map((file) => ({ file: join(dir, file), changed: statSync(join(dir, file)).mtimeMs }))
    .sort((a, b) => b.changed - a.changed);
  for (const { file } of older.slice(KEPT_OLD)) rmSync(file);
}
