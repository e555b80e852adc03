// One device plugin: offers devices of the host to pods as an extended resource. Serves on its own socket, registers with the kubelet,
// registers again when the kubelet or the socket was replaced, and tells the kubelet what has changed about the devices.
// Runs until the context ends; a failure is logged and tried again, never thrown. What the devices are is the caller's matter.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Backoff } from '../../base/backoff.js';
import { sleep } from '../../base/clock.js';
import { type Ctx, makeCtx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import {
  type Allocation,
  type DevicePluginServer,
  type PluginDevice,
  registerDevicePlugin,
  serveDevicePlugin,
} from '../../rpc/device-plugin.js';

/** Where the devices of a plugin come from. */
export interface DeviceSource {
  /** Names the plugin's socket: no slashes. */
  readonly name: string;
  readonly resourceName: string;
  /** The devices as they are now. */
  look(): Promise<readonly PluginDevice[]>;
  /** What a container gets with the devices that the kubelet chose; a throw refuses the pod. */
  allocate(ids: readonly string[]): Promise<Allocation>;
}

export interface DevicePluginOptions {
  /** Where the kubelet keeps the sockets of plugins. */
  readonly pluginDir: string;
  /** The host's root directory as this process sees it: the agent's own /dev is a copy made at its start. */
  readonly hostRoot: string;
  readonly maxDevices: number;
  /** How often sockets and the device are looked at. */
  readonly pollMs?: number;
}

export interface DevicePlugin {
  readonly source: DeviceSource;
  /** True while the kubelet knows the plugin. */
  isRegistered(): boolean;
  /** False while no device can be used. */
  isHealthy(): boolean;
  run(ctx: Ctx): Promise<void>;
}

const KUBELET_SOCKET = 'kubelet.sock';
const POLL_MS = 2_000;
/** A resource that is offered no more goes from the node at once, and not when the kubelet has waited for the plugin in vain. */
const FAREWELL_MS = 200;

export function createDevicePlugin(source: DeviceSource, options: DevicePluginOptions): DevicePlugin {
  return makePlugin(source, options, new AbortController().signal);
}

/** A plugin that runs until it is withdrawn or the context ends. */
export function offerDevice(ctx: Ctx, source: DeviceSource, options: DevicePluginOptions): { withdraw(): Promise<void> } {
  const stop = new AbortController();
  const running = makePlugin(source, options, stop.signal).run(makeCtx(AbortSignal.any([ctx.signal, stop.signal]), ctx.log, ctx.clock));
  return {
    async withdraw() {
      // At the end of this process the devices stay the node's: the next agent offers them again.
      if (!ctx.signal.aborted) stop.abort();
      await running;
    },
  };
}

/** `withdrawn` aborts when the devices are no longer to be offered, and not merely this process ends. */
function makePlugin(source: DeviceSource, options: DevicePluginOptions, withdrawn: AbortSignal): DevicePlugin {
  const state: State = { registered: false, devices: [] };
  return {
    source,
    isRegistered: () => state.registered,
    isHealthy: () => state.devices.some(({ healthy }) => healthy),
    async run(ctx) {
      const backoff = new Backoff({ baseMs: 1_000, maxMs: 10_000 });
      while (!ctx.signal.aborted) {
        try {
          await session(ctx, { source, options, state, withdrawn }, () => backoff.reset());
        } catch (err) {
          const retryMs = backoff.next();
          ctx.log.warn(
            { device: source.name, err: messageOf(err), retryMs },
            'Device plugin is not registered with the kubelet; trying again',
          );
          await sleep(ctx.clock, retryMs, ctx.signal);
        }
        state.registered = false;
      }
    },
  };
}

interface State {
  registered: boolean;
  devices: readonly PluginDevice[];
}

interface Plugin {
  readonly source: DeviceSource;
  readonly options: DevicePluginOptions;
  readonly state: State;
  readonly withdrawn: AbortSignal;
}

/** From listening to the moment the kubelet has to be told anew. */
async function session(ctx: Ctx, plugin: Plugin, registered: () => void): Promise<void> {
  const { source, options, state } = plugin;
  const kubelet = join(options.pluginDir, KUBELET_SOCKET);
  const endpoint = `kubevirt-${source.name}.sock`;
  state.devices = await source.look();
  const server = await serveDevicePlugin(join(options.pluginDir, endpoint), state.devices, (ids) => source.allocate(ids));
  try {
    const kubeletId = await fileId(kubelet);
    await registerDevicePlugin(kubelet, { endpoint, resourceName: source.resourceName });
    state.registered = true;
    registered();
    ctx.log.info({ device: source.name, resource: source.resourceName, ...counted(state.devices) }, 'Registered device plugin');
    await watch(ctx, server, { kubelet, kubeletId }, plugin);
    if (plugin.withdrawn.aborted) {
      ctx.log.info({ device: source.name, resource: source.resourceName }, 'Withdrawing device plugin');
      server.update([]);
      await sleep(ctx.clock, FAREWELL_MS);
    }
  } finally {
    await server.close();
  }
}

const counted = (devices: readonly PluginDevice[]): { devices: number; healthy: number } => ({
  devices: devices.length,
  healthy: devices.filter(({ healthy }) => healthy).length,
});

interface Watched {
  readonly kubelet: string;
  readonly kubeletId: string | undefined;
}

/** Returns when either socket is no longer the one it was: a restarted kubelet removes all of them. */
async function watch(ctx: Ctx, server: DevicePluginServer, sockets: Watched, { source, options, state }: Plugin): Promise<void> {
  const own = await fileId(server.socketPath);
  while (!ctx.signal.aborted) {
    await sleep(ctx.clock, options.pollMs ?? POLL_MS, ctx.signal);
    if (ctx.signal.aborted) return;
    if ((await fileId(server.socketPath)) !== own || (await fileId(sockets.kubelet)) !== sockets.kubeletId) return;
    const devices = await source.look();
    if (isDeepStrictEqual(devices, state.devices)) continue;
    state.devices = devices;
    ctx.log.info({ device: source.name, resource: source.resourceName, ...counted(devices) }, 'Devices changed');
    server.update(devices);
  }
}

async function fileId(path: string): Promise<string | undefined> {
  try {
    const { ino, ctimeMs } = await stat(path);
    return `${ino}:${ctimeMs}`;
  } catch (err) {
    if (['ENOENT', 'ENOTDIR'].includes((err as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw err;
  }
}
