// Connects to a unix socket of QEMU inside a launcher: the serial console or VNC. The path is walked inside the launcher's root, so that
// a link placed there cannot lead the agent to a socket of the node.
import { connect, type Socket } from 'node:net';
import { KvError } from '../../base/errors.js';
import { withBeneath } from '../../linux/safe-path.js';

const TIMEOUT_MS = 5_000;

/** `path` as the launcher sees it. */
export function dialGuestSocket(root: string, path: string): Promise<Socket> {
  return withBeneath(root, path, (found) => dial(found.path, path));
}

function dial(target: string, shown: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: target });
    const fail = (cause: Error): void => {
      socket.destroy();
      reject(new KvError('Unavailable', `cannot connect to ${shown} of the guest`, { cause }));
    };
    const timer = setTimeout(() => fail(new Error(`no connection within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
    socket.once('error', (err) => {
      clearTimeout(timer);
      fail(err);
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      // Until the stream takes over, a broken connection must not end the process.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}
