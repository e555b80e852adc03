// `npm start`: the demo. A cluster, KubeVirt on it, one VirtualMachine, its login prompt; then, unless told otherwise, it waits
// for Ctrl-C and takes away what it made. Only argv, signals and the exit code live here.
import { messageOf } from '../src/base/errors.js';
import { clusterConfig } from '../test/cluster/config.js';
import { down } from '../test/cluster/down.js';
import { type Log, timedLog } from '../test/cluster/progress.js';
import { type DemoOptions, parseOptions, USAGE } from './demo/options.js';
import { diagnose, instructions, play, takeAway } from './demo/run.js';
import { existingTarget, isLocalUp, localTarget, type Target } from './demo/target.js';
import { untilSignal } from './run/steps.js';

const say = (line: string) => console.log(line);

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

async function demo(options: DemoOptions, log: Log, signal: AbortSignal): Promise<number> {
  let target: Target | undefined;
  let code = 0;
  const wasUp = options.kubeconfig !== undefined || (await isLocalUp());
  try {
    const opening = options.kubeconfig === undefined ? localTarget(log, wasUp) : existingTarget(options.kubeconfig);
    target = await Promise.race([opening, whenAborted(signal)]);
    await Promise.race([play(target, log, signal), whenAborted(signal)]);
    say(instructions(target));
    if (!options.unattended && !options.keep) {
      say('Ctrl-C ends the demo and takes everything away again');
      await whenAborted(signal);
    }
  } catch (err) {
    if (!signal.aborted) {
      code = 1;
      if (target) say(await diagnose(target));
      say(`the demo failed: ${messageOf(err)}`);
    }
  }
  if (options.keep && target && !signal.aborted) {
    say('everything stays as it is (--keep)');
    return code;
  }
  if (target) await takeAway(target, log);
  // Ended before the cluster was up: whatever is half there goes as well.
  else if (!wasUp) await down(clusterConfig(process.env), log);
  return signal.aborted && options.unattended ? 130 : code;
}

const options = parseOptions(process.argv.slice(2), process.stdin.isTTY === true);
if (options.help) {
  say(USAGE);
} else {
  const log = timedLog(say);
  // A build that was cut off may still run in the background: the exit ends it.
  process.exit(await demo(options, log, untilSignal(say)));
}
