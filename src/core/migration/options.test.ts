// What the node agent sends about a migration's limits, and what the launcher makes of it.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../api/index.js';
import { clusterConfig } from '../config/cluster-config.js';
import { migrationOptions, readMigrationOptions } from './options.js';
import { clusterMigrationConfiguration, type VmiMigrationConfiguration } from './policy.js';

const vmi = (patch: object = {}, agreed?: object): VirtualMachineInstance => ({
  metadata: { name: 'web', namespace: 'shop' },
  spec: { domain: { devices: {}, ...patch } },
  ...(agreed ? { status: { migrationState: { migrationConfiguration: agreed } } } : {}),
});
const cluster = clusterMigrationConfiguration(clusterConfig());

const STANDARD = {
  Bandwidth: '0',
  ProgressTimeout: 150,
  CompletionTimeoutPerGiB: 150,
  MaxDowntimeMs: 900,
  UnsafeMigration: false,
  AllowAutoConverge: false,
  AllowPostCopy: false,
  AllowWorkloadDisruption: false,
  ParallelMigrationThreads: 8,
};
const { ParallelMigrationThreads: _, ...ONE_CONNECTION } = STANDARD;

describe('migrationOptions', () => {
  it.each<[string, VirtualMachineInstance, VmiMigrationConfiguration, object]>([
    ['are the cluster’s', vmi(), cluster, STANDARD],
    [
      'are those agreed for this migration',
      vmi({}, { bandwidthPerMigration: '64Mi', completionTimeoutPerGiB: 10, allowAutoConverge: true, unsafeMigrationOverride: true }),
      cluster,
      { ...STANDARD, Bandwidth: '64Mi', CompletionTimeoutPerGiB: 10, AllowAutoConverge: true, UnsafeMigration: true },
    ],
    [
      'let post-copy have one connection, and disrupt',
      vmi(),
      { allowPostCopy: true },
      { ...ONE_CONNECTION, AllowPostCopy: true, AllowWorkloadDisruption: true },
    ],
    ['spare the CPUs of a limited pod', vmi({ resources: { limits: { cpu: '1' } } }), cluster, ONE_CONNECTION],
    ['take a limit of 0 for none', vmi({ resources: { limits: { cpu: '0' } } }), cluster, STANDARD],
    ['spare dedicated CPUs', vmi({ cpu: { dedicatedCpuPlacement: true } }), cluster, ONE_CONNECTION],
    [
      'bring what is experimental',
      vmi(),
      { experimental: { compression: 'zstd', downtimeTuning: { steps: 2 } } },
      { ...STANDARD, Compression: 'zstd', DowntimeTuning: { steps: 2 } },
    ],
    ['know no compression as such', vmi(), { experimental: { compression: 'none' } }, STANDARD],
  ])('%s', (_title, given, config, expected) => {
    expect(migrationOptions(given, config)).toEqual(expected);
  });
});

const READ = {
  bandwidthBytes: 0n,
  progressTimeoutMs: 150_000,
  completionMsPerGiB: 150_000,
  maxDowntimeMs: 900,
  isUnsafe: false,
  autoConverge: false,
  postCopy: false,
  mayDisrupt: false,
};

describe('readMigrationOptions', () => {
  it.each<[string, object, object]>([
    ['fills in defaults', {}, READ],
    ['reads what was sent', STANDARD, { ...READ, threads: 8 }],
    ['reads sizes', { Bandwidth: '1Mi' }, { ...READ, bandwidthBytes: 1_048_576n }],
    [
      'drops parallel connections and their compression with post-copy',
      { ...STANDARD, AllowPostCopy: true, Compression: 'zstd' },
      { ...READ, postCopy: true },
    ],
    ['compresses on parallel connections', { ...STANDARD, Compression: 'zstd' }, { ...READ, threads: 8, compression: 'zstd' }],
    [
      'fills in the stall detector',
      { StallDetectorOptions: { ewmaAlpha: '0.25', searchLocalMinima: false } },
      {
        ...READ,
        stall: {
          margin: 0.04,
          progressMs: 40_000,
          switchoverMs: 60_000,
          precopyFactor: 1.5,
          alpha: 0.25,
          patienceDecay: 0.5,
          completionFactor: 2,
          searchesMinimum: false,
        },
      },
    ],
    [
      'fills in the steps of the downtime',
      { DowntimeTuning: { steps: 2 } },
      { ...READ, downtime: { initialMs: 150, steps: 2, startAfterIteration: 3, cooldownMs: 10_000 } },
    ],
  ])('%s', (_title, given, expected) => {
    expect(readMigrationOptions(given)).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ['a bandwidth that is no quantity', { Bandwidth: 'fast' }],
    ['a negative time', { ProgressTimeout: -1 }],
    ['a part of a thread', { ParallelMigrationThreads: 1.5 }],
    ['an unknown compression', { Compression: 'lzma' }],
    ['nothing', null],
  ])('refuses %s', (_title, given) => {
    expect(() => readMigrationOptions(given)).toThrow(expect.objectContaining({ code: 'Invalid' }));
  });
});
