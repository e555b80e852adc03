// Where the guest's memory comes from: huge pages, a memory file that other processes can map, pages spread over NUMA cells.
import { isMemoryShared, needsMemfd } from '../memory-size.js';
import type { NumaPlacement } from '../numa.js';
import { NOTHING, type Step } from '../step.js';
import { el } from '../xml.js';

export const memoryBacking: Step<'vmi' | 'domain' | 'arch' | 'placement'> = {
  name: 'memory-backing',
  render({ vmi, domain, arch, placement }) {
    const hugepages = domain.memory?.hugepages !== undefined;
    const shared = isMemoryShared(domain);
    if (!hugepages && !shared) return NOTHING;
    const numa = placement?.numa;
    const children = [
      hugepages && el('hugepages', {}, numa ? pages(numa) : []),
      arch.memfd && needsMemfd(vmi) && el('source', { type: 'memfd' }),
      shared && el('access', { mode: 'shared' }),
      numa && el('allocation', { mode: 'immediate' }),
      numa && domain.cpu?.realtime !== undefined && el('nosharepages'),
    ];
    return { elements: [el('memoryBacking', {}, children)] };
  },
};

const pages = ({ cells, pageBytes }: NumaPlacement) => cells.map(({ id }) => el('page', { size: pageBytes, unit: 'b', nodeset: id }));
