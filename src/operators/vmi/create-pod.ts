// Creates a pod once, however often that is tried: of launchers and of attachments. The caller gives the name, and reports what goes wrong.
import { keyOf, type ObjectKey, type Pod } from '../../api/index.js';
import { hasCode } from '../../base/errors.js';
import { PODS } from '../../runtime/resources.js';
import type { Expectations, KubeClient, Store } from '../../runtime/types.js';

interface PodDeps {
  readonly pods: Store<Pod>;
  readonly client: KubeClient;
  readonly expectations: Expectations;
}

/** `isOwn` says of a pod that stands in the way whether it is the very one that was to be created. */
export async function createPodOnce(
  d: PodDeps,
  key: ObjectKey,
  pod: Pod,
  isOwn: (found: Pod) => boolean,
): Promise<{ pod: Pod; isNew: boolean }> {
  const name = pod.metadata.name ?? '';
  d.expectations.expectCreation(key, name);
  try {
    return { pod: await d.client.create(PODS, pod), isNew: true };
  } catch (err) {
    // A look-up that fails says less than the refusal that led to it: that one is thrown, reported and retried.
    const found = hasCode(err, 'AlreadyExists') ? await d.client.find(PODS, keyOf(pod)).catch(() => undefined) : undefined;
    if (found && isOwn(found)) {
      // Created by an earlier attempt: its event is on the way and settles the expectation, unless it came before anybody waited for it.
      if (d.pods.get(keyOf(found))) d.expectations.observedCreation(key, name);
      return { pod: found, isNew: false };
    }
    d.expectations.observedCreation(key, name);
    throw err;
  }
}
