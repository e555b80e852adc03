// Conditions as a list with one entry a type. Pure: callers hand in the time. Times move only when the status changes,
// the order of types stays, and an unchanged list is returned as it was, so that an equal status is never written.
import { metaTime } from '../base/clock.js';

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastProbeTime?: string;
  lastTransitionTime?: string;
}

/** What a decision says about one condition; undefined removes it. */
export interface ConditionValue {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
}

export function findCondition<C extends Condition>(list: readonly C[] | undefined, type: string): C | undefined {
  return list?.find((c) => c.type === type);
}

export function isConditionTrue(list: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(list, type)?.status === 'True';
}

const isSame = (c: Condition, v: ConditionValue): boolean =>
  c.status === v.status && (c.reason ?? '') === (v.reason ?? '') && (c.message ?? '') === (v.message ?? '');

/** The list with the named condition set or removed. */
export function withCondition(
  list: readonly Condition[] | undefined,
  type: string,
  value: ConditionValue | undefined,
  now: number,
): Condition[] {
  const current = list ?? [];
  const old = findCondition(current, type);
  if (!value) return old ? current.filter((c) => c !== old) : [...current];
  if (old && isSame(old, value)) return [...current];
  const next: Condition = {
    type,
    status: value.status,
    ...(value.reason ? { reason: value.reason } : {}),
    ...(value.message ? { message: value.message } : {}),
    lastProbeTime: null as never,
    lastTransitionTime: old?.status === value.status && old.lastTransitionTime ? old.lastTransitionTime : metaTime(now),
  };
  return old ? current.map((c) => (c === old ? next : c)) : [...current, next];
}

/** Several at once, in the given order. */
export function withConditions(
  list: readonly Condition[] | undefined,
  values: Readonly<Record<string, ConditionValue | undefined>>,
  now: number,
): Condition[] {
  return Object.entries(values).reduce<Condition[]>((all, [type, value]) => withCondition(all, type, value, now), [...(list ?? [])]);
}
