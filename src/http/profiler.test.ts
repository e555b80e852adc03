// A real profile of this process, and the three paths that ask for it.
import { describe, expect, it } from 'vitest';
import type { Clock } from '../base/clock.js';
import { silentLogger } from '../base/logger.js';
import type { HttpRequest, HttpResponse } from './messages.js';
import { createProfiler, type Profiler, profilerRoutes } from './profiler.js';

/** Time stands still; what waits is called by hand. */
function heldClock(): Clock & { readonly waiting: Set<() => void> } {
  const waiting = new Set<() => void>();
  return {
    waiting,
    now: () => 0,
    after(_ms, run) {
      waiting.add(run);
      return () => waiting.delete(run);
    },
  };
}

function busy(): number {
  let sum = 0;
  for (let i = 0; i < 3e6; i++) sum += Math.sqrt(i);
  return sum;
}

describe('createProfiler', () => {
  it('says where the time went and who allocates', async () => {
    const clock = heldClock();
    const profiler = createProfiler({ clock, log: silentLogger });
    await profiler.start();
    busy();
    const files = await profiler.dump();
    const cpu = JSON.parse(String(files['cpu.cpuprofile'])) as { nodes: { callFrame: { functionName: string } }[] };
    expect(cpu.nodes.map((node) => node.callFrame.functionName)).toContain('busy');
    expect(JSON.parse(String(files['heap.heapprofile']))).toHaveProperty('head');
    expect(clock.waiting.size).toBe(0);
    expect(await profiler.dump()).toEqual(files);
  });

  it('has nothing to tell before the first, and forgets it with the next', async () => {
    const profiler = createProfiler({ clock: heldClock(), log: silentLogger });
    expect(await profiler.dump()).toEqual({});
    await profiler.start();
    await profiler.start();
    await profiler.stop();
    await profiler.stop();
    expect(Object.keys(await profiler.dump())).toEqual(['cpu.cpuprofile', 'heap.heapprofile']);
  });

  it('ends one that nobody ends', async () => {
    const clock = heldClock();
    const profiler = createProfiler({ clock, log: silentLogger });
    await profiler.start();
    for (const run of clock.waiting) run();
    await profiler.stop();
    expect(clock.waiting.size).toBe(0);
    expect(Object.keys(await profiler.dump())).toHaveLength(2);
  });
});

const broken: Partial<Profiler> = { start: () => Promise.reject(new Error('no inspector')) };

describe('profilerRoutes', () => {
  const call = async (path: string, isEnabled: boolean, profiler: Partial<Profiler>): Promise<HttpResponse> => {
    const routes = profilerRoutes({ isEnabled: () => isEnabled, clock: heldClock(), log: silentLogger, profiler: profiler as Profiler });
    const route = routes.find((r) => r.path === path);
    return (await route?.handler({} as HttpRequest)) ?? { status: 404 };
  };

  it.each([
    ['/start-profiler', 'Unable to start profiler. "ClusterProfiler" feature gate must be enabled'],
    ['/stop-profiler', 'Unable to stop profiler. "ClusterProfiler" feature gate must be enabled'],
    ['/dump-profiler', 'Unable to retrieve profiler data. "ClusterProfiler" feature gate must be enabled'],
  ])('%s is refused unless it is enabled', async (path, body) => {
    expect(await call(path, false, {})).toMatchObject({ status: 403, body });
  });

  const rows: readonly (readonly [string, Partial<Profiler>, number, string])[] = [
    ['/start-profiler', { start: async () => undefined }, 200, ''],
    ['/stop-profiler', { stop: async () => undefined }, 200, ''],
    ['/dump-profiler', { dump: async () => ({ 'a.cpuprofile': Buffer.from('hi') }) }, 200, '{"pprofData":{"a.cpuprofile":"aGk="}}'],
    ['/start-profiler', broken, 500, 'could not start internal profiling: no inspector'],
  ];
  it.each(rows)('%s', async (path, profiler, status, body) => {
    const answer = await call(path, true, profiler);
    expect([answer.status, String(answer.body ?? '')]).toEqual([status, body]);
  });
});
