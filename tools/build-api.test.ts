import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as Entry from '../src/api/package.js';
import { API_DIR, buildApi } from './build-api.js';

const ROOT = join(import.meta.dirname, '..');
/** Inside the repository, where the package can name itself as others name it. */
const SAMPLES = join(ROOT, 'dist', 'api-samples');
const MINUTE = 60_000;

/** The block of TypeScript in the page about the types. */
function documented(): string {
  const page = readFileSync(join(ROOT, 'docs', 'api-types.md'), 'utf8');
  return /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
}

function typecheck(name: string, source: string): string {
  const file = join(SAMPLES, name);
  writeFileSync(file, source);
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
  try {
    execFileSync(process.execPath, [join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc'), '--ignoreConfig', ...flags, file], {
      cwd: SAMPLES,
    });
    return '';
  } catch (err) {
    return String((err as { stdout?: Buffer }).stdout);
  }
}

describe('kubevirt-ts/api', () => {
  beforeAll(async () => {
    await buildApi();
    mkdirSync(SAMPLES, { recursive: true });
  }, MINUTE);
  afterAll(() => rmSync(SAMPLES, { recursive: true, force: true }));

  it('is one file that imports nothing', () => {
    expect(readFileSync(join(API_DIR, 'index.js'), 'utf8')).not.toMatch(/^import /m);
  });

  it('has what a client needs at run time', async () => {
    const entry = (await import(join(API_DIR, 'index.js'))) as typeof Entry;
    expect(entry.resourceOf('VirtualMachinePool')).toEqual({
      group: 'pool.kubevirt.io',
      version: 'v1beta1',
      plural: 'virtualmachinepools',
    });
    expect(entry.resourceOf('VirtualMachineInstancePreset').version).toBe('v1');
    expect(() => entry.resourceOf('Pod')).toThrow('Pod is no kind of this API');
    expect(entry.crds().map((crd) => crd.spec.names.kind)).toContain('Plugin');
    expect(entry.schemaOf('VirtualMachine').properties?.spec?.required).toEqual(['template']);
  });

  it('types the documented lines', () => expect(typecheck('documented.ts', documented())).toBe(''), MINUTE);

  it(
    'types objects strictly',
    () => {
      const source = `import type { VirtualMachine } from 'kubevirt-ts/api';
export const vm: VirtualMachine = { metadata: { name: 'a' }, spec: { template: { spec: { domain: { devices: {} } } } }, nope: 1 };`;
      expect(typecheck('strict.ts', source)).toContain("'nope' does not exist in type 'VirtualMachine'");
    },
    MINUTE,
  );
});
