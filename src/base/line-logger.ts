// The same log lines as logger.ts without its library, for processes of which there is one a VM: a fifth of a launcher's own code was that
// library. Used by src/main/virt-launcher.ts. Writes at once and never throws: a log that cannot be written is no reason to end a guest.
import { writeSync } from 'node:fs';
import type { LogFields, Logger } from './logger.js';

type Write = (line: string) => void;

const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
type Level = (typeof LEVELS)[number];

const STDOUT = 1;
/** A reader that is slow gets this long, in steps; then the line is lost. */
const PATIENCE = { tries: 100, stepMs: 10 } as const;

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Writes to standard output; lines stay whole however slowly it is read. */
export function writeLine(line: string, write: (bytes: Uint8Array) => number = (bytes) => writeSync(STDOUT, bytes)): void {
  let rest: Uint8Array = Buffer.from(line);
  for (let tries = 0; rest.length > 0 && tries < PATIENCE.tries; ) {
    try {
      rest = rest.subarray(write(rest));
    } catch (err) {
      // Nobody reads any more, or the file system is full: there is no place left to say so.
      if ((err as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      tries += 1;
      pause(PATIENCE.stepMs);
    }
  }
}

const causesOf = (err: Error): Error[] => (err.cause instanceof Error ? [err, ...causesOf(err.cause)] : [err]);

function describeError(err: Error): object {
  const chain = causesOf(err);
  return {
    ...err,
    type: err.name,
    message: chain.map(({ message }) => message).join(': '),
    stack: chain.map(({ stack }) => stack ?? '').join('\ncaused by: '),
  };
}

const asJson = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

function render(fields: object): string {
  try {
    return JSON.stringify(fields, asJson);
  } catch (err) {
    // A circle among the details: the line without them is worth more than none.
    const plain = Object.entries(fields).filter(([, value]) => typeof value !== 'object');
    return JSON.stringify({ ...Object.fromEntries(plain), unreadable: String(err) }, asJson);
  }
}

function lineOf(level: Level, bound: LogFields, { err, ...fields }: LogFields, msg: string): string {
  const error = err === undefined ? {} : { err: err instanceof Error ? describeError(err) : err };
  return `${render({ level, time: new Date().toISOString(), ...bound, ...error, ...fields, msg })}\n`;
}

function build(bound: LogFields, least: number, write: Write): Logger {
  const at = (level: Level, index: number) =>
    index < least ? () => undefined : (fields: LogFields, message: string) => write(lineOf(level, bound, fields, message));
  const methods = Object.fromEntries(LEVELS.map((level, index) => [level, at(level, index)])) as Record<Level, Logger['info']>;
  return { ...methods, child: (fields) => build({ ...bound, ...fields }, least, write) };
}

/** As createLogger() of logger.ts. */
export function createLineLogger(component: string, verbosity = 2, write: Write = writeLine): Logger {
  return build({ component }, verbosity > 2 ? 0 : 1, write);
}
