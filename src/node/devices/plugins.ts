// The devices this node offers and their plugins as one set: started by main, asked by the heartbeat whether pods can count on them.
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { DEVICE } from '../../api/labels.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { RESERVATION_DIR, RESERVATION_SOCKET } from '../../core/storage/paths.js';
import { createDevicePlugin, type DevicePlugin, type DevicePluginOptions, type DeviceSpec } from './device-plugin.js';

export const DEVICE_SPECS: readonly DeviceSpec[] = [
  { name: 'kvm', resourceName: DEVICE.kvm, path: '/dev/kvm', permissions: 'rw' },
  { name: 'tun', resourceName: DEVICE.tun, path: '/dev/net/tun', permissions: 'rw' },
  { name: 'vhost-net', resourceName: DEVICE.vhostNet, path: '/dev/vhost-net', permissions: 'rw' },
];

/** A device that is offered from the moment on in which somebody wants it. */
export interface OptionalDevice {
  readonly spec: DeviceSpec;
  readonly isWanted: () => boolean;
}

export const VHOST_VSOCK: DeviceSpec = {
  name: 'vhost-vsock',
  resourceName: DEVICE.vhostVsock,
  path: '/dev/vhost-vsock',
  permissions: 'rw',
};

export const MSHV: DeviceSpec = { name: 'mshv', resourceName: DEVICE.mshv, path: '/dev/mshv', permissions: 'rw' };

/** The launchers' user. */
const QEMU_USER = 107;

/** qemu-pr-helper runs beside the agent and issues the reservation commands of guests, which need rights that no launcher has. */
export const PR_HELPER: DeviceSpec = {
  name: 'pr-helper',
  resourceName: DEVICE.prHelper,
  path: RESERVATION_DIR,
  permissions: 'rw',
  socket: { name: basename(RESERVATION_SOCKET), owner: QEMU_USER },
};

const LOOK_AGAIN_MS = 5_000;

/** Opening these makes the kernel load their module. */
const LOADED_BY_OPENING = ['/dev/net/tun', '/dev/vhost-net'];

export interface DevicePlugins {
  readonly plugins: readonly DevicePlugin[];
  /** True once the kubelet knows every plugin. */
  ready(): boolean;
  run(ctx: Ctx): Promise<void>;
}

export function createDevicePlugins(
  options: DevicePluginOptions,
  specs: readonly DeviceSpec[] = DEVICE_SPECS,
  optional: readonly OptionalDevice[] = [],
): DevicePlugins {
  const plugins = specs.map((spec) => createDevicePlugin(spec, options));
  return {
    plugins,
    ready: () => plugins.every((plugin) => plugin.isRegistered()),
    async run(ctx) {
      for (const path of LOADED_BY_OPENING) await touchDevice(options.hostRoot + path);
      const later = optional.map((device) => runOnceWanted(ctx, device, options));
      await Promise.all([...plugins.map((plugin) => plugin.run(ctx)), ...later]);
    },
  };
}

async function runOnceWanted(ctx: Ctx, { spec, isWanted }: OptionalDevice, options: DevicePluginOptions): Promise<void> {
  while (!isWanted() && !ctx.signal.aborted) await sleep(ctx.clock, options.pollMs ?? LOOK_AGAIN_MS, ctx.signal);
  if (ctx.signal.aborted) return;
  if (!spec.socket) await touchDevice(options.hostRoot + spec.path);
  await createDevicePlugin(spec, options).run(ctx);
}

async function touchDevice(path: string): Promise<void> {
  try {
    await (await open(path, 'r')).close();
  } catch {
    // A node without the device offers none: its plugin reports it unhealthy.
  }
}
