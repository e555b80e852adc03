// Size of the guest's memory, and the ceiling up to which it can grow.
import { compareQuantities } from '../../../api/quantity.js';
import { bytesOf, guestMemory } from '../memory-size.js';
import type { Step } from '../step.js';
import { textEl } from '../xml.js';

export const memory: Step<'domain' | 'arch'> = {
  name: 'memory',
  render({ domain, arch }) {
    const size = textEl('memory', bytesOf(guestMemory(domain), 'guest memory'), { unit: 'b' });
    const { guest, maxGuest } = domain.memory ?? {};
    const fixed = maxGuest === undefined || !arch.virtioMem || (guest !== undefined && compareQuantities(guest, maxGuest) === 0);
    // No slots: memory grows through a virtio-mem device, not by inserting modules.
    return { elements: fixed ? [size] : [size, textEl('maxMemory', bytesOf(maxGuest, 'memory.maxGuest'), { unit: 'b', slots: 0 })] };
  },
};
