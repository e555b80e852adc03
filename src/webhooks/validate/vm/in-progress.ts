// What an update of a VM may not touch while a snapshot or a restore of it runs. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { VirtualMachine, VirtualMachineSpec } from '../../../api/index.js';
import { type Causes, notSupported } from '../rule.js';

function sameRunState(old: VirtualMachineSpec, next: VirtualMachineSpec): boolean {
  if (old.running !== undefined && next.running !== undefined) return old.running === next.running;
  if (old.runStrategy !== undefined && next.runStrategy !== undefined) return old.runStrategy === next.runStrategy;
  return false;
}

/** `running` in terms of strategies; undefined when both are given. */
function strategyOf({ running, runStrategy }: VirtualMachineSpec): string | undefined {
  if (running !== undefined && runStrategy !== undefined) return undefined;
  if (running === undefined) return runStrategy ?? 'Halted';
  return running ? 'Always' : 'Halted';
}

export function* inProgressCauses(next: VirtualMachine, old: VirtualMachine | undefined): Causes {
  if (!old) return;
  const { snapshotInProgress, restoreInProgress } = next.status ?? {};
  if (snapshotInProgress !== undefined) {
    const [before, after] = [old.spec.template?.spec?.volumes ?? [], next.spec.template?.spec?.volumes ?? []];
    if (!isDeepStrictEqual(before, after)) {
      yield notSupported('spec', `Cannot update vm disks or volumes until snapshot "${snapshotInProgress}" completes: try again then`);
      return;
    }
    if (!sameRunState(old.spec, next.spec)) {
      yield notSupported('spec', `Cannot update vm running state until snapshot "${snapshotInProgress}" completes: try again then`);
      return;
    }
  }
  if (restoreInProgress !== undefined && strategyOf(old.spec) !== strategyOf(next.spec)) {
    yield notSupported('spec', `Cannot update VM runStrategy until restore "${restoreInProgress}" completes: try again then`);
  }
}
