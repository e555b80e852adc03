// A socket on which a daemon of the node serves the launchers: handed to their user as soon as it is there, and tried, because a daemon
// that was killed leaves its file behind. Asked by the device plugin each time it looks; never throws for a socket that is missing.
import { chown, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { hasCode } from '../../base/errors.js';
import { type SafePath, withBeneath } from '../../linux/safe-path.js';

export interface SharedSocket {
  readonly name: string;
  /** User and group of those who connect; without it the daemon decides who may. */
  readonly owner?: number;
  /** True for a socket of the host that lies in none of this process's own folders. */
  readonly isOfHost?: boolean;
  /** Guests do without the daemon: its absence keeps no pod away. */
  readonly isOptional?: boolean;
}

const ANSWER_MS = 2_000;

/** True when somebody listens, and `owner` may connect. `root`: the directory that `path` is meant to start from. */
export async function offerSocket(root: string, path: string, owner: number | undefined): Promise<boolean> {
  try {
    return await withBeneath(root, path, (found) => offer(found, owner));
  } catch (err) {
    if (hasCode(err, 'NotFound')) return false; // the daemon is not up yet
    throw err;
  }
}

async function offer({ path }: SafePath, owner: number | undefined): Promise<boolean> {
  const found = await stat(path);
  if (!found.isSocket()) return false;
  if (owner !== undefined && found.uid !== owner) await chown(path, owner, owner);
  return answers(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (isAlive: boolean): void => {
      socket.destroy();
      resolve(isAlive);
    };
    socket.setTimeout(ANSWER_MS, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false)); // nobody listens: that is the answer
  });
}
