// The devices this node offers and their plugins as one set: started by main, asked by the heartbeat whether pods can count on them.
// Those that every launcher needs are always offered; others while the cluster's configuration wants them and the node has them.
import { open } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { DEVICE } from '../../api/labels.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { createDevicePlugin, type DevicePlugin, type DevicePluginOptions, offerDevice } from './device-plugin.js';
import { type DeviceSpec, hostDevice } from './host-device.js';
import type { OptionalDevice } from './optional-devices.js';

export const DEVICE_SPECS: readonly DeviceSpec[] = [
  { name: 'kvm', resourceName: DEVICE.kvm, path: '/dev/kvm', permissions: 'rw' },
  { name: 'tun', resourceName: DEVICE.tun, path: '/dev/net/tun', permissions: 'rw' },
  { name: 'vhost-net', resourceName: DEVICE.vhostNet, path: '/dev/vhost-net', permissions: 'rw' },
];

const LOOK_AGAIN_MS = 5_000;

/** Opening these makes the kernel load their module. */
const LOADED_BY_OPENING = ['/dev/net/tun', '/dev/vhost-net'];

export interface DevicePlugins {
  readonly plugins: readonly DevicePlugin[];
  /** True once the kubelet knows every plugin. */
  ready(): boolean;
  run(ctx: Ctx): Promise<void>;
}

/** Devices that come and go with the configuration; undefined until that is known. */
export interface OptionalDevices {
  readonly devices: readonly OptionalDevice[];
  readonly config: () => ClusterConfig | undefined;
}

const NONE: OptionalDevices = { devices: [], config: () => undefined };

export function createDevicePlugins(
  options: DevicePluginOptions,
  specs: readonly DeviceSpec[] = DEVICE_SPECS,
  { devices, config }: OptionalDevices = NONE,
): DevicePlugins {
  const plugins = specs.map((spec) => createDevicePlugin(hostDevice(spec, options), options));
  return {
    plugins,
    ready: () => plugins.every((plugin) => plugin.isRegistered()),
    async run(ctx) {
      for (const path of LOADED_BY_OPENING) await touchDevice(options.hostRoot + path);
      const optional = devices.map((device) => runWhileWanted(ctx, () => find(ctx, device, config(), options), options));
      await Promise.all([...plugins.map((plugin) => plugin.run(ctx)), ...optional]);
    },
  };
}

async function find(
  ctx: Ctx,
  device: OptionalDevice,
  config: ClusterConfig | undefined,
  { hostRoot }: DevicePluginOptions,
): Promise<DeviceSpec | undefined> {
  try {
    return config && (await device(config, hostRoot));
  } catch (err) {
    // One device must not keep the others from being offered.
    ctx.log.warn({ err: messageOf(err) }, 'Cannot tell whether this node has a device; looking again');
    return undefined;
  }
}

/** Starts and stops the plugin as the configuration has it. */
async function runWhileWanted(ctx: Ctx, look: () => Promise<DeviceSpec | undefined>, options: DevicePluginOptions): Promise<void> {
  while (!ctx.signal.aborted) {
    const wanted = await look();
    if (wanted) await serveWhile(ctx, wanted, options, async () => isDeepStrictEqual(await look(), wanted));
    else await pause(ctx, options);
  }
}

async function serveWhile(ctx: Ctx, spec: DeviceSpec, options: DevicePluginOptions, isWanted: () => Promise<boolean>): Promise<void> {
  if (!spec.socket) await touchDevice(options.hostRoot + spec.path);
  const offered = offerDevice(ctx, hostDevice(spec, options), options);
  do await pause(ctx, options);
  while (!ctx.signal.aborted && (await isWanted()));
  await offered.withdraw();
}

const pause = (ctx: Ctx, { pollMs = LOOK_AGAIN_MS }: DevicePluginOptions): Promise<void> => sleep(ctx.clock, pollMs, ctx.signal);

async function touchDevice(path: string): Promise<void> {
  try {
    await (await open(path, 'r')).close();
  } catch {
    // A node without the device offers none: its plugin reports it unhealthy.
  }
}
