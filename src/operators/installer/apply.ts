// Brings one object to its wanted state: creates, repairs or leaves it. Compares with the cache first, so that an installation at
// rest writes nothing. Every write is guarded by the version that was looked at; a lost race ends as Conflict and is repeated.
import type { GenerationStatus, KubeObject } from '../../api/index.js';
import { keyOf, LABEL } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, isKvError, KvError } from '../../base/errors.js';
import type { KubeClient, Resource } from '../../runtime/types.js';
import { repair } from './diff.js';
import type { ManagedKinds } from './managed.js';
import { OPERATOR_NAME } from './manifests/names.js';
import type { Target } from './status.js';

export interface ApplyDeps {
  readonly client: KubeClient;
  readonly kinds: ManagedKinds;
}

/** What stays the same for a whole pass. */
export interface Pass {
  readonly target: Target;
  readonly product: Readonly<Record<string, string>>;
  /** Generations as we left them, from the CR's status. */
  readonly lastSeen: readonly GenerationStatus[];
}

/** The results of all; when one fails, its error, but only after the others have ended: nothing goes on behind a failed pass. */
export async function allDone<T extends readonly unknown[]>(work: { readonly [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}

/** Whose generations are kept: of Kubernetes' own groups. A hundred instance types would only make the CR long. */
const hasKeptGeneration = ({ group }: Resource<KubeObject>): boolean => group === 'apps' || group === 'policy' || group.endsWith('.k8s.io');

const AGAIN_AFTER_MS = 1000;
/** Its end is told; whoever keeps it may do so for long. */
const LOOK_AFTER_MS = 30_000;
/** Requests under way at once: the API server takes longer for each than we do. */
const PARALLEL = 16;
/** Parts of these cannot be changed (roleRef, selector): they are made anew instead. */
const RECREATED = new Set(['RoleBinding', 'ClusterRoleBinding', 'Deployment', 'DaemonSet']);
const UNCHANGEABLE = /: (field is immutable|cannot change roleRef)$/;

/** That alone is wrong. What is refused for its content would be refused again, and what works now would be gone. */
function isUnchangeable(err: unknown): boolean {
  if (!isKvError(err) || err.code !== 'Invalid') return false;
  const causes = (err.details.causes ?? []) as readonly { readonly message?: string }[];
  return causes.length > 0 && causes.every(({ message = '' }) => UNCHANGEABLE.test(message));
}

const later = (message: string, cause?: unknown, afterMs = AGAIN_AFTER_MS): KvError =>
  new KvError('NotReady', message, { retry: { afterMs }, ...(cause === undefined ? {} : { cause }) });

export class Applier {
  readonly #deps: ApplyDeps;
  readonly #pass: Pass;
  readonly #generations: GenerationStatus[] = [];
  readonly #applied = new Set<string>();

  constructor(deps: ApplyDeps, pass: Pass) {
    this.#deps = deps;
    this.#pass = pass;
  }

  /** Of what was applied in this pass and has a generation. */
  get generations(): readonly GenerationStatus[] {
    return this.#generations;
  }

  /** `Kind/key` of everything that belongs to the installation. */
  get applied(): ReadonlySet<string> {
    return this.#applied;
  }

  async apply<T extends KubeObject>(object: T, ctx: Ctx): Promise<T> {
    const desired = stamped(object, this.#pass);
    const { resource, store } = this.#deps.kinds.of(desired);
    this.#applied.add(`${resource.kind}/${keyOf(desired)}`);
    const existing = store.get(keyOf(desired));
    const result = existing ? await this.#repair(resource, existing, desired, ctx) : await this.#create(resource, desired, ctx);
    this.#note(resource, result);
    return result as T;
  }

  /** In any order: nothing of the list depends on another part of it. Ends with the first failure, after what was under way. */
  async applyAll(objects: readonly KubeObject[], ctx: Ctx): Promise<void> {
    const waiting = [...objects];
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next && failures.length === 0; next = waiting.shift()) {
        try {
          await this.apply(next, ctx);
        } catch (err) {
          failures.push(err); // thrown below, when no request is under way any more
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    if (failures.length > 0) throw failures[0];
  }

  async #create(resource: Resource<KubeObject>, desired: KubeObject, ctx: Ctx): Promise<KubeObject> {
    ctx.log.info({ kind: resource.kind, object: keyOf(desired) }, 'Creating');
    try {
      return await this.#deps.client.create(resource, desired);
    } catch (err) {
      if (!hasCode(err, 'AlreadyExists')) throw err;
      // There without our label (applied by hand, as the CRDs are): it becomes ours.
      const existing = await this.#deps.client.get(resource, keyOf(desired));
      // Ours already, and made a moment ago: what was decided without knowing it (a key, a bundle) must not replace it.
      if (existing.metadata.labels?.[LABEL.managedBy] === OPERATOR_NAME) throw later(`${resource.kind} ${keyOf(desired)} is not seen yet`);
      return await this.#repair(resource, existing, desired, ctx);
    }
  }

  async #repair(resource: Resource<KubeObject>, existing: KubeObject, desired: KubeObject, ctx: Ctx): Promise<KubeObject> {
    if (existing.metadata.deletionTimestamp) {
      const message = `${resource.kind} ${keyOf(desired)} is being deleted; it is created again afterwards`;
      throw later(message, undefined, LOOK_AFTER_MS);
    }
    const ops = repair(existing, desired, this.#wasTouched(resource, existing));
    if (ops.length === 0) return existing;
    ctx.log.info({ kind: resource.kind, object: keyOf(desired), paths: ops.map(({ path }) => path) }, 'Changing');
    try {
      return await this.#deps.client.jsonPatch(resource, keyOf(desired), ops);
    } catch (err) {
      if (!RECREATED.has(resource.kind) || !isUnchangeable(err)) throw err;
      return await this.#recreate(resource, existing, err, ctx);
    }
  }

  async #recreate(resource: Resource<KubeObject>, existing: KubeObject, cause: unknown, ctx: Ctx): Promise<never> {
    ctx.log.warn({ kind: resource.kind, object: keyOf(existing), err: cause }, 'Deleting what cannot be changed, to create it anew');
    const { uid } = existing.metadata;
    await this.#deps.client.delete(resource, keyOf(existing), { propagationPolicy: 'Background', ...(uid ? { uid } : {}) });
    throw later(`${resource.kind} ${keyOf(existing)} is created anew`, cause);
  }

  #wasTouched(resource: Resource<KubeObject>, { metadata }: KubeObject): boolean {
    const last = this.#pass.lastSeen.find(({ group, resource: plural, name, namespace = '' }) => {
      return group === resource.group && plural === resource.plural && name === metadata.name && namespace === (metadata.namespace ?? '');
    });
    return last !== undefined && metadata.generation !== undefined && last.lastGeneration !== metadata.generation;
  }

  #note(resource: Resource<KubeObject>, { metadata }: KubeObject): void {
    if (metadata.generation === undefined || !hasKeptGeneration(resource)) return;
    this.#generations.push({
      group: resource.group,
      resource: resource.plural,
      ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
      name: metadata.name ?? '',
      lastGeneration: metadata.generation,
    });
  }
}

/** Marks an object, and the pods it makes, as this installation's. */
function stamped(object: KubeObject, { target, product }: Pass): KubeObject {
  const { metadata } = object;
  const labels = { [LABEL.managedBy]: OPERATOR_NAME, ...product };
  const result = {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...labels },
      annotations: {
        ...metadata.annotations,
        'kubevirt.io/install-strategy-version': target.version,
        'kubevirt.io/install-strategy-registry': target.registry,
        'kubevirt.io/install-strategy-identifier': target.id,
      },
    },
  };
  const workload = object as { spec?: { template?: { metadata?: KubeObject['metadata'] } } };
  const template = workload.spec?.template;
  if (!template?.metadata || object.kind === 'CustomResourceDefinition') return result;
  const pods = { ...template, metadata: { ...template.metadata, labels: { ...template.metadata.labels, ...product } } };
  return { ...result, spec: { ...workload.spec, template: pods } } as KubeObject;
}
