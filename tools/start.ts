// `npm start`: the demo. A cluster, KubeVirt on it, one VirtualMachine, its login prompt; then, unless told otherwise, it waits
// for Ctrl-C and takes away what it made. Only argv, signals and the exit code live here.
import { messageOf } from '../src/base/errors.js';
import { clusterConfig } from '../test/cluster/config.js';
import { down } from '../test/cluster/down.js';
import { type Log, timedLog } from '../test/cluster/progress.js';
import { type Found, look } from './demo/found.js';
import { type DemoOptions, parseOptions, USAGE } from './demo/options.js';
import { diagnose, instructions, play, takeAway } from './demo/run.js';
import { existingTarget, isLocalUp, localTarget, type Target } from './demo/target.js';
import { untilSignal } from './run/steps.js';

const say = (line: string) => console.log(line);

const HOUR_MS = 3_600_000;

function whenAborted(signal: AbortSignal): Promise<never> {
  // A signal handler alone does not keep the process alive.
  const awake = setInterval(() => undefined, HOUR_MS);
  return new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  }).finally(() => clearInterval(awake));
}

interface Session {
  readonly options: DemoOptions;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** The cluster was there before us, and stays. */
  readonly wasUp: boolean;
  target?: Target;
  /** What the cluster had before. */
  found?: Found;
}

async function demo(options: DemoOptions, log: Log, signal: AbortSignal): Promise<number> {
  const session: Session = { options, log, signal, wasUp: options.kubeconfig !== undefined || (await isLocalUp()) };
  const failure = await attempt(session);
  if (failure !== undefined && !signal.aborted) {
    if (session.target) say(await diagnose(session.target));
    say(`the demo failed: ${messageOf(failure)}`);
  }
  await leave(session);
  if (signal.aborted) return options.unattended ? 130 : 0;
  return failure === undefined ? 0 : 1;
}

async function attempt(session: Session): Promise<unknown> {
  const { options, log, signal, wasUp } = session;
  try {
    const opening = options.kubeconfig === undefined ? localTarget(log, wasUp) : existingTarget(options.kubeconfig);
    session.target = await Promise.race([opening, whenAborted(signal)]);
    session.found = await look(session.target.kubectl);
    await Promise.race([play({ target: session.target, found: session.found, log, signal }), whenAborted(signal)]);
    say(instructions(session.target));
    if (options.unattended || options.keep) return undefined;
    say('Ctrl-C ends the demo and takes away again what it added');
    return await whenAborted(signal);
  } catch (err) {
    return err;
  }
}

async function leave({ options, log, signal, wasUp, target, found }: Session): Promise<void> {
  if (options.keep && target && !signal.aborted) say('everything stays as it is (--keep)');
  else if (target && found) await takeAway({ target, found, log });
  // Ended before the cluster was up: whatever is half there goes as well.
  else if (!wasUp) await down(clusterConfig(process.env), log);
}

const options = parseOptions(process.argv.slice(2), process.stdin.isTTY === true);
if (options.help) {
  say(USAGE);
} else {
  const log = timedLog(say);
  // A build that was cut off may still run in the background: the exit ends it.
  process.exit(await demo(options, log, untilSignal(say)));
}
