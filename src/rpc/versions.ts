// Which versions of the two services this build speaks, and how two builds agree on one. Asked once a connection, before other calls.
import { KvError } from '../base/errors.js';

export const CMD_VERSION = 1;
export const NOTIFY_VERSION = 1;

export const CMD_INFO = {
  supportedCmdVersions: [`v${CMD_VERSION}`],
  supportedKubeVirtAPIVersions: ['v1'],
  supportedDomainVersions: ['v1'],
  supportedDomainStatsVersions: ['v1'],
};

export const NOTIFY_INFO = {
  supportedNotifyVersions: [`v${NOTIFY_VERSION}`],
  supportedDomainVersions: ['v1'],
  supportedK8SMetaAPIVersions: ['v1'],
  supportedK8SEventAPIVersions: ['v1'],
};

/** The highest version both sides speak. Peers write versions as "v1" or "1". */
export function agreeOnVersion(ours: readonly number[], theirs: readonly string[], peer: string): number {
  const offered = new Set(theirs.map((version) => Number(version.replace(/^v/, ''))));
  const common = ours.filter((version) => offered.has(version));
  if (common.length === 0) {
    const lists = `we speak ${ours.join(', ') || 'none'}, it speaks ${theirs.join(', ') || 'none'}`;
    throw new KvError('Terminal', `${peer} and this process share no protocol version (${lists}); upgrade the older one`);
  }
  return Math.max(...common);
}
