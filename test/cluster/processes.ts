// Starts the cluster's processes so that they outlive the command that started them, and ends them by their records.
// Output goes to one log file a component. Never looks processes up by name.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KvError } from '../../src/base/errors.js';
import type { ClusterConfig } from './config.js';
import { isAlive, type ProcessRecord, readRecord, recordOf, removeRecord, writeRecord } from './process-records.js';

export interface Daemon {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** True for commands that fork once (nsenter, unshare) and wait: their only child is the component. */
  readonly viaChild?: boolean;
}

const CHILD_POLLS = 500;
const POLL_MS = 10;

export function logFile(config: ClusterConfig, name: string): string {
  return join(config.logsDir, `${name}.log`);
}

/** The last lines of a component's log, for error messages. */
export function logTail(config: ClusterConfig, name: string, lines = 15): string {
  try {
    return readFileSync(logFile(config, name), 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    // The component wrote nothing yet.
    return '(no log)';
  }
}

export function isRunning(config: ClusterConfig, daemon: Daemon): boolean {
  const record = readRecord(config.pidsDir, daemon.name);
  return isAlive(record) && record.command.join('\0') === daemon.command.join('\0');
}

/** Takes a new process out of the caller's surroundings (its control group), so that it outlives them. */
export type Adopt = (pid: number) => void;

/** Starts the daemon unless it runs with this very command line; one with another command line is ended first. */
export async function ensureDaemon(config: ClusterConfig, daemon: Daemon, adopt: Adopt): Promise<ProcessRecord> {
  const present = readRecord(config.pidsDir, daemon.name);
  if (isAlive(present)) {
    if (isRunning(config, daemon)) return present;
    await stopProcess(present);
  }
  return await startDaemon(config, daemon, adopt);
}

async function startDaemon(config: ClusterConfig, daemon: Daemon, adopt: Adopt): Promise<ProcessRecord> {
  mkdirSync(config.logsDir, { recursive: true });
  const log = openSync(logFile(config, daemon.name), 'a');
  const [file = '', ...args] = daemon.command;
  const child = spawn(file, args, {
    detached: true,
    cwd: '/',
    stdio: ['ignore', log, log],
    // Not the caller's environment: a proxy setting in it would send the components' calls to each other astray.
    env: { PATH: process.env.PATH ?? '', HOME: '/root', ...daemon.env },
  });
  closeSync(log);
  const failure = await new Promise<Error | undefined>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(undefined));
  });
  if (failure || child.pid === undefined) {
    throw new KvError('Terminal', `cannot start ${daemon.name} (${file}); run \`npm run cluster -- up\` to install what it needs`, {
      cause: failure,
    });
  }
  child.unref();
  adopt(child.pid);
  // At once, so that a command killed in the next moment leaves nothing unknown behind.
  const started = recordOf(daemon.name, child.pid, daemon.command);
  if (started) writeRecord(config.pidsDir, started);
  const pid = daemon.viaChild ? await childOf(config, daemon, child.pid) : child.pid;
  const record = recordOf(daemon.name, pid, daemon.command);
  if (!record) throw ended(config, daemon.name);
  adopt(pid);
  writeRecord(config.pidsDir, record);
  return record;
}

async function childOf(config: ClusterConfig, daemon: Daemon, parent: number): Promise<number> {
  for (let poll = 0; poll < CHILD_POLLS; poll++) {
    const [first] = readChildren(parent) ?? [];
    if (first !== undefined) return first;
    if (readChildren(parent) === undefined) break;
    await sleep(POLL_MS);
  }
  throw ended(config, daemon.name);
}

function readChildren(pid: number): number[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    // The process is gone.
    return undefined;
  }
}

export function ended(config: ClusterConfig, name: string): KvError {
  return new KvError('Terminal', `${name} ended; the end of ${logFile(config, name)}:\n${logTail(config, name)}`);
}

/** TERM, then KILL after the grace time; returns when the process is gone. */
export async function stopProcess(record: ProcessRecord, graceMs = 3000): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', 10_000],
  ] as const) {
    if (waitMs === 0) continue;
    if (!isAlive(record)) return;
    signalProcess(record.pid, signal);
    for (let waited = 0; waited < waitMs && isAlive(record); waited += POLL_MS) await sleep(POLL_MS);
  }
  if (isAlive(record)) {
    throw new KvError(
      'Internal',
      `process ${record.pid} (${record.name}) survives SIGKILL; see /proc/${record.pid}/stack for what it waits for`,
    );
  }
}

export async function stopRecorded(config: ClusterConfig, name: string, graceMs?: number): Promise<void> {
  const record = readRecord(config.pidsDir, name);
  if (record) await stopProcess(record, graceMs);
  removeRecord(config.pidsDir, name);
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (err) {
    // Gone between the check and the signal: that is what was wanted.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}
