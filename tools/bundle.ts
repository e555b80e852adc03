// Makes one file a process out of src/main, for the images and for `kubectl virt`. Called by `npm run bundle` and by images/. Only what
// exists in src/main is bundled; native code (koffi) stays beside the bundle, and the report says which bundle needs it.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { standIns } from './bundle-plugins.js';

const ROOT = resolve(import.meta.dirname, '..');
export const BUNDLE_DIR = join(ROOT, 'dist', 'bundle');

export const PROCESSES = [
  'virt-operator',
  'virt-api',
  'virt-controller',
  'virt-handler',
  'virt-launcher',
  'node-labeller',
  'virt-probe',
  'virt-freezer',
  'sidecar-shim',
  'kubectl-virt',
];

/** Native add-ons cannot be part of a bundle. */
const EXTERNAL = ['koffi'];

/** CommonJS packages inside an ES module still call require and know __filename. */
const BANNER = [
  "import { createRequire as kvCreateRequire } from 'node:module';",
  "import { fileURLToPath as kvFileURLToPath } from 'node:url';",
  'const require = kvCreateRequire(import.meta.url);',
  'const __filename = kvFileURLToPath(import.meta.url);',
  "const __dirname = kvFileURLToPath(new URL('.', import.meta.url));",
].join(' ');

export interface Bundle {
  readonly process: string;
  readonly file: string;
  readonly bytes: number;
  /** Packages that must lie beside it. */
  readonly external: readonly string[];
}

const entryOf = (process: string): string => join(ROOT, 'src', 'main', `${process}.ts`);

export function existingProcesses(): string[] {
  return PROCESSES.filter((process) => existsSync(entryOf(process)));
}

/** How every process is bundled. */
const OPTIONS = {
  absWorkingDir: ROOT,
  tsconfig: join(ROOT, 'tsconfig.json'),
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  mainFields: ['module', 'main'],
  external: EXTERNAL,
  plugins: [standIns],
  loader: { '.proto': 'text' },
  banner: { js: `#!/usr/bin/env node\n${BANNER}` },
  legalComments: 'none',
  // Names stay, so that a stack says where it was. Comments and blanks would only be kept in memory, for every VM.
  minifyWhitespace: true,
  minifySyntax: true,
  // Node shows the whole line in which something failed.
  lineLimit: 200,
  logLevel: 'warning',
} as const satisfies BuildOptions;

export async function bundleAll(outDir = BUNDLE_DIR): Promise<Bundle[]> {
  await mkdir(outDir, { recursive: true });
  await writeFile(join(outDir, 'package.json'), `${JSON.stringify({ type: 'module' })}\n`);
  // One build for all: what they share is parsed once.
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: Object.fromEntries(existingProcesses().map((process) => [process, entryOf(process)])),
    outdir: outDir,
    metafile: true,
  });
  return describeAll(metafile);
}

/** One file out of a program that is no process of ours, bundled as those are. */
export async function bundleOne(entry: string, outfile: string): Promise<string> {
  await build({ ...OPTIONS, entryPoints: [entry], outfile });
  return outfile;
}

/** The packages that parts of a process's bundle come from. */
export async function packagesIn(process: string): Promise<string[]> {
  const { metafile } = await build({ ...OPTIONS, entryPoints: [entryOf(process)], write: false, metafile: true });
  const files = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const names = files.flatMap(([file, { bytesInOutput }]) => {
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
    return name === undefined || bytesInOutput === 0 ? [] : [name];
  });
  return [...new Set(names)].sort();
}

/** Name, size and external packages of each bundle out of esbuild's report. */
export function describeAll(metafile: Pick<Metafile, 'outputs'>): Bundle[] {
  return Object.entries(metafile.outputs).map(([file, output]) => {
    const packages = output.imports.filter((each) => each.external).map((each) => each.path);
    return {
      process: basename(file, '.js'),
      file: resolve(ROOT, file),
      bytes: output.bytes,
      external: [...new Set(packages)].filter((name) => EXTERNAL.includes(name)),
    };
  });
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1])) {
  for (const { process: name, bytes, external } of await bundleAll()) {
    const beside = external.length > 0 ? `, needs ${external.join(', ')} beside it` : '';
    process.stdout.write(`${name.padEnd(16)} ${(bytes / 1024 / 1024).toFixed(2).padStart(6)} MiB${beside}\n`);
  }
}
