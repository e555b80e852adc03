// Runs one long command of the image build, lets the caller see its lines as they come, and ends it when the build is stopped.
// A failure carries the last lines: that is where these tools put the reason.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { KvError } from '../src/base/errors.js';

export interface StreamOptions {
  readonly onLine?: (line: string) => void;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 1_800_000;
const KEPT_LINES = 25;

/** Resolves with all of standard output. */
export function stream(command: readonly string[], options: StreamOptions = {}): Promise<string> {
  const [file = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
      timeout: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    });
    const tail: string[] = [];
    let stdout = '';
    const hear = (line: string): void => {
      tail.push(line);
      if (tail.length > KEPT_LINES) tail.shift();
      options.onLine?.(line);
    };
    createInterface({ input: child.stderr }).on('line', hear);
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
    });
    createInterface({ input: child.stdout }).on('line', hear);
    child.once('error', (cause) =>
      reject(new KvError('Internal', `cannot run ${file}: ${cause.message}; install its Debian package and try again`, { cause })),
    );
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(stdout);
      const how = code === null ? `was ended by ${signal}` : `failed with exit code ${code}`;
      reject(new KvError('Internal', `\`${command.join(' ')}\` ${how}; it said last:\n${tail.join('\n')}`));
    });
  });
}
