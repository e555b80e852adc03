// The devices this node offers and their plugins as one set: started by main, asked by the heartbeat whether pods can count on them.
import { open } from 'node:fs/promises';
import { DEVICE } from '../../api/labels.js';
import type { Ctx } from '../../base/context.js';
import { createDevicePlugin, type DevicePlugin, type DevicePluginOptions, type DeviceSpec } from './device-plugin.js';

export const DEVICE_SPECS: readonly DeviceSpec[] = [
  { name: 'kvm', resourceName: DEVICE.kvm, path: '/dev/kvm', permissions: 'rw' },
  { name: 'tun', resourceName: DEVICE.tun, path: '/dev/net/tun', permissions: 'rw' },
  { name: 'vhost-net', resourceName: DEVICE.vhostNet, path: '/dev/vhost-net', permissions: 'rw' },
];

/** Opening these makes the kernel load their module. */
const LOADED_BY_OPENING = ['/dev/net/tun', '/dev/vhost-net'];

export interface DevicePlugins {
  readonly plugins: readonly DevicePlugin[];
  /** True once the kubelet knows every plugin. */
  ready(): boolean;
  run(ctx: Ctx): Promise<void>;
}

export function createDevicePlugins(options: DevicePluginOptions, specs: readonly DeviceSpec[] = DEVICE_SPECS): DevicePlugins {
  const plugins = specs.map((spec) => createDevicePlugin(spec, options));
  return {
    plugins,
    ready: () => plugins.every((plugin) => plugin.isRegistered()),
    async run(ctx) {
      for (const path of LOADED_BY_OPENING) await touchDevice(options.hostRoot + path);
      await Promise.all(plugins.map((plugin) => plugin.run(ctx)));
    },
  };
}

async function touchDevice(path: string): Promise<void> {
  try {
    await (await open(path, 'r')).close();
  } catch {
    // A node without the device offers none: its plugin reports it unhealthy.
  }
}
