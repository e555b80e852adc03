// Creates and deletes attachment and trigger pods: the only place that does. Every step can be repeated; what to do is decided in hotplug.ts.
import { isDeleting, type ObjectKey, type Pod } from '../../api/index.js';
import { unlessGone } from '../../runtime/gone.js';
import { PODS } from '../../runtime/resources.js';
import type { EventRecorder, Expectations, KubeClient, Store } from '../../runtime/types.js';
import { explained, withWords } from '../refusals.js';
import { isAttachment, worksFor } from './attachments.js';
import { createPodOnce } from './create-pod.js';
import type { HotplugStep } from './hotplug.js';
import type { Seen } from './seen.js';
import { text } from './text.js';

export interface HotplugDeps {
  readonly pods: Store<Pod>;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly expectations: Expectations;
  readonly renderAttachment: (seen: Seen, launcher: Pod, volumes: readonly string[]) => Pod;
  readonly renderTrigger: (seen: Seen, launcher: Pod, volume: string) => Pod;
}

/** Returns the snapshot as it is afterwards. */
export async function performHotplug(d: HotplugDeps, key: ObjectKey, seen: Seen, step: HotplugStep): Promise<Seen> {
  if (step.do === 'deleteAttachment') {
    await remove(d, key, step.pod);
    return seen;
  }
  const pod = await create(d, key, seen, step);
  return { ...seen, attachments: [...seen.attachments, pod] };
}

type Creation = Exclude<HotplugStep, { do: 'deleteAttachment' }>;

function rendered(d: HotplugDeps, seen: Seen, step: Creation): Pod {
  const launcher = seen.pod as Pod; // no step without it
  const pod = step.do === 'createTrigger' ? d.renderTrigger(seen, launcher, step.volume) : d.renderAttachment(seen, launcher, step.volumes);
  const { generateName: _, ...metadata } = pod.metadata;
  return { ...pod, metadata: { ...metadata, name: step.name } };
}

async function create(d: HotplugDeps, key: ObjectKey, seen: Seen, step: Creation): Promise<Pod> {
  const { vmi } = seen;
  try {
    const isOwn = (found: Pod): boolean => isAttachment(found) && worksFor(found, vmi) && !isDeleting(found);
    return (await createPodOnce(d, key, rendered(d, seen, step), isOwn)).pod;
  } catch (err) {
    const message = text.attachFailed(explained(err, vmi.metadata.namespace ?? ''));
    d.events.event(vmi, 'Warning', 'FailedCreate', message);
    throw withWords(err, message);
  }
}

async function remove(d: HotplugDeps, key: ObjectKey, pod: Pod): Promise<void> {
  const { uid = '' } = pod.metadata;
  d.expectations.expectDeletion(key, uid);
  try {
    await deletePod(d, pod);
  } catch (err) {
    d.expectations.observedDeletion(key, uid);
    throw err;
  }
}

async function deletePod({ client }: Pick<HotplugDeps, 'client'>, { metadata }: Pod): Promise<void> {
  const { name, namespace, uid = '' } = metadata;
  await unlessGone(client.delete(PODS, `${namespace}/${name}`, { uid }));
}

/** Pods of a VMI that is no more: it went while one was being created. */
export async function removeOrphans(d: Pick<HotplugDeps, 'client'>, pods: readonly Pod[]): Promise<void> {
  for (const pod of pods) if (!isDeleting(pod)) await deletePod(d, pod);
}
