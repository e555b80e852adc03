// Pointers and keyboards: the tablets a VMI asks for, and what an architecture without a built-in keyboard needs beside its screen.
import type { Devices, Input } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { ArchTraits } from '../arch.js';
import type { Step } from '../step.js';
import { el, type XmlNode } from '../xml.js';
import { alias } from './device.js';

export const inputs: Step<'devices' | 'arch'> = {
  name: 'inputs',
  render: ({ devices, arch }) => ({
    devices: [...(devices.inputs ?? []).map(inputNode), ...(devices.autoattachGraphicsDevice === false ? [] : builtIn(devices, arch))],
  }),
};

function inputNode({ name, type, bus = '' }: Input): XmlNode {
  if (!['', 'usb', 'virtio'].includes(bus))
    throw new KvError('Invalid', `input contains unsupported bus ${bus}: input ${name} can use usb or virtio`);
  if (type !== 'tablet') throw new KvError('Invalid', `input contains unsupported type ${type}: input ${name} can only be a tablet`);
  return el('input', { type, bus: bus || 'usb', model: bus === 'virtio' ? 'virtio' : undefined }, [alias(name)]);
}

function builtIn(devices: Devices, arch: ArchTraits): XmlNode[] {
  if (!arch.inputBus) return [];
  if (arch.inputBus === 'virtio') return [el('input', { type: 'keyboard', bus: 'virtio' })];
  const tablet = devices.inputs?.some(({ type }) => type === 'tablet') ? [] : [el('input', { type: 'tablet', bus: 'usb' })];
  return [...tablet, el('input', { type: 'keyboard', bus: 'usb' })];
}
