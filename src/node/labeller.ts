// Keeps the labels of this node that say which guests it can run: reads what the init container wrote about libvirt and the CPU, computes the
// labels (core/node-labels) and writes them when they differ. Also knows whether the node's own CPU model counts as obsolete.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import {
  emulatedCandidates,
  type NodeFacts,
  nodeLabels,
  parseDomainCapabilities,
  parseHostCapabilities,
  parseSupportedFeatures,
  relabelled,
  SKIP_NODE_ANNOTATION,
} from '../core/node-labels/index.js';
import { deepEqual } from '../runtime/patch.js';
import { NODES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';

export interface LabellerOptions {
  readonly client: Pick<KubeClient, 'get' | 'jsonPatch'>;
  readonly node: string;
  readonly config: () => ClusterConfig;
  /** Where the init container left its documents. */
  readonly dir: string;
  readonly arch: string;
  readonly realtimeFile?: string;
  readonly intervalMs?: number;
  readonly random?: () => number;
}

export interface Labeller {
  isHostModelObsolete(): boolean;
  run(ctx: Ctx): Promise<void>;
}

const INTERVAL_MS = 3 * 60_000;
const JITTER = 0.2;
const RETRY_MS = 5_000;
const LOOK_MS = 1_000;
const OBSOLETE = 'node-labeller.kubevirt.io/obsolete-host-model';
const REALTIME_FILE = '/proc/sys/kernel/sched_rt_runtime_us';

export function createLabeller(options: LabellerOptions): Labeller {
  const { config, intervalMs = INTERVAL_MS, random = Math.random } = options;
  let wanted: Record<string, string> = {};
  return {
    isHostModelObsolete: () => OBSOLETE in wanted,
    async run(ctx) {
      while (!ctx.signal.aborted) {
        const { version } = config();
        let pauseMs = intervalMs * (1 + random() * JITTER);
        try {
          wanted = nodeLabels(await readFacts(options), config());
          await write(ctx, options, wanted);
        } catch (err) {
          ctx.log.warn({ err: messageOf(err) }, 'The capability labels of this node were not written; trying again');
          pauseMs = RETRY_MS;
        }
        const until = ctx.now() + pauseMs;
        while (!ctx.signal.aborted && ctx.now() < until && config().version === version) await sleep(ctx.clock, LOOK_MS, ctx.signal);
      }
    },
  };
}

async function readFacts({ dir, arch, realtimeFile = REALTIME_FILE }: LabellerOptions): Promise<NodeFacts> {
  const [domain, host, features] = await Promise.all([
    readFile(join(dir, 'virsh_domcapabilities.xml'), 'utf8'),
    readFile(join(dir, 'capabilities.xml'), 'utf8'),
    readOptional(join(dir, 'supported_features.xml')),
  ]);
  const { machines, tsc } = parseHostCapabilities(host, arch);
  const parsed = parseDomainCapabilities(domain, arch);
  const others = await Promise.all(
    emulatedCandidates(arch).map(async (other) => ((await readOptional(join(dir, other.file))) ? [other.arch] : [])),
  );
  return {
    arch,
    domain: parsed,
    features: features === undefined ? [] : parseSupportedFeatures(features, arch),
    machines,
    ...(tsc ? { tsc } : {}),
    emulated: others.flat(),
    hyperv: parsed.hyperv,
    realtime: (await readOptional(realtimeFile))?.trim() === '-1',
  };
}

/** Only some architectures can list a model's features, and only some images can emulate others. */
async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

async function write(ctx: Ctx, { client, node }: LabellerOptions, wanted: Readonly<Record<string, string>>): Promise<void> {
  const object = await client.get(NODES, node);
  if (object.metadata.annotations?.[SKIP_NODE_ANNOTATION] !== undefined) return;
  const labels = object.metadata.labels ?? {};
  const next = relabelled(labels, wanted);
  if (deepEqual(labels, next)) return;
  ctx.log.info({ labels: Object.keys(wanted).length }, 'Labelling this node with its capabilities');
  await client.jsonPatch(NODES, node, [
    { op: 'test', path: '/metadata/labels', value: labels },
    { op: 'replace', path: '/metadata/labels', value: next },
  ]);
}
