// Presets of the old kind: parts of a domain that VMIs with matching labels receive if they say nothing of their own. Applied before the
// defaults on VMI creation. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { DomainSpec, KubeObject, LabelSelector, VirtualMachineInstance } from '../../api/index.js';
import { fail, ok, type Result } from '../../base/result.js';
import { selectorMatches } from '../../core/label-selector.js';

export interface VirtualMachineInstancePreset extends KubeObject {
  readonly spec: { readonly selector: LabelSelector; readonly domain?: DomainSpec };
}

const EXCLUDE_ANNOTATION = 'virtualmachineinstancepresets.admission.kubevirt.io/exclude';
const APPLIED_PREFIX = 'virtualmachinepreset.kubevirt.io/';
const APPLIED_VALUE = 'kubevirt.io/v1';
export const PRESET_WARNING = 'kubevirt.io/v1 VirtualMachineInstancePresets is now deprecated and will be removed in v2.';

/** A part that a preset may fill: read from one domain, put into another. */
interface Part {
  readonly name: string;
  get(domain: DomainSpec): unknown;
  put(domain: DomainSpec, value: unknown): void;
}

const plainPart = (name: string, key: 'cpu' | 'firmware' | 'features' | 'ioThreadsPolicy'): Part => ({
  name,
  get: (d) => d[key],
  put: (d, value) => Object.assign(d, { [key]: value }),
});

const hasEntries = (map: object | undefined): boolean => map !== undefined && Object.keys(map).length > 0;

const REQUESTS: Part = {
  name: 'spec.resources.requests',
  get: (d) => (hasEntries(d.resources?.requests) ? d.resources?.requests : undefined),
  put: (d, value) => {
    d.resources = { ...d.resources, requests: value as Record<string, string> };
  },
};

const CLOCK_OFFSET: Part = {
  name: 'spec.clock.clockoffset',
  get: ({ clock }) => {
    if (!clock) return undefined;
    const { timer: _, ...offset } = clock;
    return offset;
  },
  put: (d, value) => {
    d.clock = { ...(value as object) };
  },
};

const CLOCK_TIMER: Part = {
  name: 'spec.clock.timer',
  get: (d) => d.clock?.timer,
  put: (d, value) => {
    d.clock = { ...d.clock, timer: value as object };
  },
};

const WATCHDOG: Part = {
  name: 'spec.devices.watchdog',
  get: (d) => d.devices?.watchdog,
  put: (d, value) => Object.assign(d.devices, { watchdog: value }),
};

const PARTS: readonly Part[] = [
  plainPart('spec.cpu', 'cpu'),
  plainPart('spec.firmware', 'firmware'),
  CLOCK_OFFSET,
  CLOCK_TIMER,
  plainPart('spec.features', 'features'),
  WATCHDOG,
  plainPart('spec.ioThreadsPolicy', 'ioThreadsPolicy'),
];

function conflicts(a: DomainSpec, b: DomainSpec): string[] {
  const found: string[] = [];
  for (const [key, value] of Object.entries(a.resources?.requests ?? {})) {
    const other = b.resources?.requests?.[key];
    if (other !== undefined && other !== value) found.push(`spec.resources.requests[${key}]: ${value} != ${other}`);
  }
  for (const part of PARTS) {
    const [mine, theirs] = [part.get(a), part.get(b)];
    if (mine === undefined || theirs === undefined || isDeepStrictEqual(mine, theirs)) continue;
    found.push(`${part.name}: ${JSON.stringify(mine)} != ${JSON.stringify(theirs)}`);
  }
  return found;
}

/** A clock counts as the preset's only as a whole: its offset alone may be a coincidence. */
const isApplied = (part: Part, preset: DomainSpec, domain: DomainSpec): boolean =>
  part === CLOCK_OFFSET ? isDeepStrictEqual(preset.clock, domain.clock) : isDeepStrictEqual(part.get(domain), part.get(preset));

/** True when any part of the preset is what the domain now has. */
function merge(preset: DomainSpec, domain: DomainSpec): boolean {
  let applied = false;
  for (const part of [REQUESTS, ...PARTS]) {
    const value = part.get(preset);
    if (value === undefined) continue;
    if (part.get(domain) === undefined) part.put(domain, structuredClone(value));
    if (isApplied(part, preset, domain)) applied = true;
  }
  return applied;
}

/** A copy of the VMI with the matching presets applied, or which of them contradict each other. */
export function applyPresets(
  given: VirtualMachineInstance,
  presets: readonly VirtualMachineInstancePreset[],
): Result<VirtualMachineInstance, string> {
  const { labels, annotations } = given.metadata;
  if (annotations?.[EXCLUDE_ANNOTATION] === 'true') return ok(given);
  const matching = presets.filter((p) => p.spec.domain && selectorMatches(p.spec.selector, labels));
  const clashes: string[] = [];
  for (const [i, preset] of matching.entries()) {
    for (const earlier of matching.slice(0, i)) {
      const found = conflicts(preset.spec.domain as DomainSpec, earlier.spec.domain as DomainSpec);
      if (found.length > 0) clashes.push(`presets '${preset.metadata.name}' and '${earlier.metadata.name}' conflict: ${found.join(', ')}`);
    }
  }
  if (clashes.length > 0) return fail(`VirtualMachinePresets cannot be applied due to conflicts: ${clashes.join(', ')}`);
  const vmi = structuredClone(given);
  for (const { metadata, spec } of matching) {
    if (!merge(spec.domain as DomainSpec, vmi.spec.domain)) continue;
    vmi.metadata.annotations = { ...vmi.metadata.annotations, [`${APPLIED_PREFIX}${metadata.name}`]: APPLIED_VALUE };
  }
  return ok(vmi);
}

export const hasAppliedPreset = (vmi: VirtualMachineInstance): boolean =>
  Object.keys(vmi.metadata.annotations ?? {}).some((name) => name.includes('virtualmachinepreset'));
