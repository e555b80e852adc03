// Which versions of the two services this build speaks, and how two builds agree on one. Asked once a connection, before other calls.
import { KvError } from '../base/errors.js';

export const CMD_VERSION = 1;
export const NOTIFY_VERSION = 1;

export const CMD_INFO = { supportedCmdVersions: [CMD_VERSION] };
export const NOTIFY_INFO = { supportedNotifyVersions: [NOTIFY_VERSION] };

/** The highest version both sides speak. */
export function agreeOnVersion(ours: readonly number[], theirs: readonly number[], peer: string): number {
  const common = ours.filter((version) => theirs.includes(version));
  if (common.length === 0) {
    const lists = `we speak ${ours.join(', ') || 'none'}, it speaks ${theirs.join(', ') || 'none'}`;
    throw new KvError('Terminal', `${peer} and this process share no protocol version (${lists}); upgrade the older one`);
  }
  return Math.max(...common);
}
