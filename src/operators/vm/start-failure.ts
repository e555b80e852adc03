// Crash back-off: a guest that ends before it ever ran is started again after a growing delay. Pure; chance is handed in.
import type { VirtualMachine, VirtualMachineInstance, VirtualMachineStartFailure } from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import { failedEarly, runStrategyOf, wasEverRunning } from './predicates.js';

const BASE_SECONDS = 10;
const LONGEST_SECONDS = 300;
const BACKED_OFF = new Set(['Always', 'RerunOnFailure', 'Once']);

/** Seconds to wait after the n-th failure in a row; `random` is in [0, 1). */
export function startDelaySeconds(failures: number, random: number): number {
  const base = BASE_SECONDS * failures ** 2;
  return Math.min(LONGEST_SECONDS, base + Math.floor((random * base) / 2));
}

/** The status.startFailure that follows from the VMI as seen now; undefined clears it. Counts each VMI once. */
export function nextStartFailure(
  vm: VirtualMachine,
  vmi: VirtualMachineInstance | undefined,
  { now, random }: { now: number; random: number },
): VirtualMachineStartFailure | undefined {
  const current = vm.status?.startFailure;
  if (!BACKED_OFF.has(runStrategyOf(vm))) return undefined;
  if (!vmi) return current;
  if (wasEverRunning(vmi)) return undefined;
  if (!failedEarly(vmi) || current?.lastFailedVMIUID === vmi.metadata.uid) return current;
  const failures = (current?.consecutiveFailCount ?? 0) + 1;
  return {
    consecutiveFailCount: failures,
    ...(vmi.metadata.uid ? { lastFailedVMIUID: vmi.metadata.uid } : {}),
    retryAfterTimestamp: metaTime(now + startDelaySeconds(failures, random) * 1000),
  };
}

/** Milliseconds until the VM may be started again. */
export function backoffLeftMs(vm: VirtualMachine, now: number): number {
  const until = vm.status?.startFailure?.retryAfterTimestamp;
  return until === undefined ? 0 : Math.max(0, Date.parse(until) - now);
}
