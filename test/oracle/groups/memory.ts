// Recorded memory overheads, answered by core/resources.
import type { KubeVirtConfiguration, VirtualMachineInstance } from '../../../src/api/index.js';
import { amountValue, formatQuantity } from '../../../src/api/quantity.js';
import { type BindingOverheads, memoryOverhead } from '../../../src/core/resources/memory-overhead.js';
import type { OracleCase } from '../oracle-case.js';

export function answer({ object, config, arch }: OracleCase): unknown {
  const vmi = object as VirtualMachineInstance;
  const settings = (config ?? {}) as KubeVirtConfiguration;
  const overhead = memoryOverhead(vmi, {
    arch: vmi.spec.architecture ?? String(arch ?? 'amd64'),
    ratio: settings.additionalGuestMemoryOverheadRatio,
    bindings: settings.network?.binding as BindingOverheads | undefined,
  });
  return { bytes: Number(amountValue(overhead)), quantity: formatQuantity(overhead) };
}
