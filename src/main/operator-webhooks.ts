// The webhooks by which virt-operator guards the KubeVirt CR, as HTTP routes: reads what a decision needs from the API server, lets the
// installer's rules decide. Here and not in a room of its own, since it joins the rules of `operators` with the reviews of `webhooks`.
import type { KubeObject, KubeVirt } from '../api/index.js';
import { hasCode, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Route } from '../http/index.js';
import {
  admitKubeVirtCreate,
  admitKubeVirtDelete,
  admitKubeVirtUpdate,
  isDeletionGuarded,
  type KubeVirtVerdict,
} from '../operators/installer/admit-kubevirt.js';
import type { KubeVirtCause } from '../operators/installer/admit-kubevirt-rules.js';
import { OPERATOR_HOOK_PATH } from '../operators/installer/manifests/webhooks.js';
import { placementCause, placementProbes } from '../operators/installer/placement-probe.js';
import { DAEMON_SETS, DEPLOYMENTS, KUBEVIRTS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient, Resource } from '../runtime/types.js';
import { type AdmissionRequest, responseOf } from '../webhooks/review.js';
import { reviewHandler } from '../webhooks/server.js';
import { createStructuralCheck } from '../webhooks/structural.js';
import { allow, refuse, structuralVerdict, type Verdict } from '../webhooks/verdict.js';

const structure = createStructuralCheck();
const REPLICA_SETS: Resource<KubeObject> = {
  group: 'kubevirt.io',
  version: 'v1',
  plural: 'virtualmachineinstancereplicasets',
  kind: 'VirtualMachineInstanceReplicaSet',
  namespaced: true,
};

/** What the API server has against the placement that a change asks for. */
async function placementCauses(client: KubeClient, kv: KubeVirt, old: KubeVirt): Promise<KubeVirtCause[]> {
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

type Admit = (next: KubeVirt, old: KubeVirt) => Promise<KubeVirtVerdict> | KubeVirtVerdict;

interface Hook {
  /** Which of the request's objects it looks at; they are sound then. */
  readonly reads: readonly ('object' | 'oldObject')[];
  readonly admit: Admit;
}

function soundness({ operation, object, oldObject }: AdmissionRequest, { reads }: Hook): Verdict {
  for (const name of reads) {
    const given = name === 'object' ? object : oldObject;
    if (!given) return refuse(`the ${operation} request carries no ${name}`);
    const problems = name === 'object' ? structure.problems('KubeVirt', given) : structure.storedProblems('KubeVirt', given);
    const verdict = structuralVerdict(problems);
    if (!verdict.allowed) return verdict;
  }
  return allow();
}

function hooks(client: KubeClient): Record<string, Hook> {
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
    [OPERATOR_HOOK_PATH.create]: {
      reads: ['object'],
      admit: async (kv) => admitKubeVirtCreate(kv, (await client.list(KUBEVIRTS)).items),
    },
    [OPERATOR_HOOK_PATH.update]: {
      reads: ['object', 'oldObject'],
      admit: async (kv, old) => {
        const verdict = admitKubeVirtUpdate(kv, old);
        const unplaceable = verdict.allowed ? await placementCauses(client, kv, old) : [];
        return unplaceable.length > 0 ? { allowed: false, causes: unplaceable } : verdict;
      },
    },
    [OPERATOR_HOOK_PATH.delete]: {
      reads: ['oldObject'],
      admit: async (_next, kv) => {
        if (!isDeletionGuarded(kv)) return admitKubeVirtDelete(kv, { vmis: 0, vms: 0, replicaSets: 0 });
        const [vmis, vms] = [await count(VIRTUAL_MACHINE_INSTANCES), await count(VIRTUAL_MACHINES)];
        return admitKubeVirtDelete(kv, { vmis, vms, replicaSets: await count(REPLICA_SETS) });
      },
    },
  };
}

export function operatorWebhookRoutes(client: KubeClient, log: Logger): Route[] {
  return Object.entries(hooks(client)).map(([path, hook]) => ({
    method: 'POST',
    path,
    ...reviewHandler(async (request) => {
      const sound = soundness(request, hook);
      const [next, old] = [request.object, request.oldObject].map((object) => structure.completed('KubeVirt', object ?? {}) as KubeVirt);
      return responseOf(sound.allowed && next && old ? await hook.admit(next, old) : sound);
    }, log),
  }));
}
