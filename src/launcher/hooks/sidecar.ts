// What is known of a hook sidecar, and what follows from it: the version to talk in, at which points it is called and before whom, and what to say
// of those that are missing. Pure; ./hooks.ts does the calling.
import { KvError } from '../../base/errors.js';
import { HOOK_VERSIONS, type HookMethod, type HookVersion } from '../../rpc/light/hooks.js';
import { text } from './text.js';

export interface Sidecar {
  /** Its container: the directory below the hooks' directory that the pod mounts into it. */
  readonly container: string;
  readonly socketPath: string;
  /** As it calls itself. */
  readonly name: string;
  readonly version: HookVersion;
  /** Where it wants to be called, with its priority there. */
  readonly points: ReadonlyMap<HookMethod, number>;
}

export interface Announcement {
  readonly name: string;
  readonly versions: readonly string[];
  readonly hookPoints: readonly { readonly name: string; readonly priority: number }[];
}

/** The oldest version that has the call. */
const SINCE: Readonly<Record<HookMethod, HookVersion>> = {
  OnDefineDomain: 'v1alpha1',
  PreCloudInitIso: 'v1alpha2',
  Shutdown: 'v1alpha3',
};

const isPoint = (name: string): name is HookMethod => name in SINCE;

/** A point that its version does not have is left out: nobody could call it there. */
const isServed = (point: HookMethod, version: HookVersion): boolean =>
  HOOK_VERSIONS.indexOf(version) <= HOOK_VERSIONS.indexOf(SINCE[point]);

export function sidecarOf(container: string, socketPath: string, { name, versions, hookPoints }: Announcement): Sidecar {
  const version = HOOK_VERSIONS.find((candidate) => versions.includes(candidate));
  if (version === undefined) throw new KvError('Invalid', text.noVersion(container, versions), { reason: text.reason });
  const points = hookPoints.flatMap((point): [HookMethod, number][] =>
    isPoint(point.name) && isServed(point.name, version) ? [[point.name, point.priority]] : [],
  );
  return { container, socketPath, name, version, points: new Map(points) };
}

export const titleOf = ({ container, name }: Pick<Sidecar, 'container' | 'name'>): string =>
  name === '' ? container : `${container} (${name})`;

/** Those to be called at a point: the higher priority first, then by name, then by container. */
export function calledAt(point: HookMethod, sidecars: readonly Sidecar[]): Sidecar[] {
  const rank = (a: Sidecar, b: Sidecar): number =>
    (b.points.get(point) ?? 0) - (a.points.get(point) ?? 0) || compare(a.name, b.name) || compare(a.container, b.container);
  return sidecars.filter(({ points }) => points.has(point)).sort(rank);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** What was found below the hooks' directory while looking for sidecars. */
export interface Search {
  readonly wanted: number;
  readonly found: readonly Sidecar[];
  /** Container → why it does not count yet. */
  readonly silent: ReadonlyMap<string, string>;
}

export const isComplete = ({ wanted, found }: Search): boolean => found.length >= wanted;

/** NotReady, with a reason for each one that is missing. */
export function missingError({ wanted, found, silent }: Search): KvError {
  const unseen = wanted - found.length - silent.size;
  const reasons = [...silent].map(([container, why]) => `${container}: ${why}`);
  if (unseen > 0) reasons.push(text.notStarted(unseen));
  return new KvError('NotReady', text.missing(found.length, wanted, reasons), { reason: text.reason });
}
