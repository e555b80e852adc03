// virt-operator: installs what the KubeVirt CR asks for, on the leader of its replicas; every replica answers the webhooks that guard
// the CR, and serves health and metrics. Its certificate is one of those it makes itself: until then it serves with a stand-in.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubeObject, type KubeVirt, keyOf, type Secret } from '../api/index.js';
import { createAuthority, isMatchingPair } from '../base/crypto/certificates.js';
import { hasCode, KvError, messageOf } from '../base/errors.js';
import { Metrics } from '../base/metrics.js';
import { createHttpsServer, profilerRoutes, type Route } from '../http/index.js';
import {
  admitKubeVirtCreate,
  admitKubeVirtDelete,
  admitKubeVirtUpdate,
  isDeletionGuarded,
  type KubeVirtVerdict,
} from '../operators/installer/admit-kubevirt.js';
import type { KubeVirtCause } from '../operators/installer/admit-kubevirt-rules.js';
import { startInstaller } from '../operators/installer/controller.js';
import type { InstallEnv } from '../operators/installer/install-context.js';
import { MANAGED_SELECTOR } from '../operators/installer/managed.js';
import { SECRET } from '../operators/installer/manifests/names.js';
import { OPERATOR_HOOK_PATH } from '../operators/installer/manifests/webhooks.js';
import { placementCause, placementProbes } from '../operators/installer/placement-probe.js';
import { currentNamespace, kubeTransport, loadKubeConfig } from '../runtime/kube-config.js';
import { RuntimeManager } from '../runtime/manager.js';
import { ControllerProcess, type ProcessOptions } from '../runtime/operator-base.js';
import { DAEMON_SETS, DEPLOYMENTS, KUBEVIRTS, SECRETS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient, Manager, Resource } from '../runtime/types.js';
import { type AdmissionRequest, responseOf } from '../webhooks/review.js';
import { reviewHandler } from '../webhooks/server.js';
import { createStructuralCheck } from '../webhooks/structural.js';
import { refuse, structuralVerdict, type Verdict } from '../webhooks/verdict.js';
import { type ProcessContext, parseFlags, runProcess } from './process.js';
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

const structure = createStructuralCheck();
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
  const folder = mkdtempSync(join(tmpdir(), 'virt-operator-'));
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

const REPLICA_SETS: Resource<KubeObject> = {
  group: 'kubevirt.io',
  version: 'v1',
  plural: 'virtualmachineinstancereplicasets',
  kind: 'VirtualMachineInstanceReplicaSet',
  namespaced: true,
};

/** What the API server has against the placement that a change asks for. */
async function placementCauses(client: KubeClient, kv: KubeVirt, old: KubeVirt | undefined): Promise<KubeVirtCause[]> {
  const causes: KubeVirtCause[] = [];
  for (const probe of placementProbes(kv, old)) {
    try {
      const resource: Resource<KubeObject> = probe.kind === 'Deployment' ? DEPLOYMENTS : DAEMON_SETS;
      await client.create<KubeObject>(resource, probe.object, { dryRun: true });
    } catch (err) {
      if (!hasCode(err, 'Invalid')) throw err;
      causes.push(placementCause(probe, messageOf(err)));
    }
  }
  return causes;
}

/** Only sound objects of the kind are looked at further; deletions carry the stored one. */
function unsound({ operation, object }: AdmissionRequest): Verdict | undefined {
  if (operation === 'DELETE') return undefined;
  if (!object) return refuse(`the ${operation} request carries no object`);
  const verdict = structuralVerdict(structure.problems('KubeVirt', object));
  return verdict.allowed ? undefined : verdict;
}

type Admit = (request: AdmissionRequest) => Promise<KubeVirtVerdict> | KubeVirtVerdict;

function admitters(client: KubeClient): Record<string, Admit> {
  // Asked of the API server and not of a cache: what is refused here is rare, and what is allowed final.
  const count = async (resource: Resource<KubeObject>): Promise<number> => {
    try {
      return (await client.list(resource)).items.length;
    } catch (err) {
      if (hasCode(err, 'NotFound')) return 0; // the kind is not installed (any more)
      throw err;
    }
  };
  return {
    [OPERATOR_HOOK_PATH.create]: async ({ object }) => admitKubeVirtCreate(object as KubeVirt, (await client.list(KUBEVIRTS)).items),
    [OPERATOR_HOOK_PATH.update]: async ({ object, oldObject }) => {
      const [kv, old] = [object as KubeVirt, oldObject as KubeVirt | undefined];
      const verdict = admitKubeVirtUpdate(kv, old);
      const unplaceable = verdict.allowed ? await placementCauses(client, kv, old) : [];
      return unplaceable.length > 0 ? { allowed: false, causes: unplaceable } : verdict;
    },
    [OPERATOR_HOOK_PATH.delete]: async ({ oldObject, object }) => {
      const kv = (oldObject ?? object) as KubeVirt;
      if (!isDeletionGuarded(kv)) return admitKubeVirtDelete(kv, { vmis: 0, vms: 0, replicaSets: 0 });
      const [vmis, vms] = [await count(VIRTUAL_MACHINE_INSTANCES), await count(VIRTUAL_MACHINES)];
      return admitKubeVirtDelete(kv, { vmis, vms, replicaSets: await count(REPLICA_SETS) });
    },
  };
}

function webhookRoutes(client: KubeClient, { log }: ProcessContext): Route[] {
  return Object.entries(admitters(client)).map(([path, admit]) => ({
    method: 'POST',
    path,
    ...reviewHandler(async (request) => responseOf(unsound(request) ?? (await admit(request))), log),
  }));
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
    createHttpsServer({ ...common, port: flags['webhook-port'], routes: webhookRoutes(manager.client, ctx) }),
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
