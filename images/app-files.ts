// What goes into /app of an image: bundles, and koffi where a bundle needs it, without the parts that only its build uses.
// Called by the image builders; copies files, decides nothing else.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { KvError } from '../src/base/errors.js';
import { type Bundle, bundleAll } from '../tools/bundle.js';
import { fileHash, filesBelow, fingerprint, treeHash } from './fingerprint.js';

const ROOT = resolve(import.meta.dirname, '..');
const MODULES = join(ROOT, 'node_modules');
const KOFFI_PREBUILT = `@koromix/koffi-linux-${process.arch}`;
const NODE_PACKAGE = `node-linux-${process.arch}`;

/** The Node of the images is the one the project runs with. */
export function nodeBinary(): string {
  const file = join(MODULES, NODE_PACKAGE, 'bin', 'node');
  if (!existsSync(file)) throw new KvError('NotFound', `there is no ${NODE_PACKAGE} in node_modules; run \`npm ci\``);
  return file;
}

const versionOf = (name: string): string =>
  (JSON.parse(readFileSync(join(MODULES, name, 'package.json'), 'utf8')) as { version: string }).version;

export const nodeVersion = (): string => versionOf(NODE_PACKAGE);

/** Changes whenever a bundle may change. */
export function sourcesKey(): string {
  const isSource = (path: string): boolean => path.endsWith('.ts') && !path.endsWith('.test.ts');
  return fingerprint([
    treeHash(join(ROOT, 'src'), isSource),
    ...['package-lock.json', 'tsconfig.json', 'tools/bundle.ts', 'tools/bundle-plugins.ts'].map((file) => fileHash(join(ROOT, file))),
  ]);
}

export interface BundleRecord {
  readonly process: string;
  readonly file: string;
  readonly hash: string;
  readonly needsKoffi: boolean;
}

interface BundleMemo {
  readonly sources: string;
  readonly bundles: readonly BundleRecord[];
}

/** The bundles of these sources; made again only when a source changed. */
export async function ensureBundles(memoFile: string, outDir: string): Promise<readonly BundleRecord[]> {
  const sources = sourcesKey();
  const memo = readMemo(memoFile);
  if (memo?.sources === sources && memo.bundles.every(({ file, hash }) => existsSync(file) && fileHash(file) === hash)) return memo.bundles;
  const bundles = (await bundleAll(outDir)).map(recordOf);
  writeFileSync(memoFile, JSON.stringify({ sources, bundles } satisfies BundleMemo));
  return bundles;
}

const recordOf = ({ process, file, external }: Bundle): BundleRecord => ({
  process,
  file,
  hash: fileHash(file),
  needsKoffi: external.includes('koffi'),
});

function readMemo(file: string): BundleMemo | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BundleMemo) : undefined;
}

export function appKey(bundles: readonly BundleRecord[]): string {
  const koffi = bundles.some(({ needsKoffi }) => needsKoffi) ? versionOf('koffi') : '';
  return fingerprint([koffi, ...bundles.flatMap(({ process, hash }) => [process, hash])]);
}

export function writeApp(bundles: readonly BundleRecord[], target: string): void {
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'package.json'), '{"type":"module"}\n');
  for (const { process, file } of bundles) cpSync(file, join(target, `${process}.js`));
  if (bundles.some(({ needsKoffi }) => needsKoffi)) copyKoffi(join(target, 'node_modules'));
}

function copyKoffi(target: string): void {
  copyFiles('koffi', target, (path) => /\.(c?js|json)$/.test(path) && !/^(doc|vendor)\//.test(path));
  copyFiles(KOFFI_PREBUILT, target, (path) => !path.startsWith('musl') && !path.endsWith('.md'));
}

function copyFiles(name: string, target: string, wanted: (path: string) => boolean): void {
  for (const path of filesBelow(join(MODULES, name), wanted)) {
    const to = join(target, name, path);
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(MODULES, name, path), to);
  }
}
