import type { Metafile } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { BUNDLE_DIR, describeAll, existingProcesses, packagesIn } from './bundle.js';

const output = (bytes: number, ...packages: string[]): Metafile['outputs'][string] => ({
  bytes,
  inputs: {},
  exports: [],
  imports: packages.map((path) => ({ path, kind: 'import-statement' as const, external: true })),
});

describe('describeAll', () => {
  it('names what must lie beside a bundle, and not what Node brings', () => {
    const outputs = {
      'dist/bundle/virt-launcher.js': output(10, 'node:fs', 'koffi', 'koffi'),
      'dist/bundle/virt-api.js': output(20, 'fs'),
    };
    expect(describeAll({ outputs })).toEqual([
      { process: 'virt-launcher', file: `${BUNDLE_DIR}/virt-launcher.js`, bytes: 10, external: ['koffi'] },
      { process: 'virt-api', file: `${BUNDLE_DIR}/virt-api.js`, bytes: 20, external: [] },
    ]);
  });
});

describe('packagesIn', () => {
  it.each(['virt-launcher', 'node-labeller', 'virt-probe', 'virt-freezer', 'sidecar-shim'])(
    'finds nothing in %s that validates API objects or speaks all of gRPC: each VM would pay for it',
    async (process) => {
      const heavy = /^(class-validator|class-transformer|reflect-metadata|libphonenumber-js|@grpc\/|@kubernetes\/|express)/;
      expect((await packagesIn(process)).filter((name) => heavy.test(name))).toEqual([]);
    },
  );
});

describe('existingProcesses', () => {
  it('finds every process that the images run', () => {
    expect(existingProcesses()).toEqual(
      expect.arrayContaining(['virt-operator', 'virt-api', 'virt-controller', 'virt-handler', 'virt-launcher', 'node-labeller']),
    );
  });
});
