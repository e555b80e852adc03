// A socket on which a daemon of the node serves the launchers: handed to their user as soon as it is there, and tried, because a daemon
// that was killed leaves its file behind. Asked by the device plugin each time it looks; never throws for a socket that is missing.
import { lchown, lstat } from 'node:fs/promises';
import { connect } from 'node:net';

export interface SharedSocket {
  readonly name: string;
  /** User and group of those who connect. */
  readonly owner: number;
}

const ANSWER_MS = 2_000;

/** True when somebody listens, and `owner` may connect. */
export async function offerSocket(path: string, owner: number): Promise<boolean> {
  const found = await lstat(path).catch(absent);
  if (!found?.isSocket()) return false;
  if (found.uid !== owner) await lchown(path, owner, owner).catch(absent);
  return answers(path);
}

/** The daemon is not up yet, or makes its socket anew at this moment. */
function absent(err: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes((err as NodeJS.ErrnoException).code ?? '')) return undefined;
  throw err;
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
