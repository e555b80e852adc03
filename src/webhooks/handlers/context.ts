// What every admission handler has in common: what it may ask, and that it only looks at sound objects of its own kind.
import type { KubeObject } from '../../api/index.js';
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/logger.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import type { KubeClient } from '../../runtime/types.js';
import type { AdmissionFacts } from '../facts.js';
import { type AdmissionRequest, type AdmissionResponse, responseOf } from '../review.js';
import { isOwnAccount } from '../service-accounts.js';
import type { StructuralCheck } from '../structural.js';
import { refuse, structuralVerdict, type Verdict } from '../verdict.js';

export interface WebhookDeps {
  readonly client: KubeClient;
  readonly config: () => ClusterConfig;
  readonly installNamespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly randomUuid: () => string;
}

export interface Context extends WebhookDeps {
  readonly facts: AdmissionFacts;
  readonly structural: StructuralCheck;
}

export type Admitter = (request: AdmissionRequest, context: Context) => Promise<AdmissionResponse> | AdmissionResponse;

export interface Kind {
  readonly group: string;
  readonly versions: readonly string[];
  readonly resource: string;
  readonly kind: string;
}

export const own = (request: AdmissionRequest, context: Context): boolean =>
  isOwnAccount(request.userInfo.username, context.installNamespace);

/** An update is judged against what is stored, which has to be there and readable. */
export function storedFault(kind: string, { oldObject }: AdmissionRequest, { structural }: Context): Verdict | undefined {
  if (!oldObject) return refuse('the UPDATE request carries no old object');
  const [problem] = structural.storedProblems(kind, oldObject);
  return problem === undefined ? undefined : refuse(`the stored ${kind} cannot be read, so that no change of it can be judged: ${problem}`);
}

/** Only for requests about the given kind; the object's structure is checked and its required scalars filled in. */
export function about(
  kind: Kind,
  decide: (object: KubeObject, request: AdmissionRequest, context: Context) => Promise<AdmissionResponse> | AdmissionResponse,
): Admitter {
  return (request, context) => {
    const { group, version, resource } = request.resource;
    if (group !== kind.group || resource !== kind.resource || !kind.versions.includes(version)) {
      return responseOf(refuse(`expect resource to be '${kind.resource}'`));
    }
    const { object } = request;
    if (!object) return responseOf(refuse(`the ${request.operation} request carries no object`));
    const structure = structuralVerdict(context.structural.problems(kind.kind, object));
    if (!structure.allowed) return responseOf(structure);
    const stored = request.operation === 'UPDATE' ? storedFault(kind.kind, request, context) : undefined;
    if (stored) return responseOf(stored);
    return decide(context.structural.completed(kind.kind, object), request, context);
  };
}

/** With metadata, as `completed` objects have. */
export const oldOf = <T extends KubeObject>({ operation, oldObject }: AdmissionRequest): T | undefined =>
  operation === 'UPDATE' && oldObject ? ({ ...oldObject, metadata: oldObject.metadata ?? {} } as T) : undefined;

/** The namespace that the request is about; empty for cluster-wide objects. */
export const namespaceOf = (object: KubeObject, request: AdmissionRequest): string => object.metadata.namespace ?? request.namespace ?? '';
