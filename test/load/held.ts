// What this process holds when its garbage is collected. For load tests that look for leaks.
import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What the process holds after a garbage collection. */
export interface Held {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly descriptors: number;
}

/** Calls the garbage collector. */
export function collect(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

export function held(gc = collect()): Held {
  gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rssBytes: rss, heapBytes: heapUsed + external, descriptors: readdirSync('/proc/self/fd').length };
}
