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

export const iommufd: Step<'iommufd'> = {
  name: 'iommufd',
  render: ({ iommufd: enabled }) => (enabled ? { elements: [el('iommufd', { enabled: 'yes', fdgroup: 'iommu' })] } : NOTHING),
};
