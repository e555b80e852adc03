// What of a VM's template comes to its running guest now, as patches of VMI and VM: networks, volumes, memory dumps, and with the rollout
// strategy LiveUpdate sizes and placement. Pure, called by decide.ts once nothing starts or stops.
import { isDeleting, type VirtualMachine, type VirtualMachineInstance } from '../../api/index.js';
import { isLiveUpdate } from '../../core/config/cluster-lookups.js';
import { canonicalVmiSpec } from '../../core/defaults/index.js';
import { isMigrating } from '../../core/eviction/strategy.js';
import type { JsonPatchOperation } from '../../runtime/types.js';
import { networkChanges, networkCleanup } from './live-networks.js';
import { beginning, liveParts, type Part } from './live-update.js';
import { declared, isDeclarative, isLeaving, type Lists, listChanges, listsOf, requested } from './live-volumes.js';
import { dumpInGuest, dumpInTemplate, dumpNote } from './memory-dump.js';
import { comparedOf, restartReason } from './restart.js';
import { type Failure, ownVmi, type Seen } from './seen.js';
import { text } from './text.js';

export type LiveStep =
  | { readonly do: 'patchVmi'; readonly vmi: VirtualMachineInstance; readonly ops: readonly JsonPatchOperation[]; readonly reason: string }
  | { readonly do: 'patchVm'; readonly ops: readonly JsonPatchOperation[]; readonly reason: string }
  | { readonly do: 'noteDump'; readonly claim: string; readonly note: string };

export interface LivePlan {
  readonly steps: readonly LiveStep[];
  readonly failure?: Failure;
}

const TEMPLATE = '/spec/template/spec';
const VOLUMES = 'HotPlugVolumeError';
const NETWORKS = 'HotPlugNetworkInterfaceError';

type Ops = readonly JsonPatchOperation[];

const vmiStep = (vmi: VirtualMachineInstance, ops: Ops, reason: string): LiveStep[] =>
  ops.length === 0 ? [] : [{ do: 'patchVmi', vmi, ops, reason }];
const vmStep = (ops: Ops, reason: string): LiveStep[] => (ops.length === 0 ? [] : [{ do: 'patchVm', ops, reason }]);

const volumeReason = ({ status }: VirtualMachine): string => (status?.memoryDumpRequest ? 'MemoryDumpError' : VOLUMES);

function templateVolumes({ vm }: Seen): LiveStep[] {
  const { spec } = vm.spec.template;
  const requests = vm.status?.volumeRequests ?? [];
  if (!spec || (requests.length === 0 && !vm.status?.memoryDumpRequest)) return [];
  const next = dumpInTemplate(
    requested(listsOf(spec), requests, () => false),
    vm,
  );
  return vmStep(listChanges(TEMPLATE, spec, next), volumeReason(vm));
}

function guestVolumes({ vm, config }: Seen, vmi: VirtualMachineInstance): LiveStep[] {
  const template: Lists = listsOf(canonicalVmiSpec(vm.spec.template.spec ?? { domain: { devices: {} } }));
  const asRequested = requested(listsOf(vmi.spec), vm.status?.volumeRequests ?? [], (name) => isLeaving(vmi, name));
  const asDeclared = isDeclarative(vm, config) ? declared(template, vmi, asRequested) : asRequested;
  return vmiStep(vmi, listChanges('/spec', vmi.spec, dumpInGuest(asDeclared, vm, vmi)), volumeReason(vm));
}

/** In one write. */
function sizes(seen: Seen, vmi: VirtualMachineInstance, now: number): LivePlan {
  const compared = comparedOf(seen);
  if (!compared || !isLiveUpdate(seen.config) || restartReason(seen) !== undefined) return { steps: [] };
  const parts = liveParts(compared.current, vmi, seen.config);
  const [first] = parts;
  if (!first) return { steps: [] };
  if (isMigrating(vmi)) return { steps: [], failure: { reason: first.reason, message: text.migrating } };
  const ops = [...parts.flatMap((part) => part.ops), ...beginning(vmi, parts, now)];
  const waiting = parts.find((part): part is Part & { waits: string } => part.waits !== undefined);
  return {
    steps: vmiStep(vmi, ops, first.reason),
    ...(waiting ? { failure: { reason: waiting.reason, message: waiting.waits } } : {}),
  };
}

function networks(seen: Seen, vmi: VirtualMachineInstance): LiveStep[] {
  const compared = comparedOf(seen);
  if (!compared) return [];
  return [...vmiStep(vmi, networkChanges(compared.current, vmi), NETWORKS), ...vmStep(networkCleanup(seen.vm, vmi), NETWORKS)];
}

function dump({ vm, dumpClaim }: Seen): LiveStep[] {
  const note = dumpNote(vm, dumpClaim);
  return note === undefined ? [] : [{ do: 'noteDump', claim: vm.status?.memoryDumpRequest?.claimName ?? '', note }];
}

export function decideLive(seen: Seen, now: number): LivePlan {
  const vmi = ownVmi(seen);
  const always = [...templateVolumes(seen), ...dump(seen)];
  if (!vmi || isDeleting(vmi) || vmi.status?.phase !== 'Running') return { steps: always };
  const { steps, failure } = sizes(seen, vmi, now);
  return { steps: [...networks(seen, vmi), ...guestVolumes(seen, vmi), ...steps, ...always], ...(failure ? { failure } : {}) };
}
