// One device plugin: offers a device node of the host, or a daemon's socket, to pods as an extended resource. Serves on its own socket, registers with the
// kubelet, registers again when the kubelet or the socket was replaced, and reports the device unhealthy while it is missing.
// Runs until the context ends; a failure is logged and tried again, never thrown.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Backoff } from '../../base/backoff.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import {
  type Allocation,
  type DevicePluginServer,
  type PluginDevice,
  registerDevicePlugin,
  serveDevicePlugin,
} from '../../rpc/device-plugin.js';
import { offerSocket, type SharedSocket } from './shared-socket.js';

export interface DeviceSpec {
  /** kvm, tun, vhost-net. */
  readonly name: string;
  readonly resourceName: string;
  /** Device node on the host and in the container; with `socket` the folder that the socket is in. */
  readonly path: string;
  readonly permissions: string;
  /** A daemon of the node listens here. This process must see the folder at the same path as the host does. */
  readonly socket?: SharedSocket;
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
  readonly spec: DeviceSpec;
  /** True while the kubelet knows the plugin. */
  isRegistered(): boolean;
  /** False while the device node is missing, or nobody listens on the socket. */
  isHealthy(): boolean;
  run(ctx: Ctx): Promise<void>;
}

const KUBELET_SOCKET = 'kubelet.sock';
const POLL_MS = 2_000;

export function createDevicePlugin(spec: DeviceSpec, options: DevicePluginOptions): DevicePlugin {
  const state = { registered: false, healthy: false };
  return {
    spec,
    isRegistered: () => state.registered,
    isHealthy: () => state.healthy,
    async run(ctx) {
      const backoff = new Backoff({ baseMs: 1_000, maxMs: 10_000 });
      while (!ctx.signal.aborted) {
        try {
          await session(ctx, spec, options, state, () => backoff.reset());
        } catch (err) {
          const retryMs = backoff.next();
          ctx.log.warn(
            { device: spec.name, err: messageOf(err), retryMs },
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
  healthy: boolean;
}

/** From listening to the moment the kubelet has to be told anew. */
async function session(ctx: Ctx, spec: DeviceSpec, options: DevicePluginOptions, state: State, registered: () => void): Promise<void> {
  const kubelet = join(options.pluginDir, KUBELET_SOCKET);
  const endpoint = `kubevirt-${spec.name}.sock`;
  state.healthy = await isThere(spec, options);
  const server = await serveDevicePlugin(join(options.pluginDir, endpoint), deviceList(spec, options, state.healthy), async (ids) =>
    allocation(spec, ids),
  );
  try {
    const kubeletId = await fileId(kubelet);
    await registerDevicePlugin(kubelet, { endpoint, resourceName: spec.resourceName });
    state.registered = true;
    registered();
    ctx.log.info({ device: spec.name, resource: spec.resourceName, healthy: state.healthy }, 'Registered device plugin');
    await watch(ctx, server, { kubelet, kubeletId }, { spec, options, state });
  } finally {
    await server.close();
  }
}

interface Watched {
  readonly kubelet: string;
  readonly kubeletId: string | undefined;
}

interface Plugin {
  readonly spec: DeviceSpec;
  readonly options: DevicePluginOptions;
  readonly state: State;
}

/** Returns when either socket is no longer the one it was: a restarted kubelet removes all of them. */
async function watch(ctx: Ctx, server: DevicePluginServer, sockets: Watched, plugin: Plugin): Promise<void> {
  const { spec, options, state } = plugin;
  const own = await fileId(server.socketPath);
  while (!ctx.signal.aborted) {
    await sleep(ctx.clock, options.pollMs ?? POLL_MS, ctx.signal);
    if ((await fileId(server.socketPath)) !== own || (await fileId(sockets.kubelet)) !== sockets.kubeletId) return;
    const healthy = await isThere(spec, options);
    if (healthy === state.healthy) continue;
    state.healthy = healthy;
    ctx.log.info({ device: spec.name, path: spec.path, healthy }, 'Device changed');
    server.update(deviceList(spec, options, healthy));
  }
}

/** Device nodes can be shared, so the count only limits how many pods may ask. */
const deviceList = (spec: DeviceSpec, { maxDevices }: DevicePluginOptions, healthy: boolean): PluginDevice[] =>
  Array.from({ length: maxDevices }, (_, at) => ({ id: `${spec.name}${at}`, healthy }));

function allocation({ path, permissions, socket }: DeviceSpec, ids: readonly string[]): Allocation {
  if (ids.length === 0) return {};
  const place = { hostPath: path, containerPath: path };
  // The folder and not the socket: a daemon that starts again makes a new one. Read-only, since all guests of the node share it.
  return socket ? { folders: [{ ...place, readOnly: true }] } : { devices: [{ ...place, permissions }] };
}

const isThere = ({ path, socket }: DeviceSpec, { hostRoot }: DevicePluginOptions): Promise<boolean> =>
  socket ? offerSocket(join(path, socket.name), socket.owner) : isDevice(hostRoot + path);

/** Anything else of that name is no device, and no container could be given it. */
async function isDevice(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined); // a node without it is what is asked about
  return found?.isCharacterDevice() === true;
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
