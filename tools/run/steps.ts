// Steps of the tools: a name, what it does, how long it took, and how many tests passed. Prints plain lines; the output of a
// quiet step only when it fails. Knows nothing of what the steps are.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../src/base/errors.js';
import { seconds } from '../../test/cluster/progress.js';
import { type Counts, ONE_FAILED, ONE_PASSED } from './counts.js';

export const ROOT = join(fileURLToPath(import.meta.url), '..', '..', '..');

/** The packages' programs, and with them the project's own Node for their first lines. */
const PATH = `${join(ROOT, 'node_modules', '.bin')}:${process.env.PATH}`;

export interface StepContext {
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

export interface Step {
  readonly name: string;
  readonly run: (context: StepContext) => Promise<Counts>;
}

export interface StepResult {
  readonly name: string;
  readonly ms: number;
  readonly counts: Counts;
}

/** A step that throws is one failure with the error's message. */
export async function runStep(step: Step, context: StepContext): Promise<StepResult> {
  const start = Date.now();
  let counts: Counts;
  try {
    counts = await step.run(context);
  } catch (err) {
    context.say(`${step.name}: ${messageOf(err)}`);
    counts = ONE_FAILED;
  }
  const ms = Date.now() - start;
  context.say(describe({ name: step.name, ms, counts }));
  return { name: step.name, ms, counts };
}

export function describe({ name, ms, counts }: StepResult): string {
  const verdict = counts.failed > 0 ? 'FAILED ' : counts.passed > 0 ? 'ok     ' : 'skipped';
  const tests = counts.passed + counts.failed + counts.skipped;
  const detail = tests > 1 ? ` (${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped)` : '';
  return `${verdict} ${seconds(ms).padStart(6)} ${name}${detail}`;
}

export interface Command {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Shows the output as it comes instead of only after a failure. */
  readonly live?: boolean;
}

export interface Finished {
  readonly code: number | null;
  readonly output: string;
}

/** Runs to the end or until the signal; TERM, then KILL after ten seconds. Never rejects for an exit code. */
export function runCommand({ command, env, live }: Command, signal: AbortSignal): Promise<Finished> {
  const [file = '', ...args] = command;
  return new Promise((resolve, reject) => {
    // A group of its own: Ctrl-C reaches us alone, and we end the whole group.
    const child = spawn(file, args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH, ...env },
      detached: true,
    });
    let output = '';
    const take = (data: Buffer) => {
      output += data.toString('utf8');
      if (live) process.stdout.write(data);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const end = () => {
      killGroup(child.pid, 'SIGTERM');
      setTimeout(() => killGroup(child.pid, 'SIGKILL'), 10_000).unref();
    };
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    child.once('error', (err) => reject(new Error(`cannot run ${file}`, { cause: err })));
    child.once('close', (code) => {
      signal.removeEventListener('abort', end);
      resolve({ code, output });
    });
  });
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (err) {
    // The group has ended already.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

/** A step that is one command: passed or failed by its exit code. */
export function commandStep(name: string, command: Command): Step {
  return {
    name,
    run: async ({ signal, say }) => {
      const { code, output } = await runCommand(command, signal);
      if (code === 0) return ONE_PASSED;
      if (!command.live) say(output.trimEnd());
      return ONE_FAILED;
    },
  };
}

/** An AbortSignal that fires on Ctrl-C and on a request to end; repeated ones change nothing, since npm sends each twice. */
export function untilSignal(say: (line: string) => void): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) return;
      say(`${name}: cleaning up`);
      controller.abort(new Error(`ended by ${name}`));
    });
  }
  return controller.signal;
}
