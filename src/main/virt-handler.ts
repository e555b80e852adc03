// virt-handler: the node agent. Reads flags and environment, opens its two ports, and runs the agent until a signal comes. Guests go on
// without it: nothing here ends a launcher.
import { readFile } from 'node:fs/promises';
import { Metrics } from '../base/metrics.js';
import { createHttpsServer, profilerRoutes } from '../http/index.js';
import { followCluster } from '../node/cluster-settings.js';
import { createConsoleServer } from '../node/console/console-server.js';
import { durationSeconds } from '../node/console/duration.js';
import { createNodeAgent } from '../node/node-agent.js';
import { vsockDialer } from '../node/vsock/dial.js';
import { VsockTrust } from '../node/vsock/trust.js';
import { currentNamespace, kubeTransport, loadKubeConfig } from '../runtime/kube-config.js';
import { HANDLER_LIMIT, RuntimeManager } from '../runtime/manager.js';
import { type ProcessContext, parseFlags, runProcess } from './process.js';
import { followProfiling } from './profiling.js';

const NAME = 'virt-handler';
const flags = parseFlags(NAME, {
  listen: { type: 'string', default: '0.0.0.0' },
  port: { type: 'number', default: 8185 },
  'console-server-port': { type: 'number', default: 8186 },
  'vmstats-server-port': { type: 'number', default: 8187 },
  'hostname-override': { type: 'string' },
  'pod-ip-address': { type: 'string', default: '' },
  'max-metric-requests': { type: 'number', default: 3 },
  'max-devices': { type: 'number', default: 1000 },
  'watchdog-timeout': { type: 'string', default: '30s' },
  'domain-resync-period-seconds': { type: 'number', default: 300 },
  'graceful-shutdown-seconds': { type: 'number', default: 300 },
  'kubevirt-share-dir': { type: 'string', default: '/var/run/kubevirt' },
  'kubevirt-private-dir': { type: 'string', default: '/var/run/kubevirt-private' },
  /** As the host sees it; this process sees it at --pods-mount. */
  'kubelet-pods-dir': { type: 'string', default: '/var/lib/kubelet/pods' },
  'pods-mount': { type: 'string', default: '/pods' },
  'kubelet-root': { type: 'string', default: '/var/lib/kubelet' },
  'node-labeller-dir': { type: 'string', default: '/var/lib/kubevirt-node-labeller' },
  'enable-node-labeller': { type: 'string', default: 'true' },
  'externally-managed': { type: 'string', default: 'false' },
  'tls-cert-file': { type: 'string', default: '/etc/virt-handler/servercertificates/tls.crt' },
  'tls-key-file': { type: 'string', default: '/etc/virt-handler/servercertificates/tls.key' },
  'migration-client-cert-file': { type: 'string', default: '/etc/virt-handler/migrationservercertificates/tls.crt' },
  'migration-client-key-file': { type: 'string', default: '/etc/virt-handler/migrationservercertificates/tls.key' },
  'vsock-client-cert-file': { type: 'string', default: '/etc/virt-handler/vsockclientcertificates/tls.crt' },
  'vsock-client-key-file': { type: 'string', default: '/etc/virt-handler/vsockclientcertificates/tls.key' },
  'migration-cn-types': { type: 'string', default: 'virt-handler,migration' },
  'ca-configmap-name': { type: 'string', default: 'kubevirt-ca' },
  kubeconfig: { type: 'string' },
  namespace: { type: 'string' },
  v: { type: 'number', default: 2, short: 'v' },
});

/** virt-api's certificate. */
const CLIENT_NAME = 'kubevirt.io:system:client:virt-handler';
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', s390x: 's390x', ppc64: 'ppc64le' };

type Settings = ReturnType<typeof followCluster>;

/** Flags as the agent takes them. */
function agentOptions(manager: RuntimeManager, node: string, { config }: Settings): Parameters<typeof createNodeAgent>[0] {
  return {
    node,
    manager,
    config,
    arch: ARCHITECTURES[process.arch] ?? process.arch,
    podsDir: flags['pods-mount'],
    hostPodsDir: flags['kubelet-pods-dir'],
    kubeletRoot: flags['kubelet-root'],
    privateDir: flags['kubevirt-private-dir'],
    shareDir: flags['kubevirt-share-dir'],
    labellerDir: flags['node-labeller-dir'],
    podFamily: flags['pod-ip-address'].includes(':') ? 6 : 4,
    maxDevices: flags['max-devices'],
    watchdogMs: (durationSeconds(flags['watchdog-timeout']) ?? 30) * 1000,
    resyncMs: flags['domain-resync-period-seconds'] * 1000,
    isLabelling: flags['enable-node-labeller'] === 'true',
  };
}

async function vsockCertificate(): Promise<{ cert: Buffer; key: Buffer }> {
  const [cert, key] = await Promise.all([readFile(flags['vsock-client-cert-file']), readFile(flags['vsock-client-key-file'])]);
  return { cert, key };
}

async function main(ctx: ProcessContext): Promise<void> {
  const kubeConfig = loadKubeConfig(flags.kubeconfig);
  const node = flags['hostname-override'] ?? process.env.NODE_NAME ?? ctx.host;
  const namespace = flags.namespace ?? currentNamespace(kubeConfig) ?? 'kubevirt';
  const metrics = new Metrics();
  metrics.collectProcessMetrics();
  const manager = new RuntimeManager({
    name: NAME,
    host: node,
    transport: kubeTransport(kubeConfig, ctx.clock),
    clock: ctx.clock,
    log: ctx.log,
    metrics,
    limit: HANDLER_LIMIT,
  });
  metrics.gauge('kubevirt_virt_handler_ready_status', 'Whether this node agent is ready', [], (gauge) =>
    gauge.set(manager.hasSynced() ? 1 : 0),
  );
  const settings = followCluster(manager, namespace, flags['ca-configmap-name']);
  const agent = createNodeAgent(agentOptions(manager, node, settings));
  const trust = new VsockTrust(ctx, {
    socketPath: `${flags['kubevirt-share-dir']}/vsock-system.sock`,
    caBundle: settings.caBundle,
    isWanted: () => manager.hasSynced() && settings.config().isEnabled('VSOCK'),
  });
  const dialVsock = vsockDialer({ ctx, certificate: vsockCertificate, withTrust: (ns, work) => trust.within(ns, work) });
  const tls = { certFile: flags['tls-cert-file'], keyFile: flags['tls-key-file'] };
  const health = createHttpsServer({
    tls,
    log: ctx.log,
    host: flags.listen,
    port: flags.port,
    routes: profilerRoutes({ isEnabled: followProfiling(manager), clock: ctx.clock, log: ctx.log }),
    metrics: async () => ({ contentType: metrics.contentType, body: await metrics.text() }),
    health: () => (manager.hasSynced() ? manager.problems()[0] : 'the caches have not synced yet'),
  });
  const consoles = createConsoleServer(
    { log: ctx.log, clock: ctx.clock, find: (ns, name) => agent.find(ns, name), dialVsock },
    { tls: { ...tls, clientCa: settings.caBundle }, host: flags.listen, port: flags['console-server-port'], clientName: CLIENT_NAME },
  );
  await health.start();
  await consoles.start();
  try {
    await Promise.all([agent.run(ctx), trust.run()]);
  } finally {
    await Promise.all([health.stop(), consoles.stop()]);
  }
}

runProcess(NAME, flags.v, main);
