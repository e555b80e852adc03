// Which host devices a VMI needs, as far as its resources and its overhead depend on them.
import type { DomainSpec, VirtualMachineInstanceSpec } from '../../api/index.js';

/** Devices passed through with VFIO pin the guest's memory and need address space of their own. */
export const hasVfioDevice = ({ devices }: DomainSpec): boolean =>
  (devices.hostDevices?.length ?? 0) > 0 ||
  (devices.gpus?.length ?? 0) > 0 ||
  (devices.interfaces?.some((iface) => iface.sriov !== undefined) ?? false);

export const hasTpm = ({ devices }: DomainSpec): boolean => devices.tpm !== undefined && devices.tpm.enabled !== false;

export const isSev = ({ launchSecurity }: DomainSpec): boolean => launchSecurity?.sev !== undefined || launchSecurity?.snp !== undefined;

export const isSevEs = ({ launchSecurity }: DomainSpec): boolean => launchSecurity?.sev?.policy?.encryptedState === true;

export const isSevSnp = ({ launchSecurity }: DomainSpec): boolean => launchSecurity?.snp !== undefined;

export const isTdx = ({ launchSecurity }: DomainSpec): boolean => launchSecurity?.tdx !== undefined;

export const hasDownwardMetricsVolume = ({ volumes }: VirtualMachineInstanceSpec): boolean =>
  volumes?.some((volume) => volume.downwardMetrics !== undefined) ?? false;

/** A LUN that the guest reserves for itself goes through the node's reservation helper. */
export const hasReservation = ({ devices }: DomainSpec): boolean => devices.disks?.some(({ lun }) => lun?.reservation === true) ?? false;

export const hasGraphics = ({ devices }: DomainSpec): boolean => devices.autoattachGraphicsDevice !== false;
