// The KubeVirt CR's reconcile: observe, render, install or remove one step further, and write down where it stands. Nothing is
// written when nothing is new; certificates that will be due are the only reason to come back by time.
import { ANNOTATION, FINALIZER, type KubeVirt, keyOf, type ObjectKey, type Pod } from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, messageOf } from '../../base/errors.js';
import { type ClusterConfig, clusterConfig } from '../../core/config/cluster-config.js';
import { changeFinalizers, finalizerOps, hasFinalizer } from '../../runtime/finalizers.js';
import { mapOps } from '../../runtime/patch.js';
import { KUBEVIRTS } from '../../runtime/resources.js';
import { writeStatus } from '../../runtime/status-writer.js';
import type { KubeClient, Next, Reconcile } from '../../runtime/types.js';
import type { Certifier } from './certificates/certificate-keeper.js';
import { lifetimes } from './certificates/specs.js';
import type { ClusterShape } from './cluster-shape.js';
import { type InstallOutcome, install } from './install.js';
import { type InstallContext, type InstallEnv, installContext } from './install-context.js';
import type { ManagedKinds } from './managed.js';
import { type InstallSet, renderInstall } from './manifests/index.js';
import { findMonitoring } from './monitoring-site.js';
import { READING, removeInstallation } from './remove.js';
import { nextStatus, type Situation, type Target } from './status.js';
import { activeKubeVirt, productLabels, rolloutOrder, targetOf } from './target.js';
import { keepTrust } from './trust.js';

export interface InstallerDeps {
  readonly client: KubeClient;
  readonly certifier: Certifier;
  readonly env: InstallEnv;
  readonly kinds: ManagedKinds;
  readonly kubevirts: () => readonly KubeVirt[];
  readonly shape: () => ClusterShape;
  readonly podsOf: (component: string) => readonly Pod[];
}

interface Observed {
  readonly kv: KubeVirt;
  readonly set: InstallSet;
  readonly target: Target;
  readonly shape: ClusterShape;
  readonly isReading: boolean;
  /** Its kinds are served, but it runs nowhere. */
  readonly awaitsPrometheus: boolean;
  /** Why this CR cannot be installed as it is. */
  readonly problem?: string;
}

/** Before the CRDs of an old version carried the prefix. */
const OLD_FINALIZER = 'foregroundDeleteKubeVirt';
const LATEST_API_VERSION = 'v1';
/** Nobody tells when its account is made: that lies in a namespace that is not ours. */
const PROMETHEUS_RECHECK_MS = 5 * 60_000;

export const reconcileKubeVirt =
  (deps: InstallerDeps): Reconcile =>
  async (key, ctx) => {
    const seen = await observe(deps, key);
    if (!seen) return undefined;
    if (activeKubeVirt(deps.kubevirts(), deps.env.namespace) !== seen.kv) return await report(deps, seen, { kind: 'duplicate' }, ctx);
    return seen.kv.metadata.deletionTimestamp ? await remove(deps, seen, ctx) : await bringUp(deps, seen, ctx);
  };

async function observe({ client, env, kinds, kubevirts, shape }: InstallerDeps, key: ObjectKey): Promise<Observed | undefined> {
  const kv = kubevirts().find((one) => keyOf(one) === key);
  if (!kv) return undefined;
  const cluster = shape();
  const isReading = kinds.isReading();
  const isMonitored = kinds.monitoring() !== undefined;
  const monitoring = isMonitored ? await findMonitoring(client, kv.spec) : undefined;
  const context = installContext(kv, env, { schedulableNodes: cluster.schedulableNodes, monitoring });
  const { set, problem } = rendered(context, clusterConfig(kv));
  return {
    kv,
    set,
    target: targetOf(context, set),
    shape: cluster,
    isReading,
    awaitsPrometheus: isMonitored && !monitoring,
    ...(problem ? { problem } : {}),
  };
}

/** Patches of the CR's owner that do not fit are a `problem`, and what would be installed without them is shown. */
function rendered(context: InstallContext, config: ClusterConfig): { set: InstallSet; problem?: string } {
  const isEnabled = (gate: string): boolean => config.isEnabled(gate);
  try {
    return { set: renderInstall(context, isEnabled) };
  } catch (err) {
    if (!hasCode(err, 'Invalid')) throw err;
    const { customizeComponents: _, ...spec } = context.spec;
    return { set: renderInstall({ ...context, spec }, isEnabled), problem: messageOf(err) };
  }
}

