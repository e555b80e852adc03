// The way of a memory dump through its VM: the claim becomes a volume of template and guest, the node writes the dump, and the claim leaves the
// guest again. What the request in the status says next, what the lists of volumes become, and what is noted on the claim. Pure.
import type { PersistentVolumeClaim, VirtualMachine, VirtualMachineInstance, VirtualMachineStatus, Volume } from '../../api/index.js';
import { isLeaving, type Lists } from './live-volumes.js';
import { isLive } from './predicates.js';
import { text } from './text.js';

type Request = NonNullable<VirtualMachineStatus['memoryDumpRequest']>;

export const DUMP_ANNOTATION = 'kubevirt.io/memory-dump';
/** The guest has to have the claim. */
const WANTED = new Set(['Associating', 'InProgress']);
const ENDED = new Set(['MemoryDumpCompleted', 'MemoryDumpFailed']);

const entryOf = (vmi: VirtualMachineInstance | undefined, name: string) => vmi?.status?.volumeStatus?.find((entry) => entry.name === name);
const has = (volumes: readonly Volume[] | undefined, name: string): boolean => volumes?.some((volume) => volume.name === name) === true;

/** A dump that was taken before, and that the guest has not let go of yet. */
const isOld = (vmi: VirtualMachineInstance | undefined, { phase, claimName }: Request): boolean =>
  phase === 'Associating' && ENDED.has(entryOf(vmi, claimName)?.phase ?? '');

type Next = (request: Request, vm: VirtualMachine, vmi: VirtualMachineInstance | undefined) => Request | undefined;

function whileInProgress(request: Request, vmi: VirtualMachineInstance | undefined): Request {
  if (!isLive(vmi)) return { ...request, phase: 'Failed', message: text.dumpInterrupted };
  const { phase, message, memoryDumpVolume } = entryOf(vmi, request.claimName) ?? {};
  const { startTimestamp, endTimestamp, targetFileName } = memoryDumpVolume ?? {};
  const started: Request = { ...request, ...(startTimestamp ? { startTimestamp } : {}) };
  const ended: Request = { ...started, ...(endTimestamp ? { endTimestamp } : {}) };
  if (phase === 'MemoryDumpFailed') return { ...ended, phase: 'Failed', message: message ?? text.dumpFailed };
  if (phase !== 'MemoryDumpCompleted') return started;
  return { ...ended, phase: 'Unmounting', ...(targetFileName ? { fileName: targetFileName } : {}) };
}

const NEXT: Readonly<Record<string, Next>> = {
  Associating: (request, vm, vmi) =>
    has(vm.spec.template.spec?.volumes, request.claimName) && !isOld(vmi, request) ? { ...request, phase: 'InProgress' } : request,
  InProgress: (request, _vm, vmi) => whileInProgress(request, vmi),
  Unmounting: (request, _vm, vmi) => (entryOf(vmi, request.claimName) ? request : { ...request, phase: 'Completed' }),
  Dissociating: (request, vm, vmi) => {
    const isThere = has(vm.spec.template.spec?.volumes, request.claimName) || has(vmi?.spec.volumes, request.claimName);
    return isThere || entryOf(vmi, request.claimName) ? request : undefined;
  },
};

/** undefined: there is none, or it is forgotten. */
export function nextMemoryDump(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): Request | undefined {
  const request = vm.status?.memoryDumpRequest;
  return request && (NEXT[request.phase]?.(request, vm, vmi) ?? (request.phase === 'Dissociating' ? undefined : request));
}

const without = ({ volumes, disks }: Lists, name: string): Lists => ({ volumes: volumes.filter((volume) => volume.name !== name), disks });

function withDump({ volumes, disks }: Lists, claimName: string): Lists {
  if (has(volumes, claimName)) return { volumes, disks };
  return { volumes: [...volumes, { name: claimName, memoryDump: { claimName, hotpluggable: true } }], disks };
}

/** The template keeps the claim until it is dissociated. */
export function dumpInTemplate(lists: Lists, { status }: VirtualMachine): Lists {
  const request = status?.memoryDumpRequest;
  if (request?.phase === 'Associating') return withDump(lists, request.claimName);
  return request?.phase === 'Dissociating' ? without(lists, request.claimName) : lists;
}

/** The guest has it while the dump is taken. */
export function dumpInGuest(lists: Lists, { status }: VirtualMachine, vmi: VirtualMachineInstance): Lists {
  const request = status?.memoryDumpRequest;
  if (!request || request.phase === 'Completed') return lists;
  if (!WANTED.has(request.phase) || isOld(vmi, request)) return without(lists, request.claimName);
  return isLeaving(vmi, request.claimName) || ENDED.has(entryOf(vmi, request.claimName)?.phase ?? '')
    ? lists
    : withDump(lists, request.claimName);
}

/** A guest that starts is not dumped again. */
export const hasDumped = ({ status }: VirtualMachine): string | undefined =>
  status?.memoryDumpRequest && !WANTED.has(status.memoryDumpRequest.phase) ? status.memoryDumpRequest.claimName : undefined;

/** What the claim is to say about the dump in it; undefined while it says so, or while there is nothing to say. */
export function dumpNote({ status }: VirtualMachine, claim: PersistentVolumeClaim | undefined): string | undefined {
  const { phase, fileName } = status?.memoryDumpRequest ?? {};
  const note = phase === 'Failed' ? text.dumpFailed : phase === 'Unmounting' || phase === 'Completed' ? fileName : undefined;
  return claim && note !== claim.metadata.annotations?.[DUMP_ANNOTATION] ? note : undefined;
}
