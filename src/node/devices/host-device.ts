// A device node of the host, or a daemon's socket, as the source of a device plugin: any number of pods can share it, so that the count
// only limits how many may ask. It is healthy while the node is there or somebody listens. Made by the set of plugins; starts nothing.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { existsBeneath } from '../../linux/safe-path.js';
import type { Allocation, PluginDevice } from '../../rpc/device-plugin.js';
import type { DevicePluginOptions, DeviceSource } from './device-plugin.js';
import { offerSocket, type SharedSocket } from './shared-socket.js';

export interface DeviceSpec {
  /** kvm, tun, vhost-net. */
  readonly name: string;
  readonly resourceName: string;
  /** Device node on the host and in the container; with `socket` the folder that the socket is in. */
  readonly path: string;
  readonly permissions: string;
  /** A daemon of the node listens here. */
  readonly socket?: SharedSocket;
  /** How many pods may have it; default is the limit for all devices. */
  readonly count?: number;
}

export function hostDevice(spec: DeviceSpec, options: DevicePluginOptions): DeviceSource {
  return {
    name: spec.name,
    resourceName: spec.resourceName,
    look: async () => deviceList(spec, options, await isThere(spec, options)),
    allocate: async (ids) => (ids.length === 0 ? {} : allocation(spec, options)),
  };
}

const deviceList = ({ name, count }: DeviceSpec, { maxDevices }: DevicePluginOptions, healthy: boolean): PluginDevice[] =>
  Array.from({ length: count ?? maxDevices }, (_, at) => ({ id: `${name}${at}`, healthy }));

async function allocation({ path, permissions, socket }: DeviceSpec, { hostRoot }: DevicePluginOptions): Promise<Allocation> {
  const place = { hostPath: path, containerPath: path };
  if (!socket) return { devices: [{ ...place, permissions }] };
  if (socket.isOptional && !(await existsBeneath(rootOf(socket, hostRoot), path))) return {};
  // The folder and not the socket: a daemon that starts again makes a new one. Read-only, since all guests of the node share it.
  return { folders: [{ ...place, readOnly: true }] };
}

const rootOf = ({ isOfHost }: SharedSocket, hostRoot: string): string => (isOfHost ? hostRoot : '/');

async function isThere({ path, socket }: DeviceSpec, { hostRoot }: DevicePluginOptions): Promise<boolean> {
  if (!socket) return isDevice(hostRoot + path);
  return socket.isOptional === true || offerSocket(rootOf(socket, hostRoot), join(path, socket.name), socket.owner);
}

/** Anything else of that name is no device, and no container could be given it. */
export async function isDevice(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined); // a node without it is what is asked about
  return found?.isCharacterDevice() === true;
}
