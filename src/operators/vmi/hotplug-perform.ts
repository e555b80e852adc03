// Creates and deletes attachment and trigger pods: the only place that does. Every step can be repeated; what to do is decided in hotplug.ts.
import { isDeleting, type ObjectKey, type Pod } from '../../api/index.js';
import { hasCode, messageOf } from '../../base/errors.js';
import { PODS } from '../../runtime/resources.js';
import type { EventRecorder, Expectations, KubeClient } from '../../runtime/types.js';
import { isAttachment, worksFor } from './attachments.js';
import type { HotplugStep } from './hotplug.js';
import type { Seen } from './seen.js';
import { text } from './text.js';

export interface HotplugDeps {
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
  d.expectations.expectCreation(key, step.name);
  try {
    return await d.client.create(PODS, rendered(d, seen, step));
  } catch (err) {
    // Created by an earlier attempt; its event is on the way, and settles the expectation.
    const existing = hasCode(err, 'AlreadyExists') ? await ownPod(d, seen, step.name).catch(() => undefined) : undefined;
    if (existing) return existing;
    d.expectations.observedCreation(key, step.name);
    d.events.event(seen.vmi, 'Warning', 'FailedCreate', text.attachFailed(messageOf(err)));
    throw err;
  }
}

async function ownPod(d: HotplugDeps, { vmi }: Seen, name: string): Promise<Pod | undefined> {
  const found = await d.client.find(PODS, `${vmi.metadata.namespace}/${name}`);
  return found && isAttachment(found) && worksFor(found, vmi) && !isDeleting(found) ? found : undefined;
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
  await client.delete(PODS, `${namespace}/${name}`, { uid }).catch((err: unknown) => {
    if (!hasCode(err, 'NotFound')) throw err; // gone is what we want
  });
}

/** Pods of a VMI that is no more: it went while one was being created. */
export async function removeOrphans(d: Pick<HotplugDeps, 'client'>, pods: readonly Pod[]): Promise<void> {
  for (const pod of pods) if (!isDeleting(pod)) await deletePod(d, pod);
}
