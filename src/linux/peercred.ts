// Finds the process behind a unix socket: dials it and asks the kernel who called listen. The node agent uses this as its only
// proof of which process is the launcher of a pod. Never sends a byte.
import { createConnection, type Socket } from 'node:net';
import { KvError } from '../base/errors.js';
import { type PeerCredentials, peerCredentials } from './ffi.js';

export type { PeerCredentials } from './ffi.js';

/** The listener's credentials; LauncherUnreachable when nobody listens, Terminal when its process is not visible from here. */
export async function peerOf(socketPath: string, timeoutMs = 5_000): Promise<PeerCredentials> {
  const socket = await dial(socketPath, timeoutMs);
  try {
    const peer = peerCredentials(descriptorOf(socket));
    if (peer.pid === 0) {
      throw new KvError('Terminal', `the process behind ${socketPath} is not visible: virt-handler must run in the host's PID namespace`);
    }
    return peer;
  } finally {
    socket.destroy();
  }
}

/** True when somebody accepts connections on the socket. */
export async function isListening(socketPath: string, timeoutMs = 5_000): Promise<boolean> {
  const socket = await dial(socketPath, timeoutMs).catch(() => undefined);
  socket?.destroy();
  return socket !== undefined;
}

/** Connects; LauncherUnreachable when nobody answers in time. */
export function dial(socketPath: string, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ path: socketPath });
    const fail = (cause: Error): void => {
      socket.destroy();
      reject(new KvError('LauncherUnreachable', `nobody answers on the socket ${socketPath}`, { cause }));
    };
    const timer = setTimeout(() => fail(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
    socket.once('error', (cause) => {
      clearTimeout(timer);
      fail(cause);
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}

/** Node keeps the descriptor of a connected socket on its handle; there is no public accessor. */
export function descriptorOf(socket: Socket): number {
  const fd = (socket as unknown as { _handle?: { fd?: number } })._handle?.fd;
  if (fd === undefined || fd < 0) throw new KvError('Internal', 'this Node version does not show the descriptor of a socket');
  return fd;
}
