// Makes the package entry `kubevirt-ts/api` in dist/api: one JavaScript file and the declarations of the API's types. Run by
// `npm run build:api` and before packing.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
export const API_DIR = join(ROOT, 'dist', 'api');

const COMPILER = join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc');
/** As tsconfig.json, for consumers: declarations only, of this room and of what it needs. */
const DECLARATIONS = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--rootDir', 'src'];

export async function buildApi(outDir = API_DIR): Promise<void> {
  rmSync(outDir, { recursive: true, force: true });
  await build({
    entryPoints: { index: join(ROOT, 'src', 'api', 'package.ts') },
    outdir: outDir,
    absWorkingDir: ROOT,
    tsconfig: join(ROOT, 'tsconfig.json'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
  });
  const config = ['--project', join(ROOT, 'tsconfig.api.json'), ...DECLARATIONS, '--outDir', join(outDir, 'types')];
  execFileSync(process.execPath, [COMPILER, ...config], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1])) await buildApi();
