// Which processes belong to the cluster. A record holds a pid together with the process's start time and the machine's boot,
// so that a number that the kernel gave to somebody else meanwhile is never taken for ours, let alone killed.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ProcessRecord {
  readonly name: string;
  readonly pid: number;
  /** Field 22 of /proc/<pid>/stat: clock ticks after boot. */
  readonly startTime: string;
  readonly bootId: string;
  /** The command line it was started with; a change means that it must be started anew. */
  readonly command: readonly string[];
}

export interface ProcStat {
  readonly state: string;
  readonly parent: number;
  readonly startTime: string;
}

/** Parses /proc/<pid>/stat; the command's name is in brackets and may itself hold spaces and brackets. */
export function parseStat(text: string): ProcStat | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent] = fields;
  const startTime = fields[19];
  if (state === undefined || parent === undefined || startTime === undefined) return undefined;
  return { state, parent: Number(parent), startTime: startTime.trim() };
}

export function parseRecord(text: string): ProcessRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    // A record cut short by a crash says nothing: treat it as absent; `down` finds what is left by other means.
    return undefined;
  }
}

function isRecord(value: unknown): value is ProcessRecord {
  const record = value as Partial<ProcessRecord> | null;
  return (
    typeof record === 'object' &&
    record !== null &&
    typeof record.name === 'string' &&
    typeof record.pid === 'number' &&
    record.pid > 1 &&
    typeof record.startTime === 'string' &&
    typeof record.bootId === 'string' &&
    Array.isArray(record.command)
  );
}

/** True when the process that the record names is the one that now has the pid, and it is not a zombie. */
export function isSameProcess(record: ProcessRecord, bootId: string, stat: ProcStat | undefined): boolean {
  return stat !== undefined && stat.state !== 'Z' && stat.state !== 'X' && record.bootId === bootId && record.startTime === stat.startTime;
}

export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

export function readStat(pid: number): ProcStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // The process is gone.
    return undefined;
  }
}

export function isAlive(record: ProcessRecord | undefined): record is ProcessRecord {
  return record !== undefined && isSameProcess(record, readBootId(), readStat(record.pid));
}

export function recordOf(name: string, pid: number, command: readonly string[]): ProcessRecord | undefined {
  const stat = readStat(pid);
  return stat && { name, pid, startTime: stat.startTime, bootId: readBootId(), command };
}

export function writeRecord(dir: string, record: ProcessRecord): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, `${record.name}.json`), `${JSON.stringify(record)}\n`);
}

export function readRecord(dir: string, name: string): ProcessRecord | undefined {
  try {
    return parseRecord(readFileSync(join(dir, `${name}.json`), 'utf8'));
  } catch {
    // No such record: the component was never started, or `down` removed it.
    return undefined;
  }
}

export function readRecords(dir: string): ProcessRecord[] {
  return listRecords(dir).flatMap((name) => readRecord(dir, name) ?? []);
}

export function removeRecord(dir: string, name: string): void {
  rmSync(join(dir, `${name}.json`), { force: true });
}

/** Processes of this cluster without a record, told by paths that only its own have on their command lines. */
export function findUnrecorded(paths: readonly string[], commandLines: ReadonlyMap<number, readonly string[]>): number[] {
  const isOurs = (args: readonly string[]) => args.some((arg) => paths.some((path) => arg === path || arg.startsWith(`${path}/`)));
  return [...commandLines].flatMap(([pid, args]) => (isOurs(args) ? [pid] : []));
}

export function readCommandLines(): Map<number, string[]> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return new Map(pids.map((pid) => [Number(pid), readArgs(pid)]));
}

function readArgs(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // The process ended meanwhile.
    return [];
  }
}

function listRecords(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length));
  } catch {
    // No folder, no records.
    return [];
  }
}
