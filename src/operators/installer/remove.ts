// Takes an installation away. First the CRDs of virtual machines, while every component still runs: the API server deletes their
// objects, and our controllers let the guests end in order. Only when all of them are gone follows the rest.
import { type CustomResourceDefinition, FINALIZER, type KubeObject, keyOf } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode } from '../../base/errors.js';
import { changeFinalizers, dropFinalizers, hasFinalizer } from '../../runtime/finalizers.js';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../runtime/resources.js';
import type { KubeClient, Resource } from '../../runtime/types.js';
import { allDone } from './apply.js';
import type { ManagedKind, ManagedKinds } from './managed.js';

/** Nothing is heard when that has happened. */
export const READING = 'reading what there is to remove';

/** One step further; returns what is still there, or undefined when nothing is. */
export async function removeInstallation(client: KubeClient, kinds: ManagedKinds, ctx: Ctx): Promise<string | undefined> {
  const crds = kinds.crds.store.list() as readonly CustomResourceDefinition[];
  if (crds.length > 0) {
    await removeCrds(client, crds, ctx);
    return `waiting for the objects of ${crds.map(({ metadata }) => metadata.name).join(', ')} to end`;
  }
  if (kinds.isReading()) return READING;
  const left: string[] = [];
  for (const { resource, store } of [...kinds.others, ...(kinds.monitoring() ?? [])]) {
    const objects = store.list();
    await allDone(objects.map((object) => remove(client, resource, object, ctx)));
    left.push(...objects.map((object) => `${resource.kind} ${keyOf(object)}`));
  }
  return left.length === 0 ? undefined : `removing ${left.length} objects`;
}

async function removeCrds(client: KubeClient, crds: readonly CustomResourceDefinition[], ctx: Ctx): Promise<void> {
  // All CRDs are held until the objects of all are gone: VMs own VMIs, and a controller must not lose one kind before the other.
  const holdAndRemove = async (crd: CustomResourceDefinition): Promise<void> => {
    if (!hasFinalizer(crd, FINALIZER.crd)) {
      await changeFinalizers(client, CUSTOM_RESOURCE_DEFINITIONS, crd, { add: [FINALIZER.crd] });
    }
    await remove(client, CUSTOM_RESOURCE_DEFINITIONS, crd, ctx);
  };
  await allDone(crds.filter(({ metadata }) => !metadata.deletionTimestamp).map(holdAndRemove));
  if (!crds.every(isEmptied)) return;
  await allDone(crds.map((crd) => dropFinalizers(client, CUSTOM_RESOURCE_DEFINITIONS, crd, FINALIZER.crd)));
}

export function isEmptied(crd: CustomResourceDefinition): boolean {
  if (!crd.metadata.deletionTimestamp) return false;
  return (
    crd.status?.conditions?.some(
      ({ type, status, reason }) => type === 'Terminating' && status === 'False' && reason === 'InstanceDeletionCompleted',
    ) === true
  );
}

async function remove(client: KubeClient, resource: Resource<KubeObject>, object: KubeObject, ctx: Ctx): Promise<void> {
  if (object.metadata.deletionTimestamp) return;
  const { uid } = object.metadata;
  ctx.log.info({ kind: resource.kind, object: keyOf(object) }, 'Deleting');
  try {
    await client.delete(resource, keyOf(object), { gracePeriodSeconds: 0, propagationPolicy: 'Background', ...(uid ? { uid } : {}) });
  } catch (err) {
    // Gone, or made anew by somebody: the cache will tell.
    if (!hasCode(err, 'NotFound', 'Conflict')) throw err;
  }
}

/** Objects of an earlier version that are no longer part of the installation; `wanted` holds `Kind/key`. */
export async function removeObsolete(
  client: KubeClient,
  kinds: readonly ManagedKind[],
  wanted: ReadonlySet<string>,
  ctx: Ctx,
): Promise<void> {
  for (const { resource, store } of kinds) {
    for (const object of store.list()) {
      if (!wanted.has(`${resource.kind}/${keyOf(object)}`)) await remove(client, resource, object, ctx);
    }
  }
}
