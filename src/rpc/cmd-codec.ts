// The command service as one table: for each method its arguments and result in our words and how they travel.
// cmd-client.ts and cmd-server.ts are the two readings of this table.
import type { DomainReport } from '../api/domain-report.js';
import type { VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { asDomainReport } from './domain-report.js';
import type { CmdMethods, Response, VirtualMachineOptions, VMIRequest, VMStatsRequest, VMStatsResponse } from './generated/cmd-v1.js';
import type { Input } from './loader.js';

/** Cluster settings and node facts sent along with a VMI. */
export type VmiOptions = Input<VirtualMachineOptions>;

export interface ExecCommand {
  readonly domainName: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutSeconds: number;
}

export interface ExecOutcome {
  readonly exitCode: number;
  readonly stdOut: string;
}

export interface Screenshot {
  readonly mime: string;
  readonly data: Uint8Array;
}

type Vmi = VirtualMachineInstance;
type Command = (vmi: Vmi, options?: VmiOptions) => Promise<void>;
type JsonQuery = () => Promise<unknown>;

/** What a launcher can be asked: the client offers it, the server is given it. A failure is a KvError on both sides. */
export interface CmdApi {
  syncVirtualMachine: Command;
  pauseVirtualMachine: Command;
  unpauseVirtualMachine: Command;
  freezeVirtualMachine(vmi: Vmi, unfreezeTimeoutSeconds: number): Promise<void>;
  unfreezeVirtualMachine: Command;
  resetVirtualMachine: Command;
  softRebootVirtualMachine: Command;
  shutdownVirtualMachine: Command;
  killVirtualMachine: Command;
  deleteVirtualMachine: Command;
  migrateVirtualMachine(vmi: Vmi, options: unknown): Promise<void>;
  syncMigrationTarget: Command;
  cancelVirtualMachineMigration: Command;
  signalTargetPodCleanup: Command;
  finalizeVirtualMachineMigration: Command;
  hotplugHostDevices: Command;
  syncVirtualMachineCPUs: Command;
  syncVirtualMachineMemory: Command;
  /** undefined = no domain is defined. */
  getDomain(): Promise<DomainReport | undefined>;
  getDomainStats: JsonQuery;
  getGuestInfo: JsonQuery;
  getUsers: JsonQuery;
  getFilesystems: JsonQuery;
  getQemuVersion(): Promise<string>;
  getDomainDirtyRateStats(): Promise<number>;
  getScreenshot(vmi: Vmi): Promise<Screenshot>;
  getVMStats(wanted: Input<VMStatsRequest>): Promise<Input<VMStatsResponse>>;
  ping(): Promise<void>;
  exec(command: ExecCommand): Promise<ExecOutcome>;
  guestPing(domainName: string, timeoutSeconds: number): Promise<void>;
  virtualMachineMemoryDump(vmi: Vmi, dumpPath: string): Promise<void>;
  backupVirtualMachine(vmi: Vmi, options: unknown): Promise<void>;
  /** Resolves to true when the checkpoint no longer fits the disk. */
  redefineCheckpoint(vmi: Vmi, checkpoint: unknown): Promise<boolean>;
  getSEVInfo: JsonQuery;
  getLaunchMeasurement(vmi: Vmi): Promise<unknown>;
  injectLaunchSecret(vmi: Vmi, options: unknown): Promise<void>;
}

type ArgsOf<K extends keyof CmdApi> = Parameters<CmdApi[K]>;
type ResultOf<K extends keyof CmdApi> = Awaited<ReturnType<CmdApi[K]>>;
type Rpc<K extends keyof CmdApi> = CmdMethods[Capitalize<K> & keyof CmdMethods];

export interface Codec<Args extends unknown[], Result, Req, Res> {
  readonly deadlineMs: number | ((...args: Args) => number);
  request(...args: Args): Input<Req>;
  args(request: Req): Args;
  answer(result: Result): Input<Res>;
  result(answer: Res): Result;
  /** Where success and message sit in the answer. */
  readonly statusAt: 'top' | 'response';
}

type CodecTable = { [K in keyof CmdApi]: Codec<ArgsOf<K>, ResultOf<K>, Rpc<K>['request'], Rpc<K>['response']> };

const SHORT_MS = 5_000;
const DEFAULT_MS = 20_000;
// Preparing disks and the first contact of libvirt with QEMU take seconds on a loaded node.
const SYNC_MS = 120_000;
const LONG_MS = 60_000;

const toBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

function parseJson(raw: Buffer | string, what: string): unknown {
  try {
    return JSON.parse(raw.toString());
  } catch (err) {
    throw new KvError('Invalid', `the ${what} in the message is not JSON; the peer runs another version`, { cause: err });
  }
}

const sendVmi = (vmi: Vmi): { vmiJson: Uint8Array } => ({ vmiJson: toBytes(vmi) });
const readVmi = (vmi: { vmiJson: Buffer } | null): Vmi => parseJson(vmi?.vmiJson ?? '', 'VirtualMachineInstance') as Vmi;

const SUCCESS: Input<Response> = { success: true };
const done = { answer: (): Input<Response> => SUCCESS, result: (): void => undefined, statusAt: 'top' } as const;

function command(deadlineMs = DEFAULT_MS): Codec<[Vmi, VmiOptions?], void, VMIRequest, Response> {
  return {
    deadlineMs,
    request: (vmi, options) => ({ vmi: sendVmi(vmi), ...(options ? { options } : {}) }),
    args: ({ vmi, options }) => (options ? [readVmi(vmi), options] : [readVmi(vmi)]),
    ...done,
  };
}

type JsonAnswer<F extends string> = { response: Response | null } & Record<F, string>;

function jsonQuery<F extends string>(field: F, deadlineMs = DEFAULT_MS): Codec<[], unknown, Record<string, never>, JsonAnswer<F>> {
  return {
    deadlineMs,
    request: () => ({}),
    args: () => [],
    answer: (value) => ({ response: SUCCESS, [field]: JSON.stringify(value) }) as Input<JsonAnswer<F>>,
    result: (answer) => (answer[field] === '' ? undefined : parseJson(answer[field], field)),
    statusAt: 'response',
  };
}

const vmiOnly = {
  request: (vmi: Vmi): Input<VMIRequest> => ({ vmi: sendVmi(vmi) }),
  args: ({ vmi }: VMIRequest): [Vmi] => [readVmi(vmi)],
};

/** VMI plus a JSON document in the field `options`. */
const vmiWithJson = {
  request: (vmi: Vmi, options: unknown) => ({ vmi: sendVmi(vmi), options: toBytes(options) }),
  args: (request: { vmi: { vmiJson: Buffer } | null; options: Buffer }): [Vmi, unknown] => [
    readVmi(request.vmi),
    parseJson(request.options, 'options'),
  ],
};

const noArgs = { request: () => ({}), args: (): [] => [] };

export const CMD_CODECS: CodecTable = {
  syncVirtualMachine: command(SYNC_MS),
  pauseVirtualMachine: command(),
  unpauseVirtualMachine: command(),
  // A thaw waits for every file system of the guest.
  unfreezeVirtualMachine: command(LONG_MS),
  resetVirtualMachine: command(),
  softRebootVirtualMachine: command(),
  shutdownVirtualMachine: command(),
  killVirtualMachine: command(),
  deleteVirtualMachine: command(),
  syncMigrationTarget: command(SYNC_MS),
  cancelVirtualMachineMigration: command(),
  signalTargetPodCleanup: command(SHORT_MS),
  finalizeVirtualMachineMigration: command(),
  hotplugHostDevices: command(LONG_MS),
  syncVirtualMachineCPUs: command(LONG_MS),
  syncVirtualMachineMemory: command(LONG_MS),
  freezeVirtualMachine: {
    deadlineMs: LONG_MS,
    request: (vmi, unfreezeTimeoutSeconds) => ({ vmi: sendVmi(vmi), unfreezeTimeoutSeconds }),
    args: ({ vmi, unfreezeTimeoutSeconds }) => [readVmi(vmi), unfreezeTimeoutSeconds],
    ...done,
  },
  migrateVirtualMachine: { deadlineMs: DEFAULT_MS, ...vmiWithJson, ...done },
  backupVirtualMachine: { deadlineMs: DEFAULT_MS, ...vmiWithJson, ...done },
  injectLaunchSecret: { deadlineMs: DEFAULT_MS, ...vmiWithJson, ...done },
  virtualMachineMemoryDump: {
    deadlineMs: DEFAULT_MS,
    request: (vmi, dumpPath) => ({ vmi: sendVmi(vmi), dumpPath }),
    args: ({ vmi, dumpPath }) => [readVmi(vmi), dumpPath],
    ...done,
  },
  ping: { deadlineMs: SHORT_MS, ...noArgs, ...done },
  getDomain: {
    deadlineMs: SHORT_MS,
    ...noArgs,
    answer: (report) => ({ response: SUCCESS, domain: report ? JSON.stringify(report) : '' }),
    result: ({ domain }) => (domain === '' ? undefined : asDomainReport(parseJson(domain, 'domain'))),
    statusAt: 'response',
  },
  getDomainStats: jsonQuery('domainStats'),
  getGuestInfo: jsonQuery('guestInfoResponse'),
  getUsers: jsonQuery('guestUserListResponse'),
  getFilesystems: jsonQuery('guestFilesystemsResponse'),
  getQemuVersion: {
    deadlineMs: SHORT_MS,
    ...noArgs,
    answer: (version) => ({ response: SUCCESS, version }),
    result: ({ version }) => version,
    statusAt: 'response',
  },
  getDomainDirtyRateStats: {
    deadlineMs: DEFAULT_MS,
    ...noArgs,
    answer: (dirtyRateMbs) => ({ response: SUCCESS, dirtyRateMbs }),
    result: ({ dirtyRateMbs }) => dirtyRateMbs,
    statusAt: 'response',
  },
  getScreenshot: {
    deadlineMs: DEFAULT_MS,
    ...vmiOnly,
    answer: ({ mime, data }) => ({ response: SUCCESS, mime, data }),
    result: ({ mime, data }) => ({ mime, data }),
    statusAt: 'response',
  },
  getVMStats: {
    deadlineMs: DEFAULT_MS,
    request: (wanted) => wanted,
    args: (request) => [request as Input<VMStatsRequest>],
    answer: (stats) => ({ ...stats, response: SUCCESS }),
    result: (stats) => stats as Input<VMStatsResponse>,
    statusAt: 'response',
  },
  exec: {
    deadlineMs: ({ timeoutSeconds }) => (timeoutSeconds + 5) * 1000,
    request: ({ command, args, ...rest }) => ({ ...rest, Command: command, Args: [...args] }),
    args: ({ Command, Args, domainName, timeoutSeconds }) => [{ domainName, timeoutSeconds, command: Command, args: Args }],
    answer: ({ exitCode, stdOut }) => ({ response: SUCCESS, exitCode, stdOut }),
    result: ({ exitCode, stdOut }) => ({ exitCode, stdOut }),
    statusAt: 'response',
  },
  guestPing: {
    deadlineMs: (_, timeoutSeconds) => (timeoutSeconds + 5) * 1000,
    request: (domainName, timeoutSeconds) => ({ domainName, timeoutSeconds }),
    args: ({ domainName, timeoutSeconds }) => [domainName, timeoutSeconds],
    answer: () => ({ response: SUCCESS }),
    result: () => undefined,
    statusAt: 'response',
  },
  redefineCheckpoint: {
    deadlineMs: DEFAULT_MS,
    request: (vmi, checkpoint) => ({ vmi: sendVmi(vmi), checkpoint: toBytes(checkpoint) }),
    args: ({ vmi, checkpoint }) => [readVmi(vmi), parseJson(checkpoint, 'checkpoint')],
    answer: (checkpointInvalid) => ({ response: SUCCESS, checkpointInvalid }),
    result: ({ checkpointInvalid }) => checkpointInvalid,
    statusAt: 'response',
  },
  getSEVInfo: {
    deadlineMs: DEFAULT_MS,
    ...noArgs,
    answer: (info) => ({ response: SUCCESS, sevInfo: toBytes(info) }),
    result: ({ sevInfo }) => parseJson(sevInfo, 'SEV info'),
    statusAt: 'response',
  },
  getLaunchMeasurement: {
    deadlineMs: DEFAULT_MS,
    ...vmiOnly,
    answer: (measurement) => ({ response: SUCCESS, launchMeasurement: toBytes(measurement) }),
    result: ({ launchMeasurement }) => parseJson(launchMeasurement, 'launch measurement'),
    statusAt: 'response',
  },
};

/** 'syncVirtualMachine' → 'SyncVirtualMachine', the name in cmd.proto. */
export const rpcName = (key: keyof CmdApi): string => `${key.charAt(0).toUpperCase()}${key.slice(1)}`;
