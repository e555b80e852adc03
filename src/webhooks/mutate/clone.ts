// Mutation of new clones: a target for those that name none. Pure: the suffix is handed in.

import type { VirtualMachineClone } from '../../api/index.js';
import type { Mutation } from './mutation.js';

const VM = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine' } as const;

export function mutateClone(clone: VirtualMachineClone, suffix: string): Mutation<VirtualMachineClone> {
  const { source, target } = clone.spec;
  if (target?.name) return { object: clone, warnings: [] };
  const name = `clone-${source?.name ?? ''}-${suffix}`;
  return { object: { ...clone, spec: { ...clone.spec, target: target ? { ...target, name } : { ...VM, name } } }, warnings: [] };
}
