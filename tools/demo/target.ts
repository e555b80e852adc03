// The cluster that the demo runs on: the local one, which it starts and loads the images into, or one of the user's, which it
// only uses. What the demo finds running it leaves running.
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { ensureImages } from '../../images/main.js';
import { KvError } from '../../src/base/errors.js';
import { ensureUp } from '../../test/cluster/cluster.js';
import { clusterConfig } from '../../test/cluster/config.js';
import { statusReason } from '../../test/cluster/health.js';
import type { Log } from '../../test/cluster/progress.js';
import { run } from '../../test/cluster/run.js';

/** The plugin's source; the cluster tool and the demo run it without a build. */
const VIRT = 'src/main/kubectl-virt.ts';

export interface Target {
  readonly kubeconfig: string;
  /** How a person calls kubectl and kubectl virt here. */
  readonly kubectlCommand: string;
  readonly virtCommand: string;
  readonly logsDir: string | undefined;
  /** Whether the demo started the cluster, and thus may take it away. */
  readonly isOurs: boolean;
  readonly kubectl: (args: readonly string[]) => Promise<string>;
  readonly down: () => Promise<void>;
}

export async function isLocalUp(): Promise<boolean> {
  return (await statusReason(clusterConfig(process.env))) === undefined;
}

export async function localTarget(log: Log, wasUp: boolean): Promise<Target> {
  log('building the container images and the guest image (minutes on a new machine, seconds later)');
  const images = await ensureImages({ log });
  const cluster = await ensureUp({ log });
  for (const archive of [images.control, images.launcher, images.tiny]) {
    log(`loading ${archive} into both nodes`);
    await cluster.load(archive);
  }
  return {
    kubeconfig: cluster.kubeconfig,
    kubectlCommand: 'npm run -s cluster -- kubectl',
    virtCommand: 'npm run -s cluster -- virt',
    logsDir: cluster.logsDir,
    isOurs: !wasUp,
    kubectl: (args) => cluster.kubectl(args),
    down: cluster.down,
  };
}

export async function existingTarget(path: string): Promise<Target> {
  const kubeconfig = resolve(path);
  if (!existsSync(kubeconfig)) throw new KvError('NotFound', `there is no kubeconfig ${kubeconfig}`);
  if (!onPath('kubectl')) throw new KvError('NotFound', 'kubectl is not on the PATH; install it to use a cluster of your own');
  const kubectl = (args: readonly string[]) => run(['kubectl', '--kubeconfig', kubeconfig, ...args], { timeoutMs: 600_000 });
  await kubectl(['version']);
  return {
    kubeconfig,
    kubectlCommand: `kubectl --kubeconfig ${kubeconfig}`,
    virtCommand: `KUBECONFIG=${kubeconfig} npx tsx ${VIRT}`,
    logsDir: undefined,
    isOurs: false,
    kubectl,
    down: async () => undefined,
  };
}

function onPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((dir) => existsSync(join(dir, program)));
}
