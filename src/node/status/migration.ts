// What status.migrationState says of a live migration as its node agents see it: the source tells how it goes and how it failed, the target that the
// guest has come. Pure. Who may write when, and the rest of the hand-over, is the migration controllers'.
import type { DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance, VirtualMachineInstanceMigrationState } from '../../api/index.js';
import { metaTime } from '../../base/clock.js';

type State = VirtualMachineInstanceMigrationState;

/** Handed over to this node, and not over. */
function openState({ status }: VirtualMachineInstance, node: string, side: 'sourceNode' | 'targetNode'): State | undefined {
  const state = status?.migrationState;
  const isOver = state?.completed === true || state?.failed === true;
  return state === undefined || isOver || state[side] !== node ? undefined : state;
}

/** The guest leaves this node, or has left it: that its domain goes is no end of it. */
export function isLeaving(vmi: VirtualMachineInstance, node: string): boolean {
  const state = openState(vmi, node, 'sourceNode');
  return state?.startTimestamp !== undefined && state.targetNode !== node;
}

/** A guest is to come to this node, or is on its way. */
export const isArriving = (vmi: VirtualMachineInstance, node: string): boolean => openState(vmi, node, 'targetNode') !== undefined;

/** With what the source's launcher reports; the same object when that changes nothing. */
export function sourceState(vmi: VirtualMachineInstance, domain: DomainReport | undefined, node: string): State | undefined {
  const known = vmi.status?.migrationState;
  const state = openState(vmi, node, 'sourceNode');
  const report = domain?.spec.migration;
  if (state === undefined || report === undefined || report.uid !== state.migrationUid) return known;
  const { startTimestamp, endTimestamp, failed, failureReason, abortStatus, mode } = report;
  // That it has succeeded is for the target to say, which has the guest.
  const end = failed === true ? { failed, endTimestamp, failureReason } : {};
  return { ...state, ...withoutUndefined({ startTimestamp, abortStatus, mode, ...end }) };
}

/** The guest runs here, or stands as its user wants it to. */
export function isActiveHere(domain: DomainReport | undefined): boolean {
  const { status, reason } = domain?.status ?? {};
  return status === 'Running' || (status === 'Paused' && reason === 'User');
}

/** With what the target's launcher reports of the guest that comes. */
export function targetState(
  vmi: VirtualMachineInstance,
  domain: DomainReport | undefined,
  { node, now }: { node: string; now: number },
): State | undefined {
  const known = vmi.status?.migrationState;
  const state = openState(vmi, node, 'targetNode');
  if (state === undefined || domain === undefined) return known;
  const readyAt = state.targetNodeDomainReadyTimestamp ?? (isActiveHere(domain) ? metaTime(now) : undefined);
  const report = domain.spec.migration;
  const isEnd = report?.uid === state.migrationUid && isActiveHere(domain);
  return {
    ...state,
    targetNodeDomainDetected: true,
    ...withoutUndefined({ targetNodeDomainReadyTimestamp: readyAt, ...(isEnd ? { endTimestamp: report?.endTimestamp } : {}) }),
  };
}

const withoutUndefined = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> };
