// Small domain-wide choices: what a guest's reboot does, and the shared descriptor for VFIO devices.
import { NOTHING, type Step } from '../step.js';
import { el, textEl } from '../xml.js';

const ON_REBOOT: Readonly<Record<string, string>> = { Terminate: 'destroy', Reboot: 'restart' };

export const rebootPolicy: Step<'domain'> = {
  name: 'reboot-policy',
  render({ domain }) {
    const action = ON_REBOOT[domain.rebootPolicy ?? ''];
    return action === undefined ? NOTHING : { elements: [textEl('on_reboot', action)] };
  },
};

/** The first libvirt that takes the descriptor of a whole domain. */
const IOMMUFD_SINCE = 12_002_000;

export const iommufd: Step<'iommufd' | 'libvirtVersion'> = {
  name: 'iommufd',
  render: ({ iommufd: enabled, libvirtVersion = IOMMUFD_SINCE }) =>
    enabled && libvirtVersion >= IOMMUFD_SINCE ? { elements: [el('iommufd', { enabled: 'yes', fdgroup: 'iommu' })] } : NOTHING,
};
