// virt-controller: runs the controllers on the leader of its replicas; every replica serves health, leadership and metrics.
import { keyOf } from '../api/index.js';
import { Metrics } from '../base/metrics.js';
import { createHttpsServer, profilerRoutes, text } from '../http/index.js';
import { type ClusterFacts, clusterFacts } from '../operators/cluster-facts.js';
import { startMigrationController } from '../operators/migration/controller.js';
import { startNodeController } from '../operators/node/reconciler.js';
import {
  MULTUS_NETWORKS,
  networkAnnotations,
  type PodContext,
  renderHotplugPod,
  renderHotplugTriggerPod,
  renderLauncherPod,
  renderTemporaryPod,
} from '../operators/pod-template/index.js';
import { startVmController } from '../operators/vm/controller.js';
import { startVmiController } from '../operators/vmi/controller.js';
import type { Seen } from '../operators/vmi/seen.js';
import { currentNamespace, kubeTransport, loadKubeConfig } from '../runtime/kube-config.js';
import { RuntimeManager } from '../runtime/manager.js';
import { ControllerProcess, type ProcessOptions } from '../runtime/operator-base.js';
import type { Manager } from '../runtime/types.js';
import { type ProcessContext, parseFlags, runProcess } from './process.js';
import { followProfiling } from './profiling.js';

const NAME = 'virt-controller';
const flags = parseFlags(NAME, {
  'launcher-image': { type: 'string', default: 'localhost/kubevirt-ts/launcher:dev' },
  port: { type: 'number', default: 8443 },
  listen: { type: 'string', default: '0.0.0.0' },
  kubeconfig: { type: 'string' },
  namespace: { type: 'string' },
  'tls-cert-file': { type: 'string', default: '/etc/virt-controller/certificates/tls.crt' },
  'tls-key-file': { type: 'string', default: '/etc/virt-controller/certificates/tls.key' },
  v: { type: 'number', default: 2, short: 'v' },
});

/** Launchers of one node start their idle timeout at different times, so that a lost cluster does not lose all guests at once. */
const QEMU_TIMEOUT_SECONDS = 240;
const QEMU_TIMEOUT_SPREAD = 120;

const podContext = (facts: ClusterFacts, { vmi, pvcs, stateClaim, configMaps }: Seen): PodContext => ({
  config: facts.config(),
  launcherImage: flags['launcher-image'],
  imageVolumes: facts.imageVolumes(),
  pvcs,
  ...(configMaps ? { configMaps } : {}),
  ...(stateClaim?.metadata.name ? { backendStorageClaim: stateClaim.metadata.name } : {}),
  ...facts.namespace(vmi.metadata.namespace ?? ''),
  qemuTimeoutSeconds: QEMU_TIMEOUT_SECONDS + Math.floor(Math.random() * QEMU_TIMEOUT_SPREAD),
});

class VirtController extends ControllerProcess {
  #kubernetesVersion = '';

  constructor(options: ProcessOptions) {
    super(options);
    const facts = clusterFacts(this.manager, () => this.#kubernetesVersion);
    startVmController(this.manager, { random: Math.random, config: facts.config });
    startVmiController(this.manager, {
      config: facts.config,
      launcherImage: flags['launcher-image'],
      renderPod: (seen) => renderLauncherPod(seen.vmi, podContext(facts, seen)),
      renderTemporary: (seen) => renderTemporaryPod(seen.vmi, podContext(facts, seen)),
      renderNetworks: (seen) => networkAnnotations(seen.vmi, podContext(facts, seen))[MULTUS_NETWORKS],
      renderAttachment: (seen, launcher, volumes) => renderHotplugPod(seen.vmi, launcher, volumes, podContext(facts, seen)),
      renderTrigger: (seen, launcher, volume) =>
        renderHotplugTriggerPod(seen.vmi, launcher, volume, { ...podContext(facts, seen), ends: true }),
    });
    startNodeController(this.manager);
    startMigrationController(this.manager);
  }

  protected override async init(): Promise<void> {
    const { gitVersion = '' } = (await this.manager.client.raw('GET', '/version')) as { gitVersion?: string };
    this.#kubernetesVersion = gitVersion;
  }
}

function exportState(metrics: Metrics, manager: Manager): void {
  metrics.gauge('kubevirt_virt_controller_ready_status', 'Whether this virt-controller is ready', [], (gauge) =>
    gauge.set(manager.hasSynced() ? 1 : 0),
  );
  metrics.gauge('kubevirt_virt_controller_leading_status', 'Whether this virt-controller is the leader', [], (gauge) =>
    gauge.set(manager.isLeader() ? 1 : 0),
  );
}

async function main(ctx: ProcessContext): Promise<void> {
  const kubeConfig = loadKubeConfig(flags.kubeconfig);
  const metrics = new Metrics();
  metrics.collectProcessMetrics();
  const namespace = flags.namespace ?? currentNamespace(kubeConfig) ?? 'kubevirt';
  const manager = new RuntimeManager({
    name: NAME,
    host: ctx.host,
    transport: kubeTransport(kubeConfig, ctx.clock),
    clock: ctx.clock,
    log: ctx.log,
    metrics,
    leaderElection: { lease: keyOf({ metadata: { namespace, name: NAME } }), identity: ctx.host },
  });
  exportState(metrics, manager);
  const server = createHttpsServer({
    tls: { certFile: flags['tls-cert-file'], keyFile: flags['tls-key-file'] },
    log: ctx.log,
    host: flags.listen,
    port: flags.port,
    routes: [
      { method: 'GET', path: '/leader', handler: async () => (manager.isLeader() ? text(200, 'leader') : text(200, 'follower')) },
      ...profilerRoutes({ isEnabled: followProfiling(manager), clock: ctx.clock, log: ctx.log }),
    ],
    metrics: async () => ({ contentType: metrics.registry.contentType, body: await metrics.registry.metrics() }),
    health: () => (manager.hasSynced() ? manager.problems()[0] : 'the caches have not synced yet'),
  });
  const controller = new VirtController({ kubeConfig, log: ctx.log, manager });
  ctx.signal.addEventListener('abort', () => controller.stop(), { once: true });
  await server.start();
  try {
    await controller.start();
  } finally {
    await server.stop();
  }
}

runProcess(NAME, flags.v, main);
