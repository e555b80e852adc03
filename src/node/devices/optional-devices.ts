// Devices that a node offers only where the cluster's configuration wants them: other hypervisors, vsock, reservations, encrypted guests,
// IOMMUFD. Asked again and again by the set of plugins, since the configuration and the node change; starts nothing itself.
import { basename, dirname, join } from 'node:path';
import { DEVICE } from '../../api/labels.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { allowsPersistentReservation, hypervisorOf, quoteSocketOf } from '../../core/config/cluster-lookups.js';
import { RESERVATION_DIR, RESERVATION_SOCKET } from '../../core/storage/paths.js';
import { readOptional } from '../../linux/proc.js';
import { type DeviceSpec, isDevice } from './host-device.js';

/** What this node has of a device, as long as the cluster wants it. */
export type OptionalDevice = (config: ClusterConfig, hostRoot: string) => Promise<DeviceSpec | undefined>;

/** The launchers' user. */
const QEMU_USER = 107;

/** qemu-pr-helper runs beside the agent and issues the reservation commands of guests, which need rights that no launcher has. */
const PR_HELPER: DeviceSpec = {
  name: 'pr-helper',
  resourceName: DEVICE.prHelper,
  path: RESERVATION_DIR,
  permissions: 'rw',
  socket: { name: basename(RESERVATION_SOCKET), owner: QEMU_USER },
};

const node = (name: string, resourceName: string): DeviceSpec => ({ name, resourceName, path: `/dev/${name}`, permissions: 'rw' });

const whenWanted =
  (spec: DeviceSpec, isWanted: (config: ClusterConfig) => boolean): OptionalDevice =>
  async (config) =>
    isWanted(config) ? spec : undefined;

/** Most nodes have none of these: one that lacks the device does not speak of it. */
const whenThere =
  (spec: DeviceSpec, gate: string): OptionalDevice =>
  async (config, hostRoot) =>
    config.isEnabled(gate) && (await isDevice(hostRoot + spec.path)) ? spec : undefined;

/** Where version 2 of control groups has it, and version 1. */
const CAPACITY_FILES = ['/sys/fs/cgroup/misc.capacity', '/sys/fs/cgroup/misc/misc.capacity'];

/** How much of a resource the node has, from the text of misc.capacity. */
export function miscCapacity(text: string, key: string): number {
  const amount = new RegExp(`^${key}\\s+(\\d+)\\s*$`, 'm').exec(text)?.[1];
  return amount === undefined ? 0 : Number(amount);
}

/** A node can run as many TDX guests as it has keys; they reach the daemon that signs their quotes by its socket. */
const tdx: OptionalDevice = async (config, hostRoot) => {
  if (!config.isEnabled('WorkloadEncryptionTDX')) return undefined;
  const texts = await Promise.all(CAPACITY_FILES.map((file) => readOptional(hostRoot + file)));
  const count = Math.max(...texts.map((text) => miscCapacity(text ?? '', 'tdx')));
  if (count === 0) return undefined;
  const { path, isEnforced } = quoteSocketOf(config);
  const socket = { name: basename(path), isOfHost: true, isOptional: !isEnforced };
  return { name: 'tdx', resourceName: DEVICE.tdx, path: dirname(join('/', path)), permissions: 'rw', socket, count };
};

export const OPTIONAL_DEVICES: readonly OptionalDevice[] = [
  whenWanted(node('vhost-vsock', DEVICE.vhostVsock), (config) => config.isEnabled('VSOCK')),
  whenWanted(node('mshv', DEVICE.mshv), (config) => hypervisorOf(config).device === 'mshv'),
  whenWanted(PR_HELPER, allowsPersistentReservation),
  whenThere(node('sev', DEVICE.sev), 'WorkloadEncryptionSEV'),
  tdx,
  whenThere({ ...node('iommu', DEVICE.iommufd), name: 'iommufd' }, 'IOMMUFD'),
];
