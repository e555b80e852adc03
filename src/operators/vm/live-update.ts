// Sizes and placement of a running guest that follow its VM's template (rollout strategy LiveUpdate): what to write into the VMI, or why only
// a restart gets there. The node agent changes the guest where it runs; what it cannot change so needs a restart. Pure.
import {
  type Condition,
  isConditionTrue,
  type Quantity,
  type VirtualMachineInstance,
  type VirtualMachineInstanceSpec,
  withConditions,
} from '../../api/index.js';
import {
  addAmounts,
  addQuantities,
  amountOfMilli,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  subtractQuantities,
} from '../../api/quantity.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { memoryHotplugProblem } from '../../core/defaults/live-update.js';
import { canResizeCpus, canResizeMemory } from '../../core/resources/in-place.js';
import { guarded } from '../../runtime/patch.js';
import type { JsonPatchOperation } from '../../runtime/types.js';
import { text } from './text.js';

type Spec = VirtualMachineInstanceSpec;

export interface Part {
  /** Changes of the VMI. */
  readonly ops: readonly JsonPatchOperation[];
  /** Reason of the failure when they cannot be written, or when they have to wait. */
  readonly reason: string;
  /** Conditions that say that the change is under way. */
  readonly begins?: string;
  readonly restart?: string;
  readonly waits?: string;
}

type Rule = (wanted: Spec, vmi: VirtualMachineInstance, config: ClusterConfig) => Part | undefined;

const conditionsOf = ({ status }: VirtualMachineInstance): Condition[] | undefined => status?.conditions as Condition[] | undefined;

function socketsFault(wanted: number, { spec }: VirtualMachineInstance): string | undefined {
  const { sockets = 1, maxSockets = 0 } = spec.domain.cpu ?? {};
  if (wanted > maxSockets) return text.sockets.tooMany;
  if (wanted < sockets) return text.sockets.fewer;
  if (spec.architecture === 'arm64') return text.sockets.arm;
  return canResizeCpus(spec.domain) ? undefined : text.sockets.fixed;
}

/** As much more as the vCPUs that come would have asked for from the start. */
function cpuRequest(
  wanted: Spec,
  { spec }: VirtualMachineInstance,
  { spec: { developerConfiguration } }: ClusterConfig,
): JsonPatchOperation[] {
  const request = spec.domain.resources?.requests?.cpu;
  if (request === undefined || wanted.domain.resources?.requests?.cpu === undefined) return [];
  const { sockets = 1, cores = 1, threads = 1 } = spec.domain.cpu ?? {};
  const more = ((wanted.domain.cpu?.sockets ?? 1) - sockets) * cores * threads;
  const milli = (more * 1000) / (developerConfiguration?.cpuAllocationRatio ?? 10);
  const next = formatQuantity(addAmounts(parseQuantity(request), amountOfMilli(Math.round(milli))));
  return guarded('/spec/domain/resources/requests/cpu', request, next);
}

const sockets: Rule = (wanted, vmi, config) => {
  const { cpu } = vmi.spec.domain;
  const count = wanted.domain.cpu?.sockets;
  if (!count || count === (cpu?.sockets ?? 1)) return undefined;
  const reason = 'HotPlugCPUError';
  const restart = socketsFault(count, vmi);
  if (restart) return { ops: [], reason, restart };
  if (isConditionTrue(conditionsOf(vmi), 'HotVCPUChange')) return { ops: [], reason, waits: text.sockets.busy };
  const ops = [...guarded('/spec/domain/cpu/sockets', cpu?.sockets, count), ...cpuRequest(wanted, vmi, config)];
  return { ops, reason, begins: 'HotVCPUChange' };
};

function memoryFault(wanted: Quantity, vmi: VirtualMachineInstance): string | undefined {
  const { memory } = vmi.spec.domain;
  const atBoot = vmi.status?.memory?.guestAtBoot;
  if (conditionsOf(vmi)?.some(({ type, status }) => type === 'HotMemoryChange' && status === 'False')) return text.memory.failed;
  if (memory?.maxGuest === undefined) return text.memory.noCeiling;
  if (compareQuantities(wanted, memory.maxGuest) > 0) return text.memory.tooHigh;
  if (atBoot !== undefined && compareQuantities(wanted, atBoot) < 0) return text.memory.tooLow;
  const { domain } = vmi.spec;
  const why = memoryHotplugProblem({ ...vmi.spec, domain: { ...domain, memory: { ...memory, guest: wanted } } }, memory.maxGuest);
  if (why) return text.memory.barred(why);
  return canResizeMemory(domain) ? undefined : text.memory.fixed;
}

/** Moves with the guest's memory, and is never less. */
function memoryRequest(wanted: Quantity, { spec, status }: VirtualMachineInstance): JsonPatchOperation[] {
  const request = spec.domain.resources?.requests?.memory;
  if (request === undefined) return [];
  const moved = addQuantities(request, subtractQuantities(wanted, status?.memory?.guestCurrent ?? spec.domain.memory?.guest ?? wanted));
  return guarded('/spec/domain/resources/requests/memory', request, compareQuantities(moved, wanted) < 0 ? wanted : moved);
}

const memory: Rule = (wanted, vmi) => {
  const size = wanted.domain.memory?.guest;
  const has = vmi.spec.domain.memory?.guest;
  if (size === undefined || has === undefined || compareQuantities(size, has) === 0) return undefined;
  const reason = 'HotPlugMemoryError';
  const restart = memoryFault(size, vmi);
  if (restart) return { ops: [], reason, restart };
  if (isConditionTrue(conditionsOf(vmi), 'HotMemoryChange')) return { ops: [], reason, waits: text.memory.busy };
  return { ops: [...guarded('/spec/domain/memory/guest', has, size), ...memoryRequest(size, vmi)], reason, begins: 'HotMemoryChange' };
};

const isEmpty = (value: object | undefined): boolean => value === undefined || Object.keys(value).length === 0;

const placement =
  (field: 'nodeSelector' | 'affinity' | 'tolerations', reason: string): Rule =>
  (wanted, vmi) => {
    const [has, wants] = [vmi.spec[field], wanted[field]];
    if (isEmpty(has) && isEmpty(wants)) return undefined;
    const ops = guarded(`/spec/${field}`, has, isEmpty(wants) ? undefined : wants);
    return ops.length === 0 ? undefined : { ops, reason };
  };

const RULES: readonly Rule[] = [
  sockets,
  placement('nodeSelector', 'AffinityChangeError'),
  placement('affinity', 'AffinityChangeError'),
  placement('tolerations', 'TolerationsChangeError'),
  memory,
];

export const liveParts = (wanted: Spec, vmi: VirtualMachineInstance, config: ClusterConfig): Part[] =>
  RULES.map((rule) => rule(wanted, vmi, config)).filter((part) => part !== undefined);

/** In the same write as the change: whoever sees one sees the other. */
export function beginning(vmi: VirtualMachineInstance, parts: readonly Part[], now: number): JsonPatchOperation[] {
  const types = parts.map(({ begins }) => begins).filter((type) => type !== undefined);
  if (types.length === 0) return [];
  const old = conditionsOf(vmi);
  return guarded('/status/conditions', old, withConditions(old, Object.fromEntries(types.map((type) => [type, { status: 'True' }])), now));
}
