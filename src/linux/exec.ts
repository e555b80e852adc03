// Runs one command and returns what it printed. Every other file of this room and the launcher go through here, so that
// a failing tool always says which command failed and why. Never runs a shell; never inherits stdin.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Ctx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { atStep } from '../base/steps.js';

export interface ExecOptions {
  /** Written to the command's stdin; without it stdin is /dev/null. */
  readonly input?: string;
  /** Killed (SIGKILL) after this long; default 30 s. */
  readonly timeoutMs?: number;
  /** For programs that are not ours: whatever they started is killed with them. */
  readonly killsAll?: boolean;
}

export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** A process that the kernel holds (a file server that is away) does not end when it is killed; its caller goes on. */
const STUCK_MS = 2_000;
/** A tool that prints more than this is not one of ours. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The signature of `run`, for code that takes it as a dependency. */
export type Run = (ctx: Ctx, file: string, args: readonly string[], options?: ExecOptions) => Promise<ExecResult>;

/** Runs `file` with `args`; a KvError when it cannot start, fails, takes too long or the context ends. */
export async function run(ctx: Ctx, file: string, args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const command = commandLine(file, args);
  atStep(`running ${file}`);
  if (ctx.signal.aborted) throw new KvError('Timeout', `did not run '${command}': the process is stopping`);
  const timeout = AbortSignal.timeout(timeoutMs);
  const ended = await start(file, args, options, AbortSignal.any([ctx.signal, timeout])).catch((err: unknown) => {
    throw new KvError('Internal', `cannot run '${command}': is ${file} installed?`, { cause: err });
  });
  if (ended.code === 0) return { stdout: ended.stdout, stderr: ended.stderr };
  if (timeout.aborted) throw new KvError('Timeout', `'${command}' did not finish within ${timeoutMs} ms`);
  if (ctx.signal.aborted) throw new KvError('Timeout', `'${command}' was stopped: the process is stopping`);
  throw new KvError('Internal', `'${command}' failed (${exitText(ended)}): ${lastLine(ended.stderr || ended.stdout)}`, {
    details: { exitCode: ended.code, stderr: ended.stderr.slice(-2000) },
  });
}

function start(file: string, args: readonly string[], { input, killsAll = false }: ExecOptions, signal: AbortSignal): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'], detached: killsAll });
    const end = (code: number | null, killedBy: NodeJS.Signals | null): void => {
      signal.removeEventListener('abort', kill);
      clearTimeout(givenUp);
      resolve({ code, signal: killedBy, stdout: out(), stderr: err() });
    };
    let givenUp: NodeJS.Timeout | undefined;
    const kill = (): void => {
      killTree(child, killsAll);
      givenUp ??= setTimeout(() => end(null, 'SIGKILL'), STUCK_MS);
    };
    signal.addEventListener('abort', kill, { once: true });
    const out = collect(child.stdout, kill);
    const err = collect(child.stderr, kill);
    child.once('error', (cause) => {
      signal.removeEventListener('abort', kill);
      reject(cause);
    });
    child.once('close', end);
    // A tool that exits without reading its input breaks the pipe; its exit code tells the story.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** What it started may go on, and keeps the pipes open: nobody waits for their end any more. */
function killTree(child: ChildProcess, killsAll: boolean): void {
  if (!killsAll || child.pid === undefined) child.kill('SIGKILL');
  else killGroup(child.pid);
  child.stdout?.destroy();
  child.stderr?.destroy();
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (err) {
    // All of it has ended by itself.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

function collect(stream: NodeJS.ReadableStream | null, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_OUTPUT_BYTES) return tooMuch();
    chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

/** The command as a person would type it (long ones cut), for messages. */
export function commandLine(file: string, args: readonly string[]): string {
  const text = [file, ...args].join(' ');
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function exitText(ended: Ended): string {
  return ended.code === null ? `killed by ${ended.signal ?? 'an unknown signal'}` : `exit code ${ended.code}`;
}

/** The last line that says something: tools put the reason at the end. */
export function lastLine(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1)?.trim() ?? 'no output';
}
