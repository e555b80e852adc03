// Size of the guest's memory, and the ceiling up to which it can grow.
import { compareQuantities } from '../../../api/quantity.js';
import { bytesOf, guestMemory } from '../memory-size.js';
import type { Fragment, Step } from '../step.js';

export const memory: Step<'domain' | 'arch'> = {
  name: 'memory',
  render({ domain, arch }): Fragment {
    const { guest, maxGuest } = domain.memory ?? {};
    const fixed = maxGuest === undefined || !arch.virtioMem || (guest !== undefined && compareQuantities(guest, maxGuest) === 0);
    return {
      memory: { unit: 'b', value: bytesOf(guestMemory(domain), 'guest memory') },
      // No slots: memory grows through a virtio-mem device, not by inserting modules.
      maxMemory: fixed ? undefined : { unit: 'b', slots: 0, value: bytesOf(maxGuest, 'memory.maxGuest') },
    };
  },
};
