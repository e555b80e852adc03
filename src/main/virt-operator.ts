// virt-operator: installs what the KubeVirt CR asks for, on the leader of its replicas; every replica answers the webhooks that guard
// the CR, and serves health and metrics. Its certificate is one of those it makes itself: until then it serves with a stand-in.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyOf, type Secret } from '../api/index.js';
import { createAuthority, isMatchingPair } from '../base/crypto/certificates.js';
import { KvError } from '../base/errors.js';
import { Metrics } from '../base/metrics.js';
import { createHttpsServer, profilerRoutes } from '../http/index.js';
import { startInstaller } from '../operators/installer/controller.js';
import type { InstallEnv } from '../operators/installer/install-context.js';
import { MANAGED_SELECTOR } from '../operators/installer/managed.js';
import { SECRET } from '../operators/installer/manifests/names.js';
import { currentNamespace, kubeTransport, loadKubeConfig } from '../runtime/kube-config.js';
import { RuntimeManager } from '../runtime/manager.js';
import { ControllerProcess, type ProcessOptions } from '../runtime/operator-base.js';
import { SECRETS } from '../runtime/resources.js';
import type { Manager } from '../runtime/types.js';
import { operatorWebhookRoutes } from './operator-webhooks.js';
import { type ProcessContext, parseFlags, runProcess, temporaryFolder } from './process.js';
import { followProfiling } from './profiling.js';

const NAME = 'virt-operator';
const flags = parseFlags(NAME, {
  port: { type: 'number', default: 8443 },
  'webhook-port': { type: 'number', default: 8444 },
  listen: { type: 'string', default: '0.0.0.0' },
  kubeconfig: { type: 'string' },
  namespace: { type: 'string' },
  v: { type: 'number', default: 2, short: 'v' },
});

const EXTRA_ENV = 'KV_IO_EXTRA_ENV_';
const DAY_MS = 24 * 3_600_000;

function installEnv(namespace: string): InstallEnv {
  const required = (name: string): string => {
    const value = process.env[name];
    if (!value) throw new KvError('Invalid', `the environment variable ${name} is not set: see config/operator/deployment.yaml`);
    return value;
  };
  const extra = Object.entries(process.env).filter(([name]) => name.startsWith(EXTRA_ENV));
  return {
    namespace,
    version: required('KUBEVIRT_VERSION'),
    operatorImage: required('VIRT_OPERATOR_IMAGE'),
    apiImage: required('VIRT_API_IMAGE'),
    controllerImage: required('VIRT_CONTROLLER_IMAGE'),
    handlerImage: required('VIRT_HANDLER_IMAGE'),
    launcherImage: required('VIRT_LAUNCHER_IMAGE'),
    extraEnv: Object.fromEntries(extra.map(([name, value]) => [name.slice(EXTRA_ENV.length), value ?? ''])),
  };
}

class VirtOperator extends ControllerProcess {
  readonly #env: InstallEnv;

  constructor(options: ProcessOptions, env: InstallEnv) {
    super(options);
    this.#env = env;
  }

  protected override async init(): Promise<void> {
    startInstaller(this.manager, this.#env);
  }
}

interface ServingFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Certificate files that follow our Secret: quicker than a mounted volume, which the kubelet refreshes once a minute. */
async function servingFiles(manager: Manager, namespace: string, now: number): Promise<ServingFiles> {
  const folder = temporaryFolder(NAME);
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
  const write = (certPem: string, keyPem: string): void => {
    writeFileSync(files.certFile, certPem);
    writeFileSync(files.keyFile, keyPem, { mode: 0o600 });
  };
  const standIn = await createAuthority(NAME, { notBefore: now - DAY_MS, notAfter: now + DAY_MS * 365 });
  write(standIn.certPem, standIn.keyPem);
  const follow = (secret: Secret): void => {
    if (keyOf(secret) !== `${namespace}/${SECRET.operator}`) return;
    const [certPem, keyPem] = ['tls.crt', 'tls.key'].map((key) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString());
    if (certPem && keyPem && isMatchingPair({ certPem, keyPem })) write(certPem, keyPem);
  };
  manager.informer(SECRETS, { namespace, labelSelector: MANAGED_SELECTOR }).on({ added: follow, updated: follow });
  return files;
}

function exportMetrics(metrics: Metrics, manager: Manager): void {
  metrics.collectProcessMetrics();
  metrics.gauge('kubevirt_virt_operator_ready_status', 'Whether this virt-operator is ready', [], (gauge) =>
    gauge.set(manager.hasSynced() ? 1 : 0),
  );
  metrics.gauge('kubevirt_virt_operator_leading_status', 'Whether this virt-operator is the leader', [], (gauge) =>
    gauge.set(manager.isLeader() ? 1 : 0),
  );
}

async function main(ctx: ProcessContext): Promise<void> {
  const kubeConfig = loadKubeConfig(flags.kubeconfig);
  const namespace = flags.namespace ?? currentNamespace(kubeConfig) ?? 'kubevirt';
  const env = installEnv(namespace);
  const metrics = new Metrics();
  const manager = new RuntimeManager({
    name: NAME,
    host: ctx.host,
    transport: kubeTransport(kubeConfig, ctx.clock),
    clock: ctx.clock,
    log: ctx.log,
    metrics,
    leaderElection: { lease: `${namespace}/${NAME}`, identity: ctx.host },
  });
  exportMetrics(metrics, manager);
  const tls = await servingFiles(manager, namespace, ctx.now());
  const common = { tls, log: ctx.log, host: flags.listen, certPollMs: 1000 };
  const servers = [
    createHttpsServer({
      ...common,
      port: flags.port,
      routes: profilerRoutes({ isEnabled: followProfiling(manager), clock: ctx.clock, log: ctx.log }),
      metrics: async () => ({ contentType: metrics.contentType, body: await metrics.text() }),
      health: () => manager.problems()[0],
    }),
    createHttpsServer({ ...common, port: flags['webhook-port'], routes: operatorWebhookRoutes(manager.client, ctx.log) }),
  ];
  const operator = new VirtOperator({ kubeConfig, log: ctx.log, manager }, env);
  ctx.signal.addEventListener('abort', () => operator.stop(), { once: true });
  for (const server of servers) await server.start();
  try {
    await operator.start();
  } finally {
    for (const server of servers) await server.stop(1000);
  }
}

runProcess(NAME, flags.v, main);
