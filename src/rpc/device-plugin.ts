// The kubelet's device plugin protocol, plugin side: one server per resource on its own socket, and the registration call that
// makes the kubelet dial it. Which devices exist and what a container gets is the node agent's matter; see src/node/devices.
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { listenOn, openChannel } from './channel.js';
import type { AllocateRequest, ContainerAllocateResponse, ListAndWatchResponse } from './generated/v1beta1.js';
import { SERVICES } from './loader.js';
import { toWire } from './wire-error.js';

export interface PluginDevice {
  readonly id: string;
  readonly healthy: boolean;
  /** Memory and CPUs of this NUMA node are near it: for the kubelet's topology manager. */
  readonly numaNode?: number;
}

export interface AllocatedDevice {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Letters of r, w, m. */
  readonly permissions: string;
}

export interface AllocatedFolder {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly readOnly: boolean;
}

/** What a container gets. */
export interface Allocation {
  readonly devices?: readonly AllocatedDevice[];
  readonly folders?: readonly AllocatedFolder[];
  readonly env?: Readonly<Record<string, string>>;
}

type Allocate = (ids: readonly string[]) => Promise<Allocation>;

export interface DevicePluginServer {
  readonly socketPath: string;
  /** Tells the kubelet, if it listens, and every later listener. */
  update(devices: readonly PluginDevice[]): void;
  close(): Promise<void>;
}

const API_VERSION = 'v1beta1';
const DEADLINE_MS = 5_000;
const UNKNOWN = 2;

type Watcher = ServerWritableStream<unknown, unknown>;

const toWireList = (devices: readonly PluginDevice[]): ListAndWatchResponse => ({
  devices: devices.map(({ id, healthy, numaNode }) => ({
    ID: id,
    health: healthy ? 'Healthy' : 'Unhealthy',
    topology: numaNode === undefined ? null : { nodes: [{ ID: numaNode }] },
  })),
});

/** `allocate` is called once a container with the devices that the kubelet chose; a throw refuses the pod. */
export async function serveDevicePlugin(
  socketPath: string,
  devices: readonly PluginDevice[],
  allocate: Allocate,
): Promise<DevicePluginServer> {
  const watchers = new Set<Watcher>();
  let current = devices;
  const implementation: UntypedServiceImplementation = {
    GetDevicePluginOptions: (_: unknown, reply: sendUnaryData<unknown>) => reply(null, {}),
    PreStartContainer: (_: unknown, reply: sendUnaryData<unknown>) => reply(null, {}),
    GetPreferredAllocation: (_: unknown, reply: sendUnaryData<unknown>) => reply(null, {}),
    ListAndWatch: (call: Watcher) => {
      watchers.add(call);
      const gone = (): void => void watchers.delete(call);
      call.on('cancelled', gone);
      call.on('close', gone);
      call.on('error', gone);
      call.write(toWireList(current));
    },
    Allocate: ({ request }: ServerUnaryCall<AllocateRequest, unknown>, reply: sendUnaryData<unknown>) =>
      void answer(request, allocate, reply),
  };
  const server = await listenOn(socketPath, [{ definition: SERVICES.devicePlugin, implementation }]);
  return {
    socketPath,
    update(next) {
      current = next;
      for (const watcher of watchers) watcher.write(toWireList(next));
    },
    close: () => server.close(),
  };
}

const toWireAllocation = ({ devices = [], folders = [], env = {} }: Allocation): Partial<ContainerAllocateResponse> => ({
  envs: { ...env },
  devices: devices.map(({ containerPath, hostPath, permissions }) => ({ container_path: containerPath, host_path: hostPath, permissions })),
  mounts: folders.map(({ containerPath, hostPath, readOnly }) => ({
    container_path: containerPath,
    host_path: hostPath,
    read_only: readOnly,
  })),
});

async function answer(request: AllocateRequest, allocate: Allocate, reply: sendUnaryData<unknown>): Promise<void> {
  try {
    const container_responses = await Promise.all(
      request.container_requests.map(async ({ devices_ids }) => toWireAllocation(await allocate(devices_ids))),
    );
    reply(null, { container_responses });
  } catch (err) {
    const { message } = toWire(err);
    reply({ code: UNKNOWN, details: message });
  }
}

/** Makes the kubelet behind `kubeletSocket` dial the plugin that listens on `endpoint` beside it. */
export async function registerDevicePlugin(
  kubeletSocket: string,
  plugin: { readonly endpoint: string; readonly resourceName: string },
): Promise<void> {
  const channel = openChannel(kubeletSocket);
  try {
    const request = { version: API_VERSION, endpoint: plugin.endpoint, resource_name: plugin.resourceName, options: {} };
    await channel.call(SERVICES.kubeletRegistration, 'Register', request, DEADLINE_MS);
  } finally {
    channel.close();
  }
}
