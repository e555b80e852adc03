// Whether a guest's agent can do what this VMI needs of it: by the commands that it serves, or, for agents that do not tell them, by its version. Pure.
import type { AgentReport } from '../../api/domain-report.js';
import type { ConditionValue, VirtualMachineInstance } from '../../api/index.js';
import { text } from '../text.js';

const BASIC = [
  'guest-ping',
  'guest-get-time',
  'guest-info',
  'guest-shutdown',
  'guest-network-get-interfaces',
  'guest-get-fsinfo',
  'guest-get-host-name',
  'guest-get-users',
  'guest-get-timezone',
  'guest-get-osinfo',
];
const SSH = ['guest-ssh-get-authorized-keys', 'guest-ssh-add-authorized-keys', 'guest-ssh-remove-authorized-keys'];
/** How keys get into guests whose agent does not know them: as files. */
const SSH_BY_FILE = ['guest-exec-status', 'guest-exec', 'guest-file-open', 'guest-file-close', 'guest-file-read', 'guest-file-write'];
const PASSWORD = ['guest-set-user-password'];

/** Why it does not do; undefined when it does. */
export function agentShortcoming(vmi: VirtualMachineInstance, agent: AgentReport, versions: readonly string[]): string | undefined {
  if (agent.commands.length === 0) {
    const fits = versions.some((pattern) => new RegExp(pattern).test(agent.version));
    return fits ? undefined : text.agentVersion(agent.version);
  }
  const has = (commands: readonly string[]): boolean => commands.every((command) => agent.commands.includes(command));
  if (!has(BASIC)) return text.agentBasics;
  const credentials = vmi.spec.accessCredentials ?? [];
  const wantsKeys = credentials.some(({ sshPublicKey }) => sshPublicKey?.propagationMethod.qemuGuestAgent !== undefined);
  if (wantsKeys && !has(SSH) && !has(SSH_BY_FILE)) return text.agentKeys;
  const wantsPasswords = credentials.some(({ userPassword }) => userPassword?.propagationMethod.qemuGuestAgent !== undefined);
  return wantsPasswords && !has(PASSWORD) ? text.agentPasswords : undefined;
}

export function unsupportedAgent(
  vmi: VirtualMachineInstance,
  agent: AgentReport | undefined,
  versions: readonly string[],
): ConditionValue | undefined {
  const shortcoming = agent && agentShortcoming(vmi, agent, versions);
  return shortcoming === undefined ? undefined : { status: 'True', reason: shortcoming };
}
