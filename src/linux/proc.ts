// Facts about processes, read from /proc. A pid alone is not an identity (pids are reused): keep it together with the start
// time and check both before entering the process's namespaces. The root of /proc is a parameter for tests.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ProcessRef {
  readonly pid: number;
  /** Clock ticks after boot; with the pid it names one process for good. */
  readonly startTime: string;
}

export const PROC = '/proc';

/** undefined when there is no such process. */
export async function readProcess(pid: number, proc = PROC): Promise<ProcessRef | undefined> {
  const stat = await readOptional(join(proc, String(pid), 'stat'));
  const fields = stat === undefined ? undefined : statFields(stat);
  const startTime = fields?.[19];
  // A zombie has ended; its namespaces are gone.
  return startTime === undefined || fields?.[0] === 'Z' ? undefined : { pid, startTime };
}

/** True while the very process that `ref` was made from runs. */
export async function isSameProcess(ref: ProcessRef, proc = PROC): Promise<boolean> {
  return (await readProcess(ref.pid, proc))?.startTime === ref.startTime;
}

/** Fields after the command name, which may itself hold blanks and brackets: [state, ppid, …]; start time is the 20th. */
function statFields(stat: string): string[] {
  return stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(' ');
}

export async function listPids(proc = PROC): Promise<number[]> {
  const names = await readdir(proc);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** The command line of a process; empty when it has none or is gone. */
export async function readCommandLine(pid: number, proc = PROC): Promise<readonly string[]> {
  const text = await readOptional(join(proc, String(pid), 'cmdline'));
  return text === undefined || text === '' ? [] : text.replace(/\0$/, '').split('\0');
}

/** A /proc file's text; undefined when the process went away meanwhile. */
export async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (err) {
    const code = (err as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR') return undefined;
    throw err;
  }
}

/** The SELinux label of a process; 'none' where SELinux does not rule. */
export async function readSelinuxContext(pid: number, proc = PROC): Promise<string> {
  try {
    const label = ((await readOptional(join(proc, String(pid), 'attr/current'))) ?? '').replace(/\0/g, '').trim();
    return label.split(':').length >= 4 ? label : 'none';
  } catch {
    // Without any security module the kernel refuses the read.
    return 'none';
  }
}
