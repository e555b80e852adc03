// VSOCK addresses of guests: where the kernel keeps one address space for the node and where one a network namespace, and which address a guest
// gets. Used by virt-controller, virt-handler and the launcher. Pure.

/** "local" where network namespaces have VSOCK addresses of their own. Seen from the namespace of whoever opens it. */
export const VSOCK_MODE_FILE = '/proc/sys/net/vsock/ns_mode';

/** Address of the only guest in a namespace of its own; the smallest that a guest may have. */
export const LOCAL_VSOCK_CID = 3;

/** Above it is only "any". */
const LARGEST = 2 ** 32 - 2;
const COUNT = LARGEST - LOCAL_VSOCK_CID + 1;

/** The first address from `start` on that nobody has; `start` is any whole number from 0. */
export function freeCid(start: number, taken: ReadonlySet<number>): number | undefined {
  for (let i = 0; i < Math.min(COUNT, taken.size + 1); i++) {
    const cid = LOCAL_VSOCK_CID + ((start + i) % COUNT);
    if (!taken.has(cid)) return cid;
  }
  return undefined;
}
