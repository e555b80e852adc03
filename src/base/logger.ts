// JSON logs for the people who run the system. Message constant, variables as keys, written before the act.
// What a user needs to know is a condition or an event, not a log line.
import { type Logger as PinoLogger, pino } from 'pino';

/** The keys a log line may carry; a fixed set keeps logs searchable. */
export interface LogFields {
  component?: string;
  controller?: string;
  reconcileId?: string;
  kind?: string;
  namespace?: string | undefined;
  name?: string | undefined;
  uid?: string | undefined;
  node?: string | undefined;
  err?: unknown;
  [detail: string]: unknown;
}

export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  fatal(fields: LogFields, message: string): void;
  child(fields: LogFields): Logger;
}

/** `verbosity` is KubeVirt's scale: 2 is normal, above that debug. */
export function createLogger(component: string, verbosity = 2): Logger {
  const root: PinoLogger = pino({
    level: verbosity > 2 ? 'debug' : 'info',
    base: { component },
    messageKey: 'msg',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
  return root as unknown as Logger;
}

/** Drops everything; for tests and tools. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  child: () => silentLogger,
};
