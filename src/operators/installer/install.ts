// One pass of an installation, in order: kinds, rights, services, certificates and who trusts them, workloads one after the other.
// Repeats itself harmlessly; ends early where something must be ready first, and says what.
import type { DaemonSet, Deployment, KubeObject, Pod } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, messageOf } from '../../base/errors.js';
import type { KubeClient } from '../../runtime/types.js';
import { Applier, type Pass } from './apply.js';
import { CertificateKeeper, type Certifier, type Trust } from './certificates/certificate-keeper.js';
import type { Lifetimes } from './certificates/specs.js';
import type { ManagedKinds } from './managed.js';
import { type InstallSet, renderTrusting, type Workloads } from './manifests/index.js';
import { removeObsolete } from './remove.js';
import { rolloutGap } from './rollout.js';
import { renewTrust } from './trust.js';

export interface InstallInput {
  readonly client: KubeClient;
  readonly certifier: Certifier;
  readonly kinds: ManagedKinds;
  readonly namespace: string;
  readonly set: InstallSet;
  readonly pass: Pass;
  readonly lifetimes: Lifetimes;
  /** The pods of a component, by its name. */
  readonly podsOf: (component: string) => readonly Pod[];
  /** Something that the set depends on was not read yet when it was rendered. */
  readonly isReading: boolean;
  /** 'fresh': API first, so that nothing is accepted that nobody checks. 'update': agents first, so that no launcher meets an older
   * one. 'steady': everything at once. */
  readonly order: 'fresh' | 'update' | 'steady';
}

export interface InstallOutcome {
  /** What is waited for; undefined: everything is there and ready. */
  readonly gap: string | undefined;
  readonly created: boolean;
  readonly generations: Applier['generations'];
  /** When to look again even if nothing is heard: the next certificate is due, or something is not served or read yet. */
  readonly nextAt: number;
}

/** Nobody tells that a kind is served, or that an empty list of it was read. */
const LOOK_AGAIN_MS = 1000;

export async function install(input: InstallInput, ctx: Ctx): Promise<InstallOutcome> {
  const { client, certifier, kinds, namespace, set, pass, lifetimes } = input;
  const applier = new Applier({ client, kinds }, pass);
  const keeper = new CertificateKeeper({ certifier, namespace, lifetimes, kinds, applier });
  // Certificates before what trusts them: a webhook must not be called under one that does not exist.
  const { bundle } = await keptBeside(keeper, applyBase(input, applier, ctx), input, ctx);
  await applier.applyAll([...renderTrusting(set.trusting, bundle), ...set.budgets], ctx);
  const { gap, created, isApiReady } = await applyWorkloads(input, applier, ctx);
  const commonGap = isApiReady ? await applyCommon(input, applier, ctx) : undefined;
  const isReading = input.isReading || kinds.isReading();
  if (created && !isReading) await removeObsolete(client, managedNow(kinds), applier.applied, ctx);
  const nextAt = commonGap || isReading ? ctx.now() + LOOK_AGAIN_MS : keeper.nextAt;
  return { gap: gap ?? commonGap, created, generations: applier.generations, nextAt };
}

/** Who trusts a new authority must know of it also when the pass goes no further. */
async function keptBeside(keeper: CertificateKeeper, base: Promise<void>, { client, kinds }: InstallInput, ctx: Ctx): Promise<Trust> {
  const [kept, based] = await Promise.allSettled([keeper.keepAll(ctx), base]);
  if (kept.status === 'rejected') throw kept.reason;
  if (based.status === 'fulfilled') return kept.value;
  await renewTrust(client, kinds, kept.value.bundle, ctx);
  throw based.reason;
}

/** Kinds and rights before everything. A binding is refused until its role exists. */
async function applyBase({ kinds, set }: InstallInput, applier: Applier, ctx: Ctx): Promise<void> {
  const monitoring = kinds.monitoring() ? set.monitoring : [];
  const all = [...set.crds, ...set.rbac, ...set.services, ...set.policies, ...monitoring];
  const isBinding = ({ kind }: KubeObject): boolean => kind === 'RoleBinding' || kind === 'ClusterRoleBinding';
  await applier.applyAll(
    all.filter((object) => !isBinding(object)),
    ctx,
  );
  await applier.applyAll(all.filter(isBinding), ctx);
}

/** Instance types and preferences: once their kinds are served and virt-api answers for them. Returns what is waited for. */
async function applyCommon({ kinds, set }: InstallInput, applier: Applier, ctx: Ctx): Promise<string | undefined> {
  if (!kinds.common()) return set.common.length > 0 ? 'the kinds of instance types are not served yet' : undefined;
  try {
    await applier.applyAll(set.common, ctx);
    return undefined;
  } catch (err) {
    // virt-api has just become ready, and not every API server knows it yet.
    if (!hasCode(err, 'Unavailable', 'Timeout', 'NotFound')) throw err;
    ctx.log.info({ err: messageOf(err) }, 'The common instance types cannot be written yet');
    return `the common instance types are not all there yet (${messageOf(err)})`;
  }
}

const managedNow = (kinds: ManagedKinds): ManagedKinds['others'] => [
  ...kinds.others,
  ...(kinds.common() ?? []),
  ...(kinds.monitoring() ?? []),
];

type Step = { readonly workload: keyof Workloads; readonly wait: boolean };

const ORDERS: Readonly<Record<InstallInput['order'], readonly Step[]>> = {
  fresh: [
    { workload: 'api', wait: true },
    { workload: 'controller', wait: false },
    { workload: 'handler', wait: false },
  ],
  update: [
    { workload: 'handler', wait: true },
    { workload: 'controller', wait: true },
    { workload: 'api', wait: false },
  ],
  steady: [
    { workload: 'api', wait: false },
    { workload: 'controller', wait: false },
    { workload: 'handler', wait: false },
  ],
};

async function applyWorkloads(
  { set, order, podsOf }: InstallInput,
  applier: Applier,
  ctx: Ctx,
): Promise<{ gap: string | undefined; created: boolean; isApiReady: boolean }> {
  let isApiReady = false;
  const gaps: string[] = [];
  for (const { workload, wait } of ORDERS[order]) {
    const applied: Deployment | DaemonSet = await applier.apply<Deployment | DaemonSet>(set.workloads[workload], ctx);
    const name = applied.metadata.name ?? workload;
    const gap = rolloutGap(applied, name, podsOf(name));
    if (workload === 'api') isApiReady = gap === undefined;
    if (gap) gaps.push(gap);
    if (gap && wait) return { gap, created: false, isApiReady };
  }
  return { gap: gaps.length > 0 ? gaps.join('; ') : undefined, created: true, isApiReady };
}
