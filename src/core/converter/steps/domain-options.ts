// Small domain-wide choices: what a guest's reboot does, and the shared descriptor for VFIO devices.
import type { Domain } from '../domain.js';
import { type Fragment, NOTHING, type Step } from '../step.js';

const ON_REBOOT: Readonly<Record<string, Domain['on_reboot']>> = { Terminate: 'destroy', Reboot: 'restart' };

export const rebootPolicy: Step<'domain'> = {
  name: 'reboot-policy',
  render: ({ domain }): Fragment => ({ on_reboot: ON_REBOOT[domain.rebootPolicy ?? ''] }),
};

/** The first libvirt that takes the descriptor of a whole domain. */
export const IOMMUFD_SINCE = 12_002_000;

export const iommufd: Step<'iommufd' | 'libvirtVersion'> = {
  name: 'iommufd',
  render: ({ iommufd: enabled, libvirtVersion = IOMMUFD_SINCE }): Fragment =>
    enabled && libvirtVersion >= IOMMUFD_SINCE ? { iommufd: { enabled: true, fdgroup: 'iommu' } } : NOTHING,
};
