// Writes VMI status as whole objects (the kind has no status subresource), only when something differs, and remembers what it wrote until
// the informer has caught up: a reconcile on an old copy would decide, and tell users, things twice.
import type { ObjectKey, VirtualMachineInstance, VirtualMachineInstanceStatus } from '../../api/index.js';
import { keyOf, splitKey } from '../../api/meta.js';
import { deepEqual } from '../../runtime/patch.js';
import { VIRTUAL_MACHINE_INSTANCES } from '../../runtime/resources.js';
import type { KubeClient, Store } from '../../runtime/types.js';

type VmiClient = Pick<KubeClient, 'update' | 'list'>;

interface Written {
  /** Version that the write was based on: while the store shows it, our object is newer. */
  readonly from: string | undefined;
  readonly object: VirtualMachineInstance;
}

export class VmiWriter {
  readonly #store: Store<VirtualMachineInstance>;
  readonly #client: VmiClient;
  readonly #written = new Map<ObjectKey, Written>();

  constructor(store: Store<VirtualMachineInstance>, client: VmiClient) {
    this.#store = store;
    this.#client = client;
  }

  /** The newest copy known. */
  get(key: ObjectKey): VirtualMachineInstance | undefined {
    const stored = this.#store.get(key);
    const written = this.#written.get(key);
    if (written === undefined) return stored;
    if (stored !== undefined && stored.metadata.resourceVersion === written.from) return written.object;
    this.#written.delete(key);
    return stored;
  }

  /** Asks the API server: an object that left our label-selected cache need not be gone. */
  async find(key: ObjectKey): Promise<VirtualMachineInstance | undefined> {
    const { namespace = '', name } = splitKey(key);
    const found = await this.#client.list(VIRTUAL_MACHINE_INSTANCES, { namespace, fieldSelector: `metadata.name=${name}` });
    return found.items[0];
  }

  /** The written object, or the given one when its status is equal already. Throws Conflict when somebody was faster. */
  async write(vmi: VirtualMachineInstance, status: VirtualMachineInstanceStatus): Promise<VirtualMachineInstance> {
    if (deepEqual(vmi.status, status)) return vmi;
    const key = keyOf(vmi);
    const object = await this.#client.update(VIRTUAL_MACHINE_INSTANCES, { ...vmi, status });
    // A second write before the informer moved still starts from the version that the store shows.
    const from = this.#written.get(key)?.from ?? vmi.metadata.resourceVersion;
    this.#written.set(key, { from, object });
    return object;
  }
}
