// Whether a dump of a guest's memory may be taken into a claim, and taken off again: the request to the controller, or the refusal.
// Pure; memory-dump.ts reads the objects in the order in which they are needed.
import type { PersistentVolumeClaim, VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { isQuantity, quantityOf, quantityValue } from '../api/quantity.js';
import { fail, ok, type Result } from '../base/result.js';
import { type Decision, firstStatus } from './decide-vm.js';
import { badRequest, conflict, type StatusError } from './status.js';

type DumpRequest = NonNullable<NonNullable<VirtualMachine['status']>['memoryDumpRequest']>;

const MIB = 1024 * 1024;
/** Registers and headers beside the guest's memory. */
const EXTRA_BYTES = 100 * MIB;
const PATH = '/status/memoryDumpRequest';

const nameOf = (vm: VirtualMachine): string => vm.metadata.name ?? '';
const refused = (vm: VirtualMachine, why: string): StatusError => conflict('virtualmachine', nameOf(vm), why);

/** The claim that is meant: a VM keeps the one of its last dump until that is removed. */
export function dumpClaim(vm: VirtualMachine, { claimName }: { readonly claimName?: string }): Result<string, StatusError> {
  const associated = vm.status?.memoryDumpRequest?.claimName;
  if (!associated) return claimName ? ok(claimName) : fail(badRequest('Memory dump requires claim name to be set'));
  if (!claimName || claimName === associated) return ok(associated);
  const why = `can't request memory dump for pvc [${claimName}] while pvc [${associated}] is still associated as the memory dump pvc`;
  return fail(refused(vm, why));
}

export const dumpVmiRefusal = (vmi: VirtualMachineInstance): StatusError | undefined =>
  vmi.status?.phase === 'Running' ? undefined : conflict('virtualmachineinstance', vmi.metadata.name ?? '', 'VMI is not running');

const bytesOf = (quantity: unknown): number => (isQuantity(quantity) ? Number(quantityValue(quantity)) : 0);

/** Bytes that the claim must have. */
export function dumpSize({ spec: { domain } }: VirtualMachineInstance, overhead: number): number {
  const memory = Math.max(bytesOf(domain.resources?.requests?.memory), bytesOf(domain.memory?.guest));
  return Math.ceil(((memory + EXTRA_BYTES) * (1 + overhead)) / MIB) * MIB;
}

function claimFault({ spec }: PersistentVolumeClaim, needed: number): string | undefined {
  if (spec?.volumeMode === 'Block') return 'pvc should be filesystem pvc';
  const modes = spec?.accessModes ?? [];
  if (modes.length > 0 && modes.every((mode) => mode === 'ReadOnlyMany')) return "pvc access mode can't be read only";
  const size = spec?.resources?.requests?.storage ?? '0';
  return bytesOf(size) < needed ? `pvc size [${size}] should be bigger then [${quantityOf(needed)}]` : undefined;
}

export function dumpClaimRefusal(vmi: VirtualMachineInstance, pvc: PersistentVolumeClaim, overhead: number): StatusError | undefined {
  const fault = claimFault(pvc, dumpSize(vmi, overhead));
  return fault === undefined ? undefined : conflict('persistentvolumeclaim', pvc.metadata.name ?? '', fault);
}

function record(vm: VirtualMachine, request: DumpRequest): Decision {
  if (!vm.status || Object.keys(vm.status).length === 0) return { steps: [firstStatus(vm, { memoryDumpRequest: request })] };
  const operations = [
    { op: 'test' as const, path: PATH, value: vm.status.memoryDumpRequest ?? null },
    { op: 'add' as const, path: PATH, value: request },
  ];
  return { steps: [{ target: 'vm-status', operations }] };
}

export function decideMemoryDump(vm: VirtualMachine, claimName: string): Decision {
  const phase = vm.status?.memoryDumpRequest?.phase;
  if (phase === 'Dissociating') {
    return { refusal: refused(vm, `can't dump memory for pvc [${claimName}] a remove memory dump request is in progress`) };
  }
  if (phase !== undefined && phase !== 'Completed' && phase !== 'Failed') {
    return { refusal: refused(vm, `memory dump request for pvc [${claimName}] already in progress`) };
  }
  return record(vm, { claimName, phase: 'Associating' });
}

export function decideRemoveMemoryDump(vm: VirtualMachine): Decision {
  const associated = vm.status?.memoryDumpRequest;
  if (!associated) {
    return { refusal: refused(vm, `can't remove memory dump association for vm ${nameOf(vm)}, no association found`) };
  }
  if (associated.remove) return { refusal: refused(vm, `memory dump remove request for pvc [${associated.claimName}] already exists`) };
  return record(vm, { claimName: associated.claimName, phase: 'Dissociating', remove: true });
}
