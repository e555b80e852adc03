// Where the guest's memory comes from: huge pages, a memory file that other processes can map, pages spread over NUMA cells.
import type { MemoryBacking } from '../domain.js';
import type { ItemOf } from '../domain-fields.js';
import { isMemoryShared, needsMemfd } from '../memory-size.js';
import type { NumaPlacement } from '../numa.js';
import { type Fragment, NOTHING, type Step } from '../step.js';

export const memoryBacking: Step<'vmi' | 'domain' | 'arch' | 'placement'> = {
  name: 'memory-backing',
  render({ vmi, domain, arch, placement }): Fragment {
    const hugepages = domain.memory?.hugepages !== undefined;
    const shared = isMemoryShared(domain);
    if (!hugepages && !shared) return NOTHING;
    return {
      memoryBacking: {
        hugepages: hugepages ? pages(placement?.numa) : undefined,
        source: arch.memfd && needsMemfd(vmi) ? { type: 'memfd' } : undefined,
        access: shared ? { mode: 'shared' } : undefined,
        // Memory bound to cells is taken at once, before another guest takes it there.
        allocation: placement?.numa && { mode: 'immediate' },
        nosharepages: placement?.numa !== undefined && domain.cpu?.realtime !== undefined,
      },
    };
  },
};

type Pages = NonNullable<MemoryBacking['hugepages']>;

const pages = (numa: NumaPlacement | undefined): Pages => ({
  page: numa?.cells.map(({ id }): ItemOf<Pages['page']> => ({ size: numa.pageBytes, unit: 'b', nodeset: String(id) })),
});
