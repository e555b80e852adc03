// Remembers from which version of an object our last write started. As long as the cache still shows that very version, it has not
// seen our own write yet: deciding on it again would only repeat the write and meet a Conflict. Versions are compared for equality only.
import type { ObjectKey } from '../api/meta.js';

interface Versioned {
  readonly metadata: { readonly resourceVersion?: string };
}

export class StaleGuard {
  readonly #base = new Map<ObjectKey, string>();

  /** Call after a successful write that started from `from` and gave `stored`. A write that changed nothing brings no event. */
  written(key: ObjectKey, from: Versioned, stored: Versioned): void {
    const { resourceVersion } = from.metadata;
    if (resourceVersion !== undefined && stored.metadata.resourceVersion !== resourceVersion) this.#base.set(key, resourceVersion);
  }

  /** The cached object is the one that we have replaced; its update is on the way and brings the next look. */
  isStale(key: ObjectKey, object: Versioned): boolean {
    const base = this.#base.get(key);
    if (base === undefined) return false;
    if (object.metadata.resourceVersion === base) return true;
    this.#base.delete(key);
    return false;
  }

  forget(key: ObjectKey): void {
    this.#base.delete(key);
  }
}
