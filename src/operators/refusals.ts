// Objects that the API server refuses because of a namespace's ResourceQuota or LimitRange: what a user reads beside the server's words, and when
// it is worth trying again at once. Pure; the controllers of VMs and VMIs ask it where they create pods, claims, VMIs and DataVolumes.
import type { ResourceQuota } from '../api/index.js';
import { parseQuantity } from '../api/quantity.js';
import { isKvError, KvError, messageOf } from '../base/errors.js';

/** The longest wait between two tries: what stands in the way goes without telling us, and nobody waits a quarter of an hour for that. */
export const MAX_RETRY_MS = 60_000;

const text = {
  exceeded: (quota: string, namespace: string) =>
    `raise ResourceQuota ${quota} of namespace ${namespace}, stop something else there, or ask for less; it is tried again when there is room`,
  unmet: (quota: string, namespace: string) =>
    `ResourceQuota ${quota} of namespace ${namespace} wants this said: set it in spec.domain.resources, or make a LimitRange with defaults`,
  bounded: (namespace: string) =>
    `a LimitRange of namespace ${namespace} bounds this, or gives it its defaults: see kubectl describe limitrange -n ${namespace}`,
} as const;

const EXCEEDED = /exceeded quota: ([^\s,]+), requested:/;
const UNMET = /failed quota: ([^\s:]+): must specify/;
const BOUNDED = /(maximum|minimum) \S+ usage per |max limit to request ratio per |must be less than or equal to \S+ limit of /;

/** What to do about the server's words; undefined where they are no word of a quota or a limit. */
export function adviceFor(words: string, namespace: string): string | undefined {
  const exceeded = EXCEEDED.exec(words)?.[1];
  if (exceeded !== undefined) return text.exceeded(exceeded, namespace);
  const unmet = UNMET.exec(words)?.[1];
  if (unmet !== undefined) return text.unmet(unmet, namespace);
  return BOUNDED.test(words) ? text.bounded(namespace) : undefined;
}

/** The words of the API server itself, without what we were doing. */
export function wordsOf(err: unknown): string {
  const { message } = isKvError(err) ? err.details : {};
  return typeof message === 'string' ? message : messageOf(err);
}

/** The server's words and what to do about them. */
export function explained(err: unknown, namespace: string): string {
  const words = wordsOf(err);
  const advice = adviceFor(words, namespace);
  return advice === undefined ? words : `${words}; ${advice}`;
}

/** The same error with a sentence for people: it ends in a condition. */
export function withWords(err: unknown, message: string): unknown {
  if (!isKvError(err)) return err;
  const { code, reason, retry, details } = err;
  return new KvError(code, message, { retry, details, ...(reason === undefined ? {} : { reason }) });
}

const roomOf = ({ status }: ResourceQuota): Map<string, bigint> =>
  new Map(Object.entries(status?.hard ?? {}).map(([name, hard]) => [name, nano(hard) - nano(status?.used?.[name] ?? '0')]));

const nano = (quantity: string): bigint => parseQuantity(quantity).nano;

/** What was refused may be admitted now. `old`: undefined when the quota was made, or went. */
export function givesRoom(quota: ResourceQuota, old: ResourceQuota | undefined): boolean {
  if (old === undefined) return true;
  const [before, after] = [roomOf(old), roomOf(quota)];
  return [...before].some(([name, room]) => (after.get(name) ?? room + 1n) > room);
}
