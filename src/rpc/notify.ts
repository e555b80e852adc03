// The node agent's end of the notify service: one socket inside each launcher, so that the socket tells who speaks. Decides nothing.
import type { ServerUnaryCall, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { type ListenOptions, listenOn, type RpcServer } from './channel.js';
import type { DomainEventRequest, K8sEventRequest } from './generated/notify-v1.js';
import { metadataOf } from './grpc-error.js';
import { SERVICES } from './loader.js';
import { type DomainEvent, decodeDomainEvent, decodeK8sEvent, type LauncherEvent } from './notify-codec.js';
import { NOTIFY_INFO } from './versions.js';
import { toWire } from './wire-error.js';

/** `socketPath` is the socket the call came in by: it tells which launcher speaks, whatever the message says. */
export interface NotifyHandlers {
  /** Asked before a message is read. Waits to slow the sender down, throws to turn it away. */
  admit?(socketPath: string): Promise<void> | void;
  domainEvent(event: DomainEvent, socketPath: string): Promise<void> | void;
  k8sEvent(event: LauncherEvent, socketPath: string): Promise<void> | void;
}

export interface NotifyServer {
  listen(socketPath: string, options?: ListenOptions): Promise<void>;
  unlisten(socketPath: string): Promise<void>;
  close(): Promise<void>;
}

/** A launcher is next to the guest and not trusted. A report of a VM with hundreds of devices has a few hundred KiB. */
const LIMITS = { messageBytes: 4 * 1024 * 1024, streams: 8 } as const;
type Reply = sendUnaryData<unknown>;

async function answer(admit: () => Promise<void> | void, work: () => Promise<void> | void, reply: Reply): Promise<void> {
  try {
    await admit();
    await work();
    reply(null, { success: true });
  } catch (err) {
    const { message, trailer } = toWire(err);
    reply(null, { success: false, message }, metadataOf(trailer));
  }
}

function implement(handlers: NotifyHandlers, socketPath: string): UntypedServiceImplementation {
  const admit = (): Promise<void> | void => handlers.admit?.(socketPath);
  return {
    HandleDomainEvent: (call: ServerUnaryCall<DomainEventRequest, unknown>, reply: Reply) =>
      void answer(admit, () => handlers.domainEvent(decodeDomainEvent(call.request), socketPath), reply),
    HandleK8sEvent: (call: ServerUnaryCall<K8sEventRequest, unknown>, reply: Reply) =>
      void answer(admit, () => handlers.k8sEvent(decodeK8sEvent(call.request), socketPath), reply),
  };
}

/** One receiver, many sockets. Listening twice on one path is one listening. */
export function serveNotify(handlers: NotifyHandlers): NotifyServer {
  const servers = new Map<string, Promise<RpcServer>>();
  const info = { definition: SERVICES.notifyInfo, implementation: { Info: (_: unknown, reply: Reply) => reply(null, NOTIFY_INFO) } };
  const unlisten = async (socketPath: string): Promise<void> => {
    const server = servers.get(socketPath);
    servers.delete(socketPath);
    await (await server)?.close();
  };
  return {
    async listen(socketPath, options) {
      const known = servers.get(socketPath);
      const server =
        known ??
        listenOn(socketPath, [{ definition: SERVICES.notify, implementation: implement(handlers, socketPath) }, info], {
          ...options,
          limits: LIMITS,
        });
      servers.set(socketPath, server);
      await server.catch((err: unknown) => {
        servers.delete(socketPath);
        throw err;
      });
    },
    unlisten,
    async close() {
      await Promise.all([...servers.keys()].map(unlisten));
    },
  };
}
