// virt-api: admission webhooks and the aggregated API on one port. Follows the KubeVirt CR and two ConfigMaps (our CA, the front proxy's);
// everything else it reads when a request needs it.
import { randomUUID } from 'node:crypto';
import { type ConfigMap, isDeleting, type KubeVirt } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { Metrics } from '../base/metrics.js';
import { type ClusterConfig, clusterConfig } from '../core/config/cluster-config.js';
import { createHttpsServer, type HttpsServer, type HttpsServerOptions, profilerRoutes } from '../http/index.js';
import { currentNamespace, kubeTransport, loadKubeConfig } from '../runtime/kube-config.js';
import { RuntimeManager } from '../runtime/manager.js';
import { CONFIG_MAPS, KUBEVIRTS } from '../runtime/resources.js';
import type { Informer, Manager } from '../runtime/types.js';
import {
  AGENT_CERTIFICATE_NAME,
  DEFAULT_HEADERS,
  type IdentityHeaders,
  type SubresourceApi,
  subresourceApi,
} from '../subresources/index.js';
import { webhookRoutes } from '../webhooks/server.js';
import { createStructuralCheck } from '../webhooks/structural.js';
import { type ProcessContext, parseFlags, runProcess } from './process.js';

const NAME = 'virt-api';
const flags = parseFlags(NAME, {
  port: { type: 'number', default: 443 },
  listen: { type: 'string', default: '0.0.0.0' },
  'console-server-port': { type: 'number', default: 8186 },
  // Accepted for existing manifests: the webhooks have always been served too.
  'subresources-only': { type: 'boolean' },
  'externally-managed': { type: 'boolean' },
  'ca-configmap-name': { type: 'string', default: 'kubevirt-ca' },
  'tls-cert-file': { type: 'string', default: '/etc/virt-api/certificates/tls.crt' },
  'tls-key-file': { type: 'string', default: '/etc/virt-api/certificates/tls.key' },
  'handler-cert-file': { type: 'string', default: '/etc/virt-handler/clientcertificates/tls.crt' },
  'handler-key-file': { type: 'string', default: '/etc/virt-handler/clientcertificates/tls.key' },
  kubeconfig: { type: 'string' },
  namespace: { type: 'string' },
  v: { type: 'number', default: 2, short: 'v' },
});

