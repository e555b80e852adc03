// Whether the KubeVirt CR lets components take profiles of themselves, for processes that follow the CR by an informer.
import { isDeleting } from '../api/index.js';
import { KUBEVIRTS } from '../runtime/resources.js';
import type { Manager } from '../runtime/types.js';

/** Before manager.run(). */
export function followProfiling(manager: Manager): () => boolean {
  const { store } = manager.informer(KUBEVIRTS);
  return () => {
    const kubevirt = store.list().find((kv) => !isDeleting(kv));
    return kubevirt?.spec.configuration?.developerConfiguration?.clusterProfiler === true;
  };
}
