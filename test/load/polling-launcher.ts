// virt-launcher for a load test: the real one, whose clock jumps from timer to timer once the guest agent is there, so that a day of polling
// takes minutes. Prints what the process holds after each hour. The guest agent's channel leads to a socket of the test. Runs in the image's root
// in the place of src/main/virt-launcher.ts.
import { randomUUID } from 'node:crypto';
import koffi from 'koffi';
import { type Clock, systemClock } from '../../src/base/clock.js';
import { makeCtx } from '../../src/base/context.js';
import { messageOf } from '../../src/base/errors.js';
import { silentLogger } from '../../src/base/logger.js';
import { RECORDED_CAPABILITIES } from '../../src/launcher/capabilities-cache.js';
import { sessionLayout } from '../../src/launcher/daemon-config.js';
import { runLauncher } from '../../src/launcher/launcher.js';
import { parseLauncherOptions } from '../../src/launcher/options.js';
import { type Connection, createLibvirt, type Libvirt } from '../../src/libvirt/index.js';
import { run } from '../../src/linux/exec.js';
import { VirtualClock } from '../sim/virtual-clock.js';
import { AGENT_SOCKET_INSIDE, HOUR_MARK, type HourReport } from './agent-polling-words.js';
import { held } from './held.js';

const HOUR_MS = 3_600_000;

/** Counts C function pointers made of JavaScript functions: each one that is not given back is a leak. */
function countCallbacks(): () => number {
  const { register, unregister } = koffi;
  let count = 0;
  koffi.register = ((...args: Parameters<typeof register>) => {
    count += 1;
    return register(...args);
  }) as typeof register;
  koffi.unregister = ((callback: Parameters<typeof unregister>[0]) => {
    count -= 1;
    return unregister(callback);
  }) as typeof unregister;
  return () => count;
}

/** The real clock until `jump`, then one that stands still while libvirt is at work. */
class JumpingClock implements Clock {
  #virtual: VirtualClock | undefined;
  readonly #jumped = Promise.withResolvers<VirtualClock>();

  now = (): number => (this.#virtual ?? systemClock).now();
  after = (ms: number, fn: () => void): (() => void) => (this.#virtual ?? systemClock).after(ms, fn);

  jump(): void {
    if (this.#virtual) return;
    this.#virtual = new VirtualClock(systemClock.now());
    this.#jumped.resolve(this.#virtual);
  }

  hold<T>(work: Promise<T>): Promise<T> {
    return this.#virtual?.hold(work) ?? work;
  }

  get jumped(): Promise<VirtualClock> {
    return this.#jumped.promise;
  }
}

/** The channel of the guest agent as one that leads to the test's socket, which both QEMU and libvirt connect to. */
const withOurAgent = (xml: string): string =>
  xml.replace(/<target type="virtio" name="org.qemu.guest_agent.0"\/>/, (target) => {
    return `<source mode="connect" path="${AGENT_SOCKET_INSIDE}"/>${target}`;
  });

type Call = (...args: unknown[]) => unknown;

/** An object of src/libvirt, for the time of whose calls the clock stands still. `change` may put a call in another's place. */
function holding<T extends object>(target: T, clock: JumpingClock, change: Record<string, (call: Call) => Call> = {}): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const bound: Call = (...args) => (value as Call).apply(target, args);
      const call = change[String(key)]?.(bound) ?? bound;
      return (...args: unknown[]) => {
        const result = call(...args);
        if (!(result instanceof Promise)) return result;
        return clock.hold(result.then((found: unknown) => (isDomain(found) ? holding(found, clock) : found)));
      };
    },
  });
}

const isDomain = (found: unknown): found is object => typeof found === 'object' && found !== null && 'agentCommand' in found;

function libvirtOf(real: Libvirt, clock: JumpingClock): Libvirt {
  const connection = (conn: Connection): Connection =>
    holding(conn, clock, {
      defineDomain: (define) => (xml) => define(withOurAgent(String(xml))),
      subscribe: (subscribe) => (handler) =>
        subscribe((event: { kind: string; connected?: boolean }) => {
          if (event.kind === 'agent' && event.connected === true) clock.jump();
          (handler as Call)(event);
        }),
    });
  return { version: () => real.version(), open: (uri) => clock.hold(real.open(uri).then(connection)), shutdown: () => real.shutdown() };
}

async function hours(clock: JumpingClock, callbacks: () => number): Promise<void> {
  const virtual = await clock.jumped;
  for (let hour = 0; ; hour += 1) {
    const report: HourReport = { hour, ...held(), callbacks: callbacks(), resources: process.getActiveResourcesInfo().length };
    process.stdout.write(`${HOUR_MARK}${JSON.stringify(report)}\n`);
    await virtual.advance(HOUR_MS);
  }
}

const callbacks = countCallbacks();
const clock = new JumpingClock();
const parsed = parseLauncherOptions(process.argv.slice(2));
if (!parsed.ok) throw new Error(parsed.error);
hours(clock, callbacks).catch((err: unknown) => {
  process.stderr.write(`the clock stopped: ${messageOf(err)}\n`);
  process.exit(1);
});
const setup = {
  options: parsed.value,
  env: process.env,
  verbosity: 2,
  libvirt: libvirtOf(createLibvirt(silentLogger), clock),
  run,
  layout: sessionLayout('/var/run', '/var/run/kubevirt-private'),
  settings: { hostUuid: randomUUID(), logFilters: undefined, asRoot: false },
  recordedCapabilities: RECORDED_CAPABILITIES,
};
await runLauncher(makeCtx(new AbortController().signal, silentLogger, clock), setup, { terminate: new AbortController().signal });
