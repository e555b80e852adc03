// Which NUMA cell of the node each PCI device is next to, as the kernel tells. Read before a guest with NUMA cells of its node starts. Devices
// of which the kernel does not know are left out.
import { readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { VmiOptions } from '../../rpc/index.js';

const PCI_DEVICES = '/sys/bus/pci/devices';

/** By address. Undefined where nobody asks. */
export async function pciNodesFor(vmi: VirtualMachineInstance, sent: VmiOptions | undefined): Promise<Record<string, number> | undefined> {
  const { cpu } = vmi.spec.domain;
  if (!sent?.clusterConfig?.PCINUMAAwareTopologyEnabled || !cpu?.numa?.guestMappingPassthrough) return undefined;
  return readPciNodes();
}

export async function readPciNodes(dir = PCI_DEVICES): Promise<Record<string, number>> {
  const addresses = await readdir(dir).catch((err: NodeJS.ErrnoException) => absent(err, dir) ?? []);
  const nodes = await Promise.all(
    addresses.map(async (address) => [address, await nodeOf(posix.join(dir, address, 'numa_node'))] as const),
  );
  return Object.fromEntries(nodes.filter(([, node]) => node >= 0));
}

async function nodeOf(path: string): Promise<number> {
  const text = await readFile(path, 'utf8').catch((err: NodeJS.ErrnoException) => absent(err, path) ?? '-1');
  return Number.parseInt(text, 10);
}

/** A node without PCI, a kernel without NUMA, or a device that has just gone. */
function absent(err: NodeJS.ErrnoException, path: string): undefined {
  if (err.code === 'ENOENT') return undefined;
  throw new KvError('Internal', `cannot read ${path}, which tells the NUMA cell of PCI devices`, { cause: err });
}
