// Brings everything up that a benchmark needs and does not measure: images, cluster, KubeVirt, the namespace, images on the nodes.
// What was running before stays; a cluster that the benchmark started goes again unless it is to be kept.
import { join, resolve } from 'node:path';
import { ensureImages, USUAL_IMAGES } from '../../images/main.js';
import { type ClusterHandle, ensureUp } from '../cluster/cluster.js';
import { clusterConfig } from '../cluster/config.js';
import { statusReason } from '../cluster/health.js';
import type { Log } from '../cluster/progress.js';
import { NAMESPACE } from './bench-vm.js';

const ROOT = resolve(import.meta.dirname, '..', '..');
const INSTALL_TIMEOUT = '300s';

export interface Bench {
  readonly cluster: ClusterHandle;
  readonly log: Log;
  readonly close: () => Promise<void>;
}

export async function prepare(log: Log, keep: boolean): Promise<Bench> {
  const wasUp = (await statusReason(clusterConfig(process.env))) === undefined;
  const images = await ensureImages({ log });
  const cluster = await ensureUp({ log });
  for (const name of USUAL_IMAGES) await cluster.load(images[name]);
  await install(cluster, log);
  return {
    cluster,
    log,
    close: async () => {
      await cluster.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=120s']);
      if (!wasUp && !keep) await cluster.down();
    },
  };
}

async function install(cluster: ClusterHandle, log: Log): Promise<void> {
  log('installing KubeVirt');
  await cluster.kubectl(['apply', '-k', ROOT]);
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd/kubevirts.kubevirt.io']);
  await cluster.kubectl(['apply', '-f', join(ROOT, 'config/samples/kubevirt-cr.yaml')]);
  await cluster.kubectl(['wait', 'kubevirt/kubevirt', '-n', 'kubevirt', '--for=condition=Available', `--timeout=${INSTALL_TIMEOUT}`]);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(namespace));
}