async function bringUp(deps: InstallerDeps, seen: Observed, ctx: Ctx): Promise<Next> {
  if (seen.problem) {
    await report(deps, seen, { kind: 'failed', message: seen.problem }, ctx);
    return at(await keepTrust(installInput(deps, seen), ctx), CERTIFICATE_DUE, ctx);
  }
  let adopted: Observed = { ...seen, kv: await adopt(deps.client, seen.kv) };
  let outcome: InstallOutcome;
  try {
    if (!adopted.kv.status?.phase) {
      adopted = { ...adopted, kv: await store(deps, adopted, { kind: 'deploying', gap: '', created: false }, ctx) };
    }
    outcome = await install(installInput(deps, adopted), ctx);
  } catch (err) {
    // A lost race or something that is just going away is no failure of the installation.
    if (hasCode(err, 'Conflict', 'AlreadyExists', 'NotReady')) throw err;
    await report(deps, adopted, { kind: 'failed', message: messageOf(err) }, ctx);
    throw err;
  }
  const { gap, created, generations } = outcome;
  const nextAt = seen.awaitsPrometheus ? Math.min(outcome.nextAt, ctx.now() + PROMETHEUS_RECHECK_MS) : outcome.nextAt;
  const situation: Situation = gap
    ? { kind: 'deploying', gap, created }
    : { kind: 'ready', generation: adopted.kv.metadata.generation ?? 0 };
  await report(deps, adopted, situation, ctx, generations);
  return at(nextAt, gap ?? 'a certificate is due, or Prometheus may have come', ctx);
}

const CERTIFICATE_DUE = 'a certificate is due';
const at = (nextAt: number, why: string, ctx: Ctx): Next =>
  Number.isFinite(nextAt) ? { afterMs: Math.max(1000, nextAt - ctx.now()), why } : undefined;

function installInput(deps: InstallerDeps, { kv, set, target, isReading }: Observed): Parameters<typeof install>[0] {
  const status = kv.status ?? {};
  return {
    client: deps.client,
    certifier: deps.certifier,
    kinds: deps.kinds,
    namespace: deps.env.namespace,
    set,
    pass: { target, product: productLabels(kv, target.version), lastSeen: status.generations ?? [] },
    lifetimes: lifetimes(kv.spec),
    podsOf: deps.podsOf,
    isReading,
    order: rolloutOrder(status, target),
  };
}

/** Our finalizer and annotation, in one write before the first side effect. */
async function adopt(client: KubeClient, kv: KubeVirt): Promise<KubeVirt> {
  const ops = [
    ...finalizerOps(kv, { add: [FINALIZER.kubevirt], remove: [OLD_FINALIZER] }),
    ...mapOps('/metadata/annotations', kv.metadata.annotations, { [ANNOTATION.latestObservedApiVersion]: LATEST_API_VERSION }),
  ];
  return ops.length === 0 ? kv : await client.jsonPatch(KUBEVIRTS, keyOf(kv), ops);
}

async function remove(deps: InstallerDeps, seen: Observed, ctx: Ctx): Promise<Next> {
  const { client, kinds } = deps;
  if (!hasFinalizer(seen.kv, FINALIZER.kubevirt)) return undefined;
  try {
    const gap = await removeInstallation(client, kinds, ctx);
    if (gap) {
      await report(deps, seen, { kind: 'deleting', gap }, ctx);
      return gap === READING ? { afterMs: 1000, why: gap } : await whileGuestsEnd(deps, seen, ctx);
    }
  } catch (err) {
    if (!hasCode(err, 'Conflict')) await report(deps, seen, { kind: 'deletion-failed', message: messageOf(err) }, ctx);
    throw err;
  }
  ctx.log.info({}, 'The installation is gone');
  try {
    const written = await store(deps, seen, { kind: 'deleted' }, ctx);
    await changeFinalizers(client, KUBEVIRTS, written, { remove: [FINALIZER.kubevirt, OLD_FINALIZER] });
  } catch (err) {
    if (!hasCode(err, 'NotFound')) throw err; // the cache was behind: the CR is gone already
  }
  return undefined;
}

/** They end by components that must be believed meanwhile, for as long as it takes. */
async function whileGuestsEnd(deps: InstallerDeps, seen: Observed, ctx: Ctx): Promise<Next> {
  if (deps.kinds.crds.store.list().length === 0) return undefined;
  return at(await keepTrust(installInput(deps, seen), ctx), CERTIFICATE_DUE, ctx);
}

async function report(
  deps: InstallerDeps,
  seen: Observed,
  situation: Situation,
  ctx: Ctx,
  generations?: InstallOutcome['generations'],
): Promise<undefined> {
  await store(deps, seen, situation, ctx, generations);
  return undefined;
}

async function store(
  { client, env }: InstallerDeps,
  { kv, target, shape }: Observed,
  situation: Situation,
  ctx: Ctx,
  generations?: InstallOutcome['generations'],
): Promise<KubeVirt> {
  const status = nextStatus({
    old: kv.status ?? {},
    situation,
    target,
    operatorVersion: env.version,
    defaultArchitecture: shape.defaultArchitecture,
    now: metaTime(ctx.now()),
    ...(generations ? { generations } : {}),
  });
  return await writeStatus(client, KUBEVIRTS, kv, status);
}
