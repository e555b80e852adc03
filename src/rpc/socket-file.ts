// The file of a unix socket that somebody listens on: whether its path is short enough, and away with that of a dead process. Used by both kinds
// of servers of this room.
import { unlink } from 'node:fs/promises';
import { KvError } from '../base/errors.js';

// sun_path holds 108 bytes with its end mark; a longer path would be cut or refused with a message nobody understands.
const MAX_SOCKET_PATH = 107;

export function checkSocketPath(socketPath: string): void {
  if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH) {
    throw new KvError('Invalid', `socket path ${socketPath} is longer than ${MAX_SOCKET_PATH} bytes; reach it by a shorter path`);
  }
}

export async function removeSocket(socketPath: string): Promise<void> {
  await unlink(socketPath).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw new KvError('Internal', `cannot remove the old socket ${socketPath}`, { cause: err });
  });
}
