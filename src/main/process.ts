// What every process does around its own work: flags, logger, signals, and the one place that ends the process.
// A failure that nobody caught is logged and ends the process with code 1; a wrong flag with 2; a signal stops it in order.
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../base/clock.js';
import { type Ctx, makeCtx } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import { createLogger, type Logger } from '../base/logger.js';

export interface FlagSpec {
  readonly type: 'string' | 'boolean' | 'number';
  readonly default?: string | boolean | number;
  readonly short?: string;
}

export type Flags<S extends Record<string, FlagSpec>> = {
  readonly [K in keyof S]: S[K]['type'] extends 'number'
    ? S[K] extends { default: number }
      ? number
      : number | undefined
    : S[K]['type'] extends 'boolean'
      ? boolean
      : S[K] extends { default: string }
        ? string
        : string | undefined;
};

function usage(name: string, message: string): never {
  process.stderr.write(`${name}: ${message}\n`);
  process.exit(2);
}

function numberOf(name: string, flag: string, value: unknown): number {
  const number = Number(value);
  return value === '' || Number.isNaN(number) ? usage(name, `--${flag} needs a number, got ${JSON.stringify(value)}`) : number;
}

/** Parses argv once into a frozen object; an unknown flag ends the process with code 2. Values may also be written `--flag value`. */
export function parseFlags<S extends Record<string, FlagSpec>>(
  name: string,
  spec: S,
  argv: readonly string[] = process.argv.slice(2),
): Flags<S> {
  const options = Object.fromEntries(
    Object.entries(spec).map(([flag, { type, short }]) => [
      flag,
      { type: type === 'boolean' ? ('boolean' as const) : ('string' as const), ...(short ? { short } : {}) },
    ]),
  );
  let values: Record<string, unknown> = {};
  try {
    values = parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values;
  } catch (err) {
    usage(name, messageOf(err));
  }
  const entries = Object.entries(spec).map(([flag, { type, default: fallback }]) => {
    const value = values[flag] ?? fallback ?? (type === 'boolean' ? false : undefined);
    return [flag, type === 'number' && value !== undefined ? numberOf(name, flag, value) : value];
  });
  return Object.freeze(Object.fromEntries(entries)) as Flags<S>;
}

export interface ProcessContext extends Ctx {
  readonly name: string;
  readonly host: string;
  /** Asks the process to stop in order, as a signal would. */
  stop(): void;
}

/** A folder for files that live no longer than the process, such as keys that it made itself. */
export function temporaryFolder(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), `${name}-`));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Runs `work` until it returns, fails or a signal comes; then the process ends. `work` must return soon after ctx.signal aborts. */
export function runProcess(name: string, verbosity: number, work: (ctx: ProcessContext) => Promise<void>): void {
  const log = createLogger(name, verbosity);
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.on('unhandledRejection', (err) => die(log, err));
  process.on('uncaughtException', (err) => die(log, err));
  const ctx: ProcessContext = { ...makeCtx(abort.signal, log, systemClock), name, host: hostname(), stop };
  work(ctx).then(
    () => process.exit(0),
    (err: unknown) => die(log, err),
  );
}

function die(log: Logger, err: unknown): never {
  log.fatal({ err }, 'Process failed');
  // The last line of stderr is what `kubectl describe pod` shows.
  process.stderr.write(`${messageOf(err)}\n`);
  process.exit(1);
}
