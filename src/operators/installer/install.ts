// One pass of an installation, in order: kinds, rights, services, certificates and who trusts them, workloads one after the other.
// Repeats itself harmlessly; ends early where something must be ready first, and says what.
import type { DaemonSet, Deployment, Pod } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import type { KubeClient } from '../../runtime/types.js';
import { Applier, type Pass } from './apply.js';
import { CertificateKeeper, type Certifier } from './certificates/certificate-keeper.js';
import type { Lifetimes } from './certificates/specs.js';
import type { ManagedKinds } from './managed.js';
import { type InstallSet, renderTrusting, type Workloads } from './manifests/index.js';
import { removeObsolete } from './remove.js';
import { rolloutGap } from './rollout.js';

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
  /** 'fresh': API first, so that nothing is accepted that nobody checks. 'update': agents first, so that no launcher meets an older
   * one. 'steady': everything at once. */
  readonly order: 'fresh' | 'update' | 'steady';
}

export interface InstallOutcome {
  /** What is waited for; undefined: everything is there and ready. */
  readonly gap: string | undefined;
  readonly created: boolean;
  readonly generations: Applier['generations'];
  /** When the next certificate is due. */
  readonly nextAt: number;
}

export async function install(input: InstallInput, ctx: Ctx): Promise<InstallOutcome> {
  const { client, certifier, kinds, namespace, set, pass, lifetimes } = input;
  const applier = new Applier({ client, kinds }, pass);
  const keeper = new CertificateKeeper({ certifier, namespace, lifetimes, kinds, applier });
  for (const object of [...set.crds, ...set.rbac, ...set.services, ...set.policies]) await applier.apply(object, ctx);
  const trust = await keeper.keepAuthorities(ctx);
  // Before what trusts them: a webhook must not be called under a certificate that does not exist.
  await keeper.keepLeaves(trust, ctx);
  for (const object of renderTrusting(namespace, trust.bundle)) await applier.apply(object, ctx);
  for (const budget of set.budgets) await applier.apply(budget, ctx);
  const { gap, created } = await applyWorkloads(input, applier, ctx);
  if (created) await removeObsolete(client, kinds, applier.applied, ctx);
  return { gap, created, generations: applier.generations, nextAt: keeper.nextAt };
}

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
): Promise<{ gap: string | undefined; created: boolean }> {
  const gaps: string[] = [];
  for (const { workload, wait } of ORDERS[order]) {
    const applied: Deployment | DaemonSet = await applier.apply<Deployment | DaemonSet>(set.workloads[workload], ctx);
    const name = applied.metadata.name ?? workload;
    const gap = rolloutGap(applied, name, podsOf(name));
    if (gap) gaps.push(gap);
    if (gap && wait) return { gap, created: false };
  }
  return { gap: gaps.length > 0 ? gaps.join('; ') : undefined, created: true };
}
