// Runs one short command of the cluster tool and turns a failure into a sentence with the command and its error output.
import { execFile } from 'node:child_process';
import { KvError } from '../../src/base/errors.js';

export interface RunOptions {
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly cwd?: string;
}

const MAX_OUTPUT = 64 * 1024 * 1024;

export function run(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const [file = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      args,
      { maxBuffer: MAX_OUTPUT, timeout: options.timeoutMs ?? 120_000, cwd: options.cwd, env: { ...process.env, ...options.env } },
      (err, stdout, stderr) => {
        if (!err) return resolve(stdout);
        const said = (stderr || stdout).trim() || err.message;
        reject(new KvError('Internal', `\`${command.join(' ')}\` failed: ${said}`, { cause: err, details: { code: err.code } }));
      },
    );
    child.stdin?.on('error', () => undefined); // a command that ends without reading its input: its exit code tells
    child.stdin?.end(options.input);
  });
}

/** Runs the command and reports only whether it worked: for steps that are right when there is nothing to do. */
export async function tryRun(command: readonly string[]): Promise<boolean> {
  try {
    await run(command);
    return true;
  } catch {
    // The caller asked only for yes or no.
    return false;
  }
}
