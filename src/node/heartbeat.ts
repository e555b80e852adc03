// Tells the cluster every minute or so that this node's agent lives and whether launchers may be scheduled here: not before the kubelet knows
// the device plugins, not once the agent stops. virt-controller gives a node up whose annotation grows older than five minutes.
import { readFile } from 'node:fs/promises';
import { ANNOTATION, LABEL } from '../api/labels.js';
import { metaTime, sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import { NODES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';

export interface HeartbeatOptions {
  readonly client: Pick<KubeClient, 'strategicPatch'>;
  readonly node: string;
  readonly isReady: () => boolean;
  /** Gate CPUManager. */
  readonly wantsCpuManager: () => boolean;
  /** The kubelet's state file. */
  readonly cpuManagerFile: string;
  readonly intervalMs?: number;
  /** Returns [0, 1). */
  readonly random?: () => number;
}

const INTERVAL_MS = 60_000;
/** The longest pause between two beats is this many intervals: nodes of a cluster must not beat in step. */
const JITTER = 1.2;
const FIRST_WAIT_MS = 10_000;
const LOOK_MS = 1_000;
const RETRY_MS = 5_000;
/** Written both ways: the second is what newer schedulers' selectors use. */
const CPU_MANAGER_LABELS = ['cpumanager', LABEL.cpuManager];

export interface Heartbeat {
  /** Beats until the context ends, then marks the node as not schedulable. */
  run(ctx: Ctx): Promise<void>;
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { intervalMs = INTERVAL_MS, random = Math.random, isReady } = options;
  return {
    async run(ctx) {
      await waitUntil(ctx, ctx.now() + FIRST_WAIT_MS, isReady);
      while (!ctx.signal.aborted) {
        const reported = isReady();
        const isTold = await attempt(ctx, () => beat(ctx, options, reported));
        const pauseMs = isTold ? intervalMs * (1 + random() * JITTER) : RETRY_MS;
        // A change of readiness does not wait for the next beat.
        await waitUntil(ctx, ctx.now() + pauseMs, () => isTold && isReady() !== reported);
      }
      await attempt(ctx, () => beat(ctx, options, false));
    },
  };
}

async function waitUntil(ctx: Ctx, until: number, isOver: () => boolean): Promise<void> {
  while (!ctx.signal.aborted && ctx.now() < until && !isOver()) {
    await sleep(ctx.clock, Math.min(LOOK_MS, until - ctx.now()), ctx.signal);
  }
}

async function attempt(ctx: Ctx, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (err) {
    ctx.log.warn({ err: messageOf(err) }, 'The heartbeat of this node was not written; trying again');
    return false;
  }
}

async function beat(ctx: Ctx, options: HeartbeatOptions, isSchedulable: boolean): Promise<void> {
  const cpuManager = String(options.wantsCpuManager() && (await isCpuManagerStatic(options.cpuManagerFile)));
  const labels = {
    [LABEL.schedulable]: String(isSchedulable),
    ...Object.fromEntries(CPU_MANAGER_LABELS.map((label) => [label, cpuManager])),
  };
  const annotations = { [ANNOTATION.heartbeat]: metaTime(ctx.now()) };
  await options.client.strategicPatch(NODES, options.node, { metadata: { labels, annotations } });
}

async function isCpuManagerStatic(file: string): Promise<boolean> {
  try {
    return (JSON.parse(await readFile(file, 'utf8')) as { policyName?: string }).policyName === 'static';
  } catch {
    // A kubelet without the file pins no CPUs.
    return false;
  }
}
