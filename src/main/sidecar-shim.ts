// sidecar-shim: in the launcher pod, beside the launcher, where a VMI brings a script as hook. Lives until the guest is over, in little memory: it
// loads neither gRPC nor a logger. Exit code 0 when it was told to end, 1 when it cannot serve, 2 for a wrong command line.
import { randomBytes } from 'node:crypto';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import type { LogFields, Logger } from '../base/logger.js';
import { parseShim, runShim } from '../launcher/tools/sidecar-shim.js';
import { run } from '../linux/exec.js';
import type { HookVersion } from '../rpc/light/hooks.js';
import { endTool } from './tool.js';

const NAME = 'sidecar-shim';
const DIRECTORY = '/var/run/kubevirt-hooks';
/** The launcher gets its answer before the socket is closed. */
const ANSWER_MS = 100;

const say = (fields: LogFields, msg: string): void => {
  process.stderr.write(`${JSON.stringify({ component: NAME, msg, ...fields })}\n`);
};
const LOG: Logger = { debug: () => undefined, info: say, warn: say, error: say, fatal: say, child: () => LOG };

async function serve(version: HookVersion): Promise<void> {
  const stop = new AbortController();
  const { promise: told, resolve: end } = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'] as const) process.on(signal, () => end());
  // The socket of one that was here before stays behind.
  const socketPath = `${DIRECTORY}/shim-${randomBytes(4).toString('hex')}.sock`;
  const ctx = makeCtx(stop.signal, LOG, systemClock);
  const server = await runShim(
    { ctx, run, path: process.env.PATH ?? '/usr/bin:/bin', socketPath, ended: () => setTimeout(end, ANSWER_MS) },
    version,
  );
  await told;
  stop.abort();
  await server.close();
}

const parsed = parseShim(process.argv.slice(2));
if (!parsed.ok) endTool(NAME, { exitCode: 2, stderr: parsed.error });
else serve(parsed.value).catch((err: unknown) => endTool(NAME, { exitCode: 1, stderr: messageOf(err) }));
