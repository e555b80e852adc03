// virt-freezer: freezes or thaws the guest's file systems around a backup; Velero runs it in the pod, as the pod's annotations say
// (src/operators/pod-template/metadata.ts). A guest that cannot be frozen, for it does not run or has no agent, does not stop the backup: the
// exit code is 0 and a sentence says so. A guest that should have been frozen and was not is a failure. src/main/virt-freezer.ts runs it.
import type { DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { messageOf } from '../../base/errors.js';
import { fail, ok, type Result } from '../../base/result.js';
import { LAUNCHER_SOCKET } from '../../core/storage/paths.js';
import type { CmdApi } from '../../rpc/index.js';
import { parseToolFlags, type ToolOutcome, wholeNumber } from './flags.js';

export interface FreezeRequest {
  readonly socket: string;
  readonly verb: 'freeze' | 'unfreeze';
  readonly name: string;
  readonly namespace: string;
  /** The launcher thaws by itself after this long; 0 = never. */
  readonly unfreezeTimeoutSeconds: number;
}

const FLAGS = {
  socket: { type: 'string', default: LAUNCHER_SOCKET },
  freeze: { type: 'boolean', default: false },
  unfreeze: { type: 'boolean', default: false },
  name: { type: 'string', default: '' },
  namespace: { type: 'string', default: '' },
  unfreezeTimeoutSeconds: { type: 'string', default: '300' },
} as const;

export function parseFreezer(argv: readonly string[]): Result<FreezeRequest, string> {
  const parsed = parseToolFlags(argv, FLAGS);
  if (!parsed.ok) return parsed;
  const { socket, freeze, unfreeze, name, namespace, unfreezeTimeoutSeconds } = parsed.value.values;
  const timeout = wholeNumber('unfreezeTimeoutSeconds', unfreezeTimeoutSeconds, 0);
  if (!timeout.ok) return timeout;
  if (freeze === unfreeze) return fail('give either --freeze or --unfreeze');
  if (name === '' || namespace === '') return fail('both --name and --namespace of the VM are required');
  return ok({
    socket: String(socket),
    verb: freeze ? 'freeze' : 'unfreeze',
    name: String(name),
    namespace: String(namespace),
    unfreezeTimeoutSeconds: timeout.value,
  });
}

/** Why there is nothing to freeze or thaw. */
export function reasonToSkip(report: DomainReport | undefined): string | undefined {
  if (report?.status.status !== 'Running') return 'it does not run';
  if (!report.spec.agentConnected) return 'no guest agent is connected; install and start qemu-guest-agent for consistent backups';
  return undefined;
}

/** Nothing when the launcher itself did not answer. */
function hintFor(report: DomainReport | undefined): string {
  if (!report) return '';
  const { name = '', id = '' } = (report.status.osInfo ?? {}) as Record<string, string>;
  const services = /windows/i.test(`${name} ${id}`) ? 'guest agent and the VSS service' : 'guest agent';
  return `; check the ${services} in the guest, then try again`;
}

export async function runFreezer(
  client: Pick<CmdApi, 'getDomain' | 'freezeVirtualMachine' | 'unfreezeVirtualMachine'>,
  { verb, name, namespace, unfreezeTimeoutSeconds }: FreezeRequest,
): Promise<ToolOutcome> {
  const vmi: VirtualMachineInstance = { metadata: { name, namespace }, spec: { domain: { devices: {} } } };
  const vm = `VM ${namespace}/${name}`;
  let report: DomainReport | undefined;
  try {
    report = await client.getDomain();
    const skip = reasonToSkip(report);
    if (skip !== undefined) return { exitCode: 0, stderr: `warning: ${vm} was not asked to ${verb}: ${skip}` };
    if (verb === 'freeze') await client.freezeVirtualMachine(vmi, unfreezeTimeoutSeconds);
    else await client.unfreezeVirtualMachine(vmi);
    return { exitCode: 0, stderr: `${vm}: ${verb} done` };
  } catch (err) {
    return { exitCode: 1, stderr: `${vm}: ${verb} failed: ${messageOf(err)}${hintFor(report)}` };
  }
}
