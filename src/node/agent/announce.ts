// Events about what changed in a VMI's status besides its phase: volumes that were plugged or unplugged, access credentials, an agent that cannot do
// what is needed. One event a transition; what the status says is not decided here.
import { findCondition } from '../../api/conditions.js';
import type { VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import type { EventRecorder } from '../../runtime/types.js';
import { text } from '../text.js';

type Vmi = VirtualMachineInstance;

export function announceChanges(events: EventRecorder, before: Vmi, after: Vmi): void {
  announceVolumes(events, before, after);
  announceCredentials(events, before, after);
  const [old, now] = [before, after].map((vmi) => conditionOf(vmi, 'AgentVersionNotSupported'));
  if (now && now.reason !== old?.reason) events.event(after, 'Warning', 'AgentVersionNotSupported', now.reason ?? '');
}

const conditionOf = ({ status }: Vmi, type: string) => findCondition(status?.conditions, type);

/** Only those that come and go while the guest runs. */
const plugged = ({ status }: Vmi): VolumeStatus[] =>
  (status?.volumeStatus ?? []).filter(({ hotplugVolume }) => hotplugVolume !== undefined);

const hasNewFailure = (old: VolumeStatus, { reason, message }: VolumeStatus): boolean =>
  reason === 'HotplugFailed' && (old.reason !== reason || old.message !== message);

function announceVolumes(events: EventRecorder, before: Vmi, after: Vmi): void {
  const now = new Map(plugged(after).map((status) => [status.name, status]));
  for (const old of plugged(before)) {
    const status = now.get(old.name);
    if (status === undefined) events.event(after, 'Normal', 'VolumeUnplugged', text.volumeUnplugged(old.name));
    else if (status.phase !== old.phase && status.reason) events.event(after, 'Normal', status.reason, status.message ?? '');
    else if (hasNewFailure(old, status)) events.event(after, 'Warning', 'HotplugFailed', status.message ?? '');
  }
}

function announceCredentials(events: EventRecorder, before: Vmi, after: Vmi): void {
  const [old, now] = [before, after].map((vmi) => conditionOf(vmi, 'AccessCredentialsSynchronized'));
  if (now === undefined || (now.status === old?.status && now.message === old.message)) return;
  if (now.status === 'True') events.event(after, 'Normal', 'AccessCredentialsSyncSuccess', text.credentialsSynced);
  else events.event(after, 'Warning', 'AccessCredentialsSyncFailed', text.credentialsFailed(now.message ?? ''));
}
