// The limits of one migration as they travel from the node agent to the launcher: made of the VMI and the cluster's settings on one side, read
// and filled with defaults on the other. Field names are the reference's. Pure; what to do with them is decided in launcher/migration.
import type { DowntimeTuningOptions, Quantity, StallDetectorOptions, VirtualMachineInstance } from '../../api/index.js';
import { isQuantity, isZeroQuantity, quantityMilli, quantityValue } from '../../api/quantity.js';
import { KvError } from '../../base/errors.js';
import type { VmiMigrationConfiguration } from './policy.js';

/** As JSON on the wire. */
export interface WireMigrationOptions {
  /** Bytes a second; 0 for no limit. */
  readonly Bandwidth: Quantity;
  /** Seconds; 0 for no limit. */
  readonly ProgressTimeout: number;
  readonly CompletionTimeoutPerGiB: number;
  readonly MaxDowntimeMs: number;
  readonly UnsafeMigration: boolean;
  readonly AllowAutoConverge: boolean;
  readonly AllowPostCopy: boolean;
  readonly AllowWorkloadDisruption: boolean;
  readonly ParallelMigrationThreads?: number;
  readonly Compression?: string;
  readonly StallDetectorOptions?: StallDetectorOptions;
  readonly DowntimeTuning?: DowntimeTuningOptions;
}

export interface StallLimits {
  /** What counts as the same amount of data, as a part of it. */
  readonly margin: number;
  readonly progressMs: number;
  readonly switchoverMs: number;
  readonly precopyFactor: number;
  /** Weight of the newest bandwidth, above 0 up to 1. */
  readonly alpha: number;
  readonly patienceDecay: number;
  readonly completionFactor: number;
  readonly searchesMinimum: boolean;
}

export interface DowntimeSteps {
  readonly initialMs: number;
  readonly steps: number;
  readonly startAfterIteration: number;
  readonly cooldownMs: number;
}

export interface MigrationOptions {
  /** 0 for no limit. */
  readonly bandwidthBytes: bigint;
  /** 0 for no limit. */
  readonly progressTimeoutMs: number;
  readonly completionMsPerGiB: number;
  readonly maxDowntimeMs: number;
  readonly isUnsafe: boolean;
  readonly autoConverge: boolean;
  readonly postCopy: boolean;
  readonly mayDisrupt: boolean;
  readonly threads?: number;
  readonly compression?: 'zstd';
  /** Instead of the ladder of timeouts. */
  readonly stall?: StallLimits;
  readonly downtime?: DowntimeSteps;
}

/** Connections between the two QEMUs. */
const THREADS = 8;

const DEFAULTS = { progressTimeout: 150, completionTimeoutPerGiB: 150, maxDowntimeMs: 900 } as const;

/** QEMU's threads take CPU time from a guest whose pod is limited; and post-copy knows only one connection. */
function mayUseThreads({ spec }: VirtualMachineInstance, allowPostCopy: boolean): boolean {
  const limit = spec.domain.resources?.limits?.cpu;
  const isLimited = limit !== undefined && !isZeroQuantity(limit);
  return !allowPostCopy && !isLimited && spec.domain.cpu?.dedicatedCpuPlacement !== true;
}

/** What the node agent sends: the limits that were agreed for this migration, else the cluster's. */
export function migrationOptions(vmi: VirtualMachineInstance, cluster: VmiMigrationConfiguration): WireMigrationOptions {
  const config: VmiMigrationConfiguration = { ...cluster, ...vmi.status?.migrationState?.migrationConfiguration };
  const postCopy = config.allowPostCopy === true;
  const { compression, stallDetector, downtimeTuning } = config.experimental ?? {};
  return {
    Bandwidth: config.bandwidthPerMigration ?? '0',
    ProgressTimeout: config.progressTimeout ?? DEFAULTS.progressTimeout,
    CompletionTimeoutPerGiB: config.completionTimeoutPerGiB ?? DEFAULTS.completionTimeoutPerGiB,
    MaxDowntimeMs: config.maxDowntimeMs ?? DEFAULTS.maxDowntimeMs,
    UnsafeMigration: config.unsafeMigrationOverride === true,
    AllowAutoConverge: config.allowAutoConverge === true,
    AllowPostCopy: postCopy,
    AllowWorkloadDisruption: config.allowWorkloadDisruption ?? postCopy,
    ...(mayUseThreads(vmi, postCopy) ? { ParallelMigrationThreads: THREADS } : {}),
    ...(compression && compression !== 'none' ? { Compression: compression } : {}),
    ...(stallDetector ? { StallDetectorOptions: stallDetector } : {}),
    ...(downtimeTuning ? { DowntimeTuning: downtimeTuning } : {}),
  };
}

