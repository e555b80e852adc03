// Where the guest's memory comes from: huge pages, a memory file that other processes can map, pages spread over NUMA cells.
import { isMemoryShared, needsMemfd } from '../memory-size.js';
import type { NumaPlacement } from '../numa.js';
import { NOTHING, type Step } from '../step.js';
import { el, type XmlChild, type XmlNode } from '../xml.js';

export const memoryBacking: Step<'vmi' | 'domain' | 'arch' | 'placement'> = {
  name: 'memory-backing',
  render({ vmi, domain, arch, placement }) {
    const hugepages = domain.memory?.hugepages !== undefined;
    const shared = isMemoryShared(domain);
    if (!hugepages && !shared) return NOTHING;
    const children = [
      hugepages && el('hugepages', {}, pages(placement?.numa)),
      arch.memfd && needsMemfd(vmi) && el('source', { type: 'memfd' }),
      shared && el('access', { mode: 'shared' }),
      ...allocation(placement?.numa, domain.cpu?.realtime !== undefined),
    ];
    return { elements: [el('memoryBacking', {}, children)] };
  },
};

const pages = (numa: NumaPlacement | undefined): XmlNode[] =>
  numa?.cells.map(({ id }) => el('page', { size: numa.pageBytes, unit: 'b', nodeset: id })) ?? [];

/** Memory bound to cells is taken at once, before another guest takes it there. */
const allocation = (numa: NumaPlacement | undefined, realtime: boolean): XmlChild[] =>
  numa ? [el('allocation', { mode: 'immediate' }), realtime && el('nosharepages')] : [];
