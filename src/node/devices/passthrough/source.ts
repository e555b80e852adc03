// Devices of one resource as the source of a device plugin: what of them can be used now, and what a container gets with those that the
// kubelet chose, with the variable by which the launcher learns their addresses. The units come from the caller, and change.
import { createHash } from 'node:crypto';
import { KvError } from '../../../base/errors.js';
import { deviceVariable } from '../../../core/devices/device-env.js';
import type { Allocation, PluginDevice } from '../../../rpc/device-plugin.js';
import type { DeviceSource } from '../device-plugin.js';
import { isDevice } from '../host-device.js';
import type { Offer, Unit } from './units.js';

/** The path of a socket has room for little more than a hundred characters. */
const LONGEST_NAME = 44;

export function socketName(resourceName: string): string {
  const name = resourceName.replaceAll('/', '-');
  if (name.length <= LONGEST_NAME) return name;
  return `${name.slice(0, LONGEST_NAME - 11)}-${createHash('sha256').update(resourceName).digest('hex').slice(0, 10)}`;
}

export function offerSource({ kind, resourceName }: Offer, units: () => readonly Unit[], hostRoot: string): DeviceSource {
  return {
    name: socketName(resourceName),
    resourceName,
    look: () => Promise.all(units().map((unit) => listed(unit, hostRoot))),
    async allocate(ids) {
      const chosen = ids.map((id) => unitOf(units(), id, resourceName));
      const nodes = await Promise.all(chosen.map((unit) => nodesOf(unit, resourceName, hostRoot)));
      return {
        devices: [...new Set(nodes.flat())].map((path) => ({ hostPath: path, containerPath: path, permissions: 'rw' })),
        env: { [deviceVariable(kind, resourceName)]: chosen.flatMap(({ addresses }) => addresses).join(',') },
      } satisfies Allocation;
    },
  };
}

async function listed(unit: Unit, hostRoot: string): Promise<PluginDevice> {
  const there = await Promise.all(unit.nodes.map((path) => isDevice(hostRoot + path)));
  return {
    id: unit.id,
    healthy: unit.isLost !== true && there.every(Boolean),
    ...(unit.numaNode === undefined ? {} : { numaNode: unit.numaNode }),
  };
}

function unitOf(units: readonly Unit[], id: string, resourceName: string): Unit {
  const unit = units.find((one) => one.id === id);
  if (unit && unit.isLost !== true) return unit;
  throw new KvError('NotFound', `device ${id} of ${resourceName} has left this node: start the VM again, it gets another one`);
}

async function nodesOf({ id, nodes, extraNodes = [] }: Unit, resourceName: string, hostRoot: string): Promise<string[]> {
  for (const path of nodes) {
    if (await isDevice(hostRoot + path)) continue;
    throw new KvError('NotFound', `device ${id} of ${resourceName} has no ${path} on this node: see which driver holds it`);
  }
  const there = await Promise.all(extraNodes.map((path) => isDevice(hostRoot + path)));
  return [...nodes, ...extraNodes.filter((_, at) => there[at])];
}