const MILLI = 1000;
const PERCENT = 100;

const fraction = (given: Quantity | undefined, otherwise: number): number =>
  given === undefined ? otherwise : Number(quantityMilli(given)) / MILLI;

function stallLimits(given: StallDetectorOptions): StallLimits {
  return {
    margin: (given.stallMargin ?? 4) / PERCENT,
    progressMs: (given.stallProgressTimeout ?? 40) * MILLI,
    switchoverMs: (given.switchoverTimeout ?? 60) * MILLI,
    precopyFactor: fraction(given.precopyPossibleFactor, 1.5),
    alpha: fraction(given.ewmaAlpha, 0.4),
    patienceDecay: fraction(given.patienceWindowDecayFactor, 0.5),
    completionFactor: fraction(given.completionTimeoutFactor, 2),
    searchesMinimum: given.searchLocalMinima ?? true,
  };
}

const downtimeSteps = (given: DowntimeTuningOptions): DowntimeSteps => ({
  initialMs: given.initialMs ?? 150,
  steps: given.steps ?? 7,
  startAfterIteration: given.startAfterIteration ?? 3,
  cooldownMs: (given.cooldownSeconds ?? 10) * MILLI,
});

type Raw = Readonly<Record<string, unknown>>;

function wrong(field: string, value: unknown): KvError {
  return new KvError('Invalid', `the migration's option ${field} cannot be ${JSON.stringify(value)}`);
}

function wholeNumber(raw: Raw, field: string, otherwise: number): number {
  const value = raw[field] ?? otherwise;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw wrong(field, value);
  return value;
}

function bandwidthOf({ Bandwidth: value = '0' }: Raw): bigint {
  if (!isQuantity(value) || quantityValue(value) < 0n) throw wrong('Bandwidth', value);
  return quantityValue(value);
}

function threadsOf(raw: Raw): { threads?: number } {
  const threads = wholeNumber(raw, 'ParallelMigrationThreads', 0);
  return threads === 0 || raw.AllowPostCopy === true ? {} : { threads };
}

/** zstd is done by the parallel connections; without them there is none. */
function compressionOf(raw: Raw, hasThreads: boolean): { compression?: 'zstd' } {
  const { Compression: value = 'none' } = raw;
  if (value !== 'none' && value !== 'zstd') throw wrong('Compression', value);
  return value === 'zstd' && hasThreads ? { compression: 'zstd' } : {};
}

/** What the launcher makes of it. Throws Invalid. */
export function readMigrationOptions(given: unknown): MigrationOptions {
  if (typeof given !== 'object' || given === null) throw new KvError('Invalid', "the migration's options are no object");
  const raw = given as Raw;
  const { threads } = threadsOf(raw);
  const { StallDetectorOptions: stall, DowntimeTuning: downtime } = raw as Partial<WireMigrationOptions>;
  return {
    bandwidthBytes: bandwidthOf(raw),
    progressTimeoutMs: wholeNumber(raw, 'ProgressTimeout', DEFAULTS.progressTimeout) * MILLI,
    completionMsPerGiB: wholeNumber(raw, 'CompletionTimeoutPerGiB', DEFAULTS.completionTimeoutPerGiB) * MILLI,
    maxDowntimeMs: wholeNumber(raw, 'MaxDowntimeMs', DEFAULTS.maxDowntimeMs),
    isUnsafe: raw.UnsafeMigration === true,
    autoConverge: raw.AllowAutoConverge === true,
    postCopy: raw.AllowPostCopy === true,
    mayDisrupt: raw.AllowWorkloadDisruption === true,
    ...(threads === undefined ? {} : { threads }),
    ...compressionOf(raw, threads !== undefined),
    ...(stall ? { stall: stallLimits(stall) } : {}),
    ...(downtime ? { downtime: downtimeSteps(downtime) } : {}),
  };
}