const FRONT_PROXY = { namespace: 'kube-system', name: 'extension-apiserver-authentication' } as const;
const CLIENT_CA = 'requestheader-client-ca-file';
const SYNC_TIMEOUT_MS = 60_000;
const SYNC_POLL_MS = 50;
const SHUTDOWN_GRACE_MS = 5_000;
const TLS_VERSIONS = { VersionTLS10: 'TLSv1', VersionTLS11: 'TLSv1.1', VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const;

/** One ConfigMap, followed. */
function follow(manager: Manager, { namespace, name }: { namespace: string; name: string }): () => Readonly<Record<string, string>> {
  const informer: Informer<ConfigMap> = manager.informer(CONFIG_MAPS, { namespace, fieldSelector: `metadata.name=${name}` });
  return () => informer.store.get(`${namespace}/${name}`)?.data ?? {};
}

/** Header names that the cluster adds to the usual ones, and whose word counts. */
function identityHeaders(data: Readonly<Record<string, string>>): IdentityHeaders {
  const extra = (key: string): string[] => {
    const text = data[`requestheader-${key}`];
    return text ? (JSON.parse(text) as string[]) : [];
  };
  return {
    user: [...DEFAULT_HEADERS.user, ...extra('username-headers')],
    group: [...DEFAULT_HEADERS.group, ...extra('group-headers')],
    extraPrefix: [...DEFAULT_HEADERS.extraPrefix, ...extra('extra-headers-prefix')],
    proxyNames: extra('allowed-names'),
  };
}

/** The configuration is computed again only when the CR has changed. */
function followConfig(kubevirt: () => KubeVirt | undefined): () => ClusterConfig {
  let seen: KubeVirt | undefined;
  let config = clusterConfig();
  return () => {
    const now = kubevirt();
    if (now !== seen) {
      seen = now;
      config = clusterConfig(now);
    }
    return config;
  };
}

async function synced(manager: Manager, { clock, signal }: ProcessContext): Promise<void> {
  const deadline = clock.now() + SYNC_TIMEOUT_MS;
  while (!manager.hasSynced() && !signal.aborted) {
    if (clock.now() > deadline) {
      throw new KvError('Unavailable', 'the caches did not fill within a minute: check that virt-api may list KubeVirts and ConfigMaps');
    }
    await new Promise<void>((resolve) => void clock.after(SYNC_POLL_MS, resolve));
  }
}

function tlsOptions(config: ClusterConfig): Pick<HttpsServerOptions['tls'], 'minVersion' | 'ciphers'> {
  const { minTLSVersion, ciphers } = config.spec.tlsConfiguration ?? {};
  const minVersion = TLS_VERSIONS[minTLSVersion as keyof typeof TLS_VERSIONS];
  return { ...(minVersion ? { minVersion } : {}), ...(ciphers?.length ? { ciphers: ciphers.join(':') } : {}) };
}

interface Followed {
  readonly manager: RuntimeManager;
  readonly metrics: Metrics;
  readonly namespace: string;
  readonly kubevirt: () => KubeVirt | undefined;
  readonly config: () => ClusterConfig;
  readonly frontProxy: () => Readonly<Record<string, string>>;
  readonly ownCa: () => Readonly<Record<string, string>>;
}

/** Everything that is watched; nothing is started yet. */
function followCluster({ clock, log, host }: ProcessContext): Followed {
  const kubeConfig = loadKubeConfig(flags.kubeconfig);
  const namespace = flags.namespace ?? currentNamespace(kubeConfig) ?? 'kubevirt';
  const metrics = new Metrics();
  metrics.collectProcessMetrics();
  const manager = new RuntimeManager({ name: NAME, host, transport: kubeTransport(kubeConfig, clock), clock, log, metrics });
  const kubevirts = manager.informer(KUBEVIRTS, { namespace });
  const kubevirt = (): KubeVirt | undefined => kubevirts.store.list().find((kv) => !isDeleting(kv));
  return {
    manager,
    metrics,
    namespace,
    kubevirt,
    config: followConfig(kubevirt),
    frontProxy: follow(manager, FRONT_PROXY),
    ownCa: follow(manager, { namespace, name: flags['ca-configmap-name'] }),
  };
}

function aggregatedApi(
  { clock, log }: ProcessContext,
  { manager, metrics, namespace, kubevirt, config, frontProxy, ownCa }: Followed,
): SubresourceApi {
  return subresourceApi({
    client: manager.client,
    config,
    structure: createStructuralCheck(),
    agentTls: {
      certFile: flags['handler-cert-file'],
      keyFile: flags['handler-key-file'],
      ca: () => ownCa()['ca-bundle'],
      serverName: AGENT_CERTIFICATE_NAME,
    },
    agentPort: flags['console-server-port'],
    installNamespace: namespace,
    identityHeaders: () => identityHeaders(frontProxy()),
    kubevirt,
    version: process.env.KUBEVIRT_VERSION ?? 'v0.0.0',
    gsImage: process.env.GS_IMAGE ?? '',
    metrics,
    clock,
    log,
  });
}

const profiles = ({ spec }: ClusterConfig): boolean => spec.developerConfiguration?.clusterProfiler === true;

function serverOf(ctx: ProcessContext, followed: Followed): HttpsServer {
  const { clock, log } = ctx;
  const { manager, metrics, namespace, config, frontProxy } = followed;
  metrics.gauge('kubevirt_virt_api_ready_status', 'Whether this virt-api is ready', [], (gauge) => gauge.set(manager.hasSynced() ? 1 : 0));
  const api = aggregatedApi(ctx, followed);
  const webhooks = webhookRoutes({ client: manager.client, config, installNamespace: namespace, clock, log, randomUuid: randomUUID });
  return createHttpsServer({
    tls: {
      certFile: flags['tls-cert-file'],
      keyFile: flags['tls-key-file'],
      clientCa: () => frontProxy()[CLIENT_CA],
      ...tlsOptions(config()),
    },
    log,
    host: flags.listen,
    port: flags.port,
    clock,
    routes: [...webhooks, ...api.routes, ...profilerRoutes({ isEnabled: () => profiles(config()), clock, log })],
    upgrades: api.upgrades,
    metrics: async () => ({ contentType: metrics.contentType, body: await metrics.text() }),
    health: () => (manager.hasSynced() ? manager.problems()[0] : 'the caches have not synced yet'),
  });
}

async function main(ctx: ProcessContext): Promise<void> {
  const followed = followCluster(ctx);
  const running = followed.manager.run(ctx.signal);
  await Promise.race([synced(followed.manager, ctx), running]);
  if (ctx.signal.aborted) return;
  if (!followed.frontProxy()[CLIENT_CA]) {
    const where = `${FRONT_PROXY.namespace}/${FRONT_PROXY.name}`;
    throw new KvError('Terminal', `the ConfigMap ${where} has no ${CLIENT_CA}: start the API server with its aggregation layer enabled`);
  }
  const server = serverOf(ctx, followed);
  const port = await server.start();
  ctx.log.info({ port, installNamespace: followed.namespace }, 'Serving');
  try {
    await running;
  } finally {
    await server.stop(SHUTDOWN_GRACE_MS);
  }
}

runProcess(NAME, flags.v, main);
