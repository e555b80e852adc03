// gRPC over unix sockets: one client connection, one listening server. The typed services sit on top; nothing else uses it.
import { lchown } from 'node:fs/promises';
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { KvError } from '../base/errors.js';
import { fromStatus, plainTrailer } from './grpc-error.js';
import { checkSocketPath, removeSocket } from './socket-file.js';
import type { Trailer } from './wire-error.js';

// Screenshots and guest lists exceed gRPC's default of 4 MiB.
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const OPTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Socket paths are used again by other peers (a pid in /proc comes back): never share a connection between two clients.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1000,
};

export interface Answer {
  readonly value: unknown;
  readonly trailer: Trailer;
}

export interface Channel {
  /** One call. Rejects with a KvError when no answer came; an answer with success=false resolves. */
  call(service: ServiceDefinition, method: string, request: object, deadlineMs: number): Promise<Answer>;
  close(): void;
}

function checkedTarget(socketPath: string): string {
  checkSocketPath(socketPath);
  return `unix:${socketPath}`;
}

export function openChannel(socketPath: string): Channel {
  const client = new Client(checkedTarget(socketPath), credentials.createInsecure(), OPTIONS);
  return {
    call(service, name, request, deadlineMs) {
      const method = service[name];
      if (!method) throw new KvError('Internal', `no method ${name} in the service description; run "npm run gen:rpc"`);
      return new Promise((resolve, reject) => {
        let failure: ServiceError | null = null;
        let value: unknown;
        const call = client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          request,
          { deadline: Date.now() + deadlineMs },
          (err, answer) => {
            failure = err;
            value = answer;
          },
        );
        // The status event follows the callback and brings the trailing metadata.
        call.on('status', ({ metadata }) =>
          failure ? reject(fromStatus(failure, name, socketPath)) : resolve({ value, trailer: plainTrailer(metadata) }),
        );
      });
    },
    close: () => client.close(),
  };
}

export interface ListenOptions {
  /** Who may connect besides root: the socket file is handed to this user. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** For peers that are not trusted: what one message may weigh, and how many one connection may have under way. */
  readonly limits?: { readonly messageBytes: number; readonly streams: number };
}

export interface RpcServer {
  readonly socketPath: string;
  /** Ends running calls at once and removes the socket file. */
  close(): Promise<void>;
}

export interface ServedService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

async function handOver(socketPath: string, owner: { uid: number; gid: number }, server: Server): Promise<void> {
  try {
    // Not chown and no chmod: the directory may belong to an untrusted pod, which could put a link in the socket's place.
    await lchown(socketPath, owner.uid, owner.gid);
  } catch (err) {
    server.forceShutdown();
    throw new KvError('Internal', `cannot hand the socket ${socketPath} to user ${owner.uid}`, { cause: err });
  }
}

/** Listens on a socket path; a socket file left by a dead process is replaced. */
export async function listenOn(socketPath: string, services: readonly ServedService[], options: ListenOptions = {}): Promise<RpcServer> {
  const target = checkedTarget(socketPath);
  await removeSocket(socketPath);
  const { limits } = options;
  const server = new Server({
    ...OPTIONS,
    ...(limits ? { 'grpc.max_receive_message_length': limits.messageBytes, 'grpc.max_concurrent_streams': limits.streams } : {}),
  });
  for (const { definition, implementation } of services) server.addService(definition, implementation);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(target, ServerCredentials.createInsecure(), (err) => {
      if (err) reject(new KvError('Internal', `cannot listen on ${socketPath}`, { cause: err }));
      else resolve();
    });
  });
  if (options.owner) await handOver(socketPath, options.owner, server);
  return {
    socketPath,
    async close() {
      server.forceShutdown();
      await removeSocket(socketPath);
    },
  };
}
