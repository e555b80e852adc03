// Whether a VMI may be paused, rebooted, frozen, asked through its agent, or spoken to by console, VNC or its ports now. Pure.
import { BlockList, isIP } from 'node:net';
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { fail, ok, type Result } from '../base/result.js';
import { badRequest, conflict, forbidden, internalError, type StatusError } from './status.js';

const nameOf = (vmi: VirtualMachineInstance): string => vmi.metadata.name ?? '';
const isRunning = (vmi: VirtualMachineInstance): boolean => vmi.status?.phase === 'Running';
const has = (vmi: VirtualMachineInstance, type: string): boolean => vmi.status?.conditions?.some((c) => c.type === type) ?? false;
const isPaused = (vmi: VirtualMachineInstance): boolean => has(vmi, 'Paused');
const refuse = (vmi: VirtualMachineInstance, why: string): StatusError => conflict('virtualmachineinstance', nameOf(vmi), why);

const NOT_RUNNING = 'VMI is not running';

export function pauseRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (!isRunning(vmi)) return refuse(vmi, 'VM is not running');
  const probe = vmi.spec.livenessProbe;
  if (probe && !probe.guestAgentPing) {
    return forbidden('virtualmachineinstance', nameOf(vmi), 'Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported');
  }
  return isPaused(vmi) ? refuse(vmi, 'VMI is already paused') : undefined;
}

/** `vm`: the VM of the same name, if there is one. */
export function unpauseRefusal(vmi: VirtualMachineInstance, vm: VirtualMachine | undefined): StatusError | undefined {
  if (vm?.status?.snapshotInProgress !== undefined) return conflict('virtualmachine', nameOf(vmi), 'VM snapshot is in progress');
  if (!isRunning(vmi)) return refuse(vmi, NOT_RUNNING);
  return isPaused(vmi) ? undefined : refuse(vmi, 'VMI is not paused');
}

export function softRebootRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (!isRunning(vmi)) return refuse(vmi, NOT_RUNNING);
  if (isPaused(vmi)) return refuse(vmi, 'VMI is paused');
  if (has(vmi, 'AgentConnected') || vmi.spec.domain.features?.acpi?.enabled !== false) return undefined;
  return refuse(vmi, 'VMI neither have the agent connected nor the ACPI feature enabled');
}

export const freezeRefusal = (vmi: VirtualMachineInstance): StatusError | undefined =>
  isRunning(vmi) ? undefined : refuse(vmi, 'VM is not running');

export const unfreezeRefusal = (vmi: VirtualMachineInstance): StatusError | undefined =>
  isRunning(vmi) ? undefined : refuse(vmi, NOT_RUNNING);

export const backupRefusal = freezeRefusal;

export const checkpointRefusal = (vmi: VirtualMachineInstance): StatusError | undefined =>
  vmi.status?.changedBlockTracking?.state === 'Enabled' ? undefined : refuse(vmi, 'ChangedBlockTracking is not enabled');

/** A reset may come while the guest is only starting: the node agent's answer alone would not say so. */
export function resetFailure(vmi: VirtualMachineInstance, failure: StatusError): StatusError {
  if (isRunning(vmi)) return failure;
  return { ...failure, message: `Failed to reset non-running VMI with phase ${vmi.status?.phase ?? ''}: ${failure.message}` };
}

/** Questions to the guest's agent. */
export function agentRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (!isRunning(vmi)) return refuse(vmi, NOT_RUNNING);
  return has(vmi, 'AgentConnected') ? undefined : refuse(vmi, 'VMI does not have guest agent connected');
}

/** Where a port of the guest is reached from outside its node. */
export function forwardAddress(vmi: VirtualMachineInstance): Result<string, StatusError> {
  if (isPaused(vmi)) return fail(refuse(vmi, 'VMI is paused'));
  const ip = vmi.status?.interfaces?.[0]?.ipAddress;
  if (!ip) return fail(badRequest('no network interfaces are present'));
  return isForeign(ip)
    ? ok(ip)
    : fail(badRequest(`${ip} is no address of a guest: see status.interfaces, which its agent may have filled`));
}

/** Addresses that mean whoever dials them, or his node. */
const OWN = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  OWN.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  OWN.addSubnet(net, prefix, 'ipv6');

/** Not behind masquerade, a guest's agent says which addresses it has: it must not lead us to ourselves. */
function isForeign(ip: string): boolean {
  const family = isIP(ip);
  return family !== 0 && !OWN.check(ip, family === 6 ? 'ipv6' : 'ipv4');
}

/** A port of a VM is that of its VMI, if that is its own. */
export function ownVmiRefusal(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): StatusError | undefined {
  const name = vm.metadata.name ?? '';
  if (!vm.status?.created || !vmi) return conflict('virtualmachine', name, 'VMI is not started');
  const isOwn = vmi.metadata.ownerReferences?.some((o) => o.uid === vm.metadata.uid) ?? false;
  return isOwn ? undefined : internalError(`the running VMI ${name} does not belong to the VM: delete it, then start the VM`);
}

export function consoleRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (vmi.spec.domain.devices.autoattachSerialConsole === false) return badRequest('No serial consoles are present.');
  if (vmi.status?.phase === 'Failed') return refuse(vmi, 'VMI is in failed status');
  return isRunning(vmi) ? undefined : badRequest(NOT_RUNNING);
}

export function vncRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (vmi.spec.domain.devices.autoattachGraphicsDevice === false) return badRequest('No graphics devices are present.');
  return isRunning(vmi) ? undefined : badRequest(NOT_RUNNING);
}

export function usbRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (vmi.spec.architecture === 's390x') return refuse(vmi, 'No USB support on s390x');
  if (!vmi.spec.domain.devices.clientPassthrough) return refuse(vmi, 'Not configured with USB Redirection');
  return isRunning(vmi) ? undefined : badRequest(NOT_RUNNING);
}

export function vsockRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (vmi.spec.domain.devices.autoattachVSOCK !== true) return badRequest('VSOCK is not attached.');
  return isRunning(vmi) ? undefined : badRequest(NOT_RUNNING);
}
