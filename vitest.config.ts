import { defineConfig } from 'vitest/config';
import { useOwnFolder } from './tools/run/own-folder.js';

useOwnFolder((line) => console.error(line));

// One project a layer: `unit` is pure and quick; `fuzz` takes half a minute: damaged input, and load; `host` needs root; `apiserver` and `e2e` need the local cluster.
const shared = { pool: 'forks' as const, maxWorkers: 2, setupFiles: ['test/fakes/scratch-setup.ts'] };
const project = (name: string, include: string[], testTimeout: number, rest = {}) => ({
  extends: true as const,
  test: { ...shared, name, include, testTimeout, hookTimeout: testTimeout, ...rest },
});
/** Tests that share one machine or one cluster run one file at a time. */
const serial = { fileParallelism: false };

export default defineConfig({
  oxc: { decorator: { legacy: true, emitDecoratorMetadata: false } },
  test: {
    ...shared,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], exclude: ['**/*.test.ts'] },
    projects: [
      project(
        'unit',
        ['src/**/*.test.ts', 'test/{golden,cluster,builders,fakes,sim,oracle,bench}/**/*.test.ts', '{tools,images}/**/*.test.ts'],
        // A busy machine is no failure.
        30_000,
        // Two thirds of the time would be loading the same modules anew for each file.
        { isolate: false },
      ),
      project('fuzz', ['test/{fuzz,load}/**/*.test.ts'], 60_000),
      project('host', ['test/host/**/*.test.ts'], 60_000, serial),
      project('apiserver', ['test/apiserver/**/*.test.ts'], 120_000, serial),
      project('e2e', ['test/e2e/**/*.test.ts'], 600_000, { ...serial, globalSetup: ['test/e2e/global-setup.ts'] }),
    ],
  },
});
