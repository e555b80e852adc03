// Pointers and keyboards: the tablets a VMI asks for, and what an architecture without a built-in keyboard needs beside its screen.
import type { Devices, Input } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { ArchTraits } from '../arch.js';
import type { DomainInput } from '../domain-devices.js';
import type { Fragment, Step } from '../step.js';
import { aliased } from './device.js';

export const inputs: Step<'devices' | 'arch'> = {
  name: 'inputs',
  render: ({ devices, arch }): Fragment => ({
    devices: {
      input: [...(devices.inputs ?? []).map(wanted), ...(devices.autoattachGraphicsDevice === false ? [] : builtIn(devices, arch))],
    },
  }),
};

const BUSES = ['usb', 'virtio'] as const;

function wanted({ name, type, bus }: Input): DomainInput {
  const known = BUSES.find((each) => each === (bus || 'usb'));
  if (!known) throw new KvError('Invalid', `input contains unsupported bus ${bus}: input ${name} can use usb or virtio`);
  if (type !== 'tablet') throw new KvError('Invalid', `input contains unsupported type ${type}: input ${name} can only be a tablet`);
  return { type, bus: known, model: known === 'virtio' ? 'virtio' : undefined, ...aliased(name) };
}

function builtIn(devices: Devices, arch: ArchTraits): DomainInput[] {
  if (!arch.inputBus) return [];
  const keyboard: DomainInput = { type: 'keyboard', bus: arch.inputBus };
  const hasPointer = arch.inputBus === 'virtio' || devices.inputs?.some(({ type }) => type === 'tablet');
  return hasPointer ? [keyboard] : [{ type: 'tablet', bus: 'usb' }, keyboard];
}
