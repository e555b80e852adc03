// Condition lists as values: each function returns the list to store, the very same list when nothing changes. Order is stable:
// a condition keeps its place, a new one goes to the end. Pure; time comes in as a metav1.Time string.

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
}

type List<C extends Condition> = readonly C[] | undefined;

export function findCondition<C extends Condition>(list: List<C>, type: string): C | undefined {
  return list?.find((condition) => condition.type === type);
}

export function isTrue(list: List<Condition>, type: string): boolean {
  return findCondition(list, type)?.status === 'True';
}

export function isFalse(list: List<Condition>, type: string): boolean {
  return findCondition(list, type)?.status === 'False';
}

/**
 * Replaces only when status or reason differ: a message alone is no news (it may count or carry a time).
 * lastTransitionTime moves with the status only.
 */
export function setCondition<C extends Condition>(list: List<C>, next: C, now: string): C[] {
  const old = findCondition(list, next.type);
  const same = old?.status === next.status && (old.reason ?? '') === (next.reason ?? '');
  if (old && same) return list as C[];
  const keepsTime = old?.status === next.status && old.lastTransitionTime;
  const stored: C = { ...next, lastTransitionTime: keepsTime ? old.lastTransitionTime : (next.lastTransitionTime ?? now) };
  if (!old) return [...(list ?? []), stored];
  return (list ?? []).map((condition) => (condition === old ? stored : condition));
}

export function removeCondition<C extends Condition>(list: List<C>, ...types: readonly string[]): C[] {
  if (!list?.some(({ type }) => types.includes(type))) return (list ?? []) as C[];
  return list.filter(({ type }) => !types.includes(type));
}
