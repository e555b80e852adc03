// A profile of this very process, for the three paths under which components are asked for one: where its time goes, and who allocates. Off
// costs nothing: the inspector is loaded with the first start. A profile that nobody ends is ended after a while.
import type { Session } from 'node:inspector/promises';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { empty, type Handler, json, text } from './messages.js';
import type { Route } from './server.js';

export interface Profiler {
  /** Begins anew if it runs. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** By file name; a profile under way is ended first. */
  dump(): Promise<Readonly<Record<string, Buffer>>>;
}

export interface ProfilerDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** What a forgotten profile may grow for. */
const LONGEST_MS = 10 * 60_000;
const HEAP_INTERVAL_BYTES = 128 * 1024;
const CPU_INTERVAL_US = 1000;

type Files = Readonly<Record<string, Buffer>>;

const fileOf = ({ profile }: { readonly profile: object }): Buffer => Buffer.from(JSON.stringify(profile));

async function begin(): Promise<Session> {
  const inspector = await import('node:inspector/promises');
  const session = new inspector.Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: CPU_INTERVAL_US });
    await session.post('Profiler.start');
    await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL_BYTES });
    return session;
  } catch (err) {
    session.disconnect();
    throw err;
  }
}

async function end(session: Session): Promise<Files> {
  try {
    const cpu = await session.post('Profiler.stop');
    const heap = await session.post('HeapProfiler.stopSampling');
    return { 'cpu.cpuprofile': fileOf(cpu), 'heap.heapprofile': fileOf(heap) };
  } finally {
    session.disconnect();
  }
}

export function createProfiler({ clock, log }: ProfilerDeps): Profiler {
  let running: { readonly session: Session; readonly cancel: () => void } | undefined;
  let last: Files = {};
  /** One step after the other, however the requests come. */
  let queue: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(step: () => Promise<T>): Promise<T> => {
    const result = queue.then(step);
    queue = result.catch(() => undefined); // who asked hears of it
    return result;
  };
  const finish = async (): Promise<void> => {
    if (!running) return;
    const { session, cancel } = running;
    running = undefined;
    cancel();
    last = await end(session);
  };
  const expire = (): void => {
    log.warn({ afterMs: LONGEST_MS }, 'Ending a profile that nobody ended');
    inTurn(finish).catch((err: unknown) => log.error({ err: messageOf(err) }, 'Cannot end a profile'));
  };
  return {
    start: () =>
      inTurn(async () => {
        await finish();
        last = {};
        running = { session: await begin(), cancel: clock.after(LONGEST_MS, expire) };
      }),
    stop: () => inTurn(finish),
    dump: () =>
      inTurn(async () => {
        await finish();
        return last;
      }),
  };
}

export interface ProfilerRoutesDeps extends ProfilerDeps {
  /** Asked at each request. */
  readonly isEnabled: () => boolean;
  /** For tests. */
  readonly profiler?: Profiler;
}

export const profilerDisabled = (what: string): string => `Unable to ${what}. "ClusterProfiler" feature gate must be enabled`;

/** To be served beside the metrics; like those, to anybody who reaches the port. */
export function profilerRoutes({ isEnabled, profiler, ...deps }: ProfilerRoutesDeps): Route[] {
  const subject = profiler ?? createProfiler(deps);
  const guarded = (what: string, verb: string, run: () => ReturnType<Handler>): Handler => {
    return async () => {
      if (!isEnabled()) return text(403, profilerDisabled(what));
      try {
        return await run();
      } catch (err) {
        return text(500, `could not ${verb} internal profiling: ${messageOf(err)}`);
      }
    };
  };
  return [
    { method: 'GET', path: '/start-profiler', handler: guarded('start profiler', 'start', () => subject.start().then(() => empty(200))) },
    { method: 'GET', path: '/stop-profiler', handler: guarded('stop profiler', 'stop', () => subject.stop().then(() => empty(200))) },
    {
      method: 'GET',
      path: '/dump-profiler',
      handler: guarded('retrieve profiler data', 'dump', async () => {
        const files = Object.entries(await subject.dump());
        return json(200, { pprofData: Object.fromEntries(files.map(([name, data]) => [name, data.toString('base64')])) });
      }),
    },
  ];
}
