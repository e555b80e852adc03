// Puts an instance type's sizes onto a VMI template. A field that both the instance type and the template decide is a conflict: nothing is
// overridden silently. Changes the given template in place; callers hand in a copy.
import type {
  ObjectMeta,
  VirtualMachineInstanceSpec,
  VirtualMachineInstancetypeSpec,
  VirtualMachinePreferenceSpec,
} from '../../api/index.js';
import { amountValue, parseQuantity, quantityOf } from '../../api/quantity.js';
import { topologyFor } from './topology.js';

export interface Template {
  readonly spec: VirtualMachineInstanceSpec;
  readonly metadata: ObjectMeta;
}

/** Paths of the template's spec that conflict, as dotted names below it. */
type Conflicts = readonly string[];
type Applied = (type: VirtualMachineInstancetypeSpec, spec: VirtualMachineInstanceSpec) => Conflicts;

/** A field that is taken over whole: a conflict when the template has one too. */
function whole<T>(path: string, given: T | undefined, own: T | undefined, set: (value: T) => void): Conflicts {
  if (given === undefined) return [];
  if (own !== undefined) return [path];
  set(structuredClone(given));
  return [];
}

const filled = <T>(list: readonly T[] | undefined): readonly T[] | undefined => (list?.length ? list : undefined);
const nonEmpty = (word: string | undefined): string | undefined => word || undefined;

/** Fields of `cpu` that an instance type may decide: [its name there, the template's name]. */
const CPU_FIELDS = [
  ['model', 'model'],
  ['dedicatedCPUPlacement', 'dedicatedCpuPlacement'],
  ['isolateEmulatorThread', 'isolateEmulatorThread'],
  ['numa', 'numa'],
  ['realtime', 'realtime'],
] as const;

function cpuConflicts(type: VirtualMachineInstancetypeSpec, spec: VirtualMachineInstanceSpec): string[] {
  const { requests, limits } = spec.domain.resources ?? {};
  const cpu = spec.domain.cpu ?? {};
  return [
    ...(requests?.cpu === undefined ? [] : ['domain.resources.requests.cpu']),
    ...(limits?.cpu === undefined ? [] : ['domain.resources.limits.cpu']),
    ...(['sockets', 'cores', 'threads'] as const).filter((f) => cpu[f]).map((f) => `domain.cpu.${f}`),
    ...CPU_FIELDS.filter(([theirs, own]) => cpu[own] && type.cpu[theirs] !== undefined).map(([theirs]) => `domain.cpu.${theirs}`),
  ];
}

function applyCpu(
  type: VirtualMachineInstancetypeSpec,
  preference: VirtualMachinePreferenceSpec | undefined,
  spec: VirtualMachineInstanceSpec,
): Conflicts {
  const conflicts = cpuConflicts(type, spec);
  if (conflicts.length > 0) return conflicts;
  const decided = CPU_FIELDS.filter(([theirs]) => type.cpu[theirs] !== undefined).map(([theirs, own]) => [own, type.cpu[theirs]]);
  spec.domain.cpu = {
    ...spec.domain.cpu,
    ...structuredClone(Object.fromEntries(decided)),
    ...(type.cpu.maxSockets === undefined ? {} : { maxSockets: type.cpu.maxSockets }),
    ...topologyFor(type.cpu.guest, preference),
  };
  return [];
}

function memoryConflict(type: VirtualMachineInstancetypeSpec, spec: VirtualMachineInstanceSpec): string | undefined {
  const { memory, resources } = spec.domain;
  const found: readonly (readonly [unknown, string])[] = [
    [memory?.guest, 'domain.memory.guest'],
    [type.memory.hugepages && memory?.hugepages, 'domain.memory.hugepages'],
    [type.memory.maxGuest && memory?.maxGuest, 'domain.memory.maxGuest'],
    [resources?.requests?.memory, 'domain.resources.requests.memory'],
    [resources?.limits?.memory, 'domain.resources.limits.memory'],
  ];
  return found.find(([value]) => value !== undefined)?.[1];
}

/** The pod asks for less than the guest sees. Computed in single precision, as the requests of existing VMs are. */
function overcommitted(type: VirtualMachineInstancetypeSpec, percent: number): string {
  const amount = parseQuantity(type.memory.guest);
  const bytes = Math.fround(Number(amountValue(amount)));
  const share = Math.fround(1 - Math.fround(Math.fround(percent) / 100));
  return quantityOf(Math.trunc(Math.fround(bytes * share)), amount.format);
}

const applyMemory: Applied = (type, spec) => {
  const conflict = memoryConflict(type, spec);
  if (conflict) return [conflict];
  const { guest, hugepages, maxGuest, overcommitPercent = 0 } = type.memory;
  spec.domain.memory = structuredClone({
    ...spec.domain.memory,
    guest,
    ...(hugepages ? { hugepages } : {}),
    ...(maxGuest === undefined ? {} : { maxGuest }),
  });
  if (overcommitPercent > 0) {
    const resources = spec.domain.resources ?? {};
    spec.domain.resources = { ...resources, requests: { ...resources.requests, memory: overcommitted(type, overcommitPercent) } };
  }
  return [];
};

const applyThreadPool: Applied = (type, spec) =>
  whole(
    'domain.ioThreads.supplementalPoolThreadCount',
    type.ioThreads?.supplementalPoolThreadCount,
    spec.domain.ioThreads?.supplementalPoolThreadCount,
    (supplementalPoolThreadCount) => {
      spec.domain.ioThreads = { ...spec.domain.ioThreads, supplementalPoolThreadCount };
    },
  );

const BEFORE_CPU: readonly Applied[] = [
  (type, spec) => whole('nodeSelector', type.nodeSelector, spec.nodeSelector, (v) => Object.assign(spec, { nodeSelector: v })),
  (type, spec) =>
    whole('schedulerName', nonEmpty(type.schedulerName), nonEmpty(spec.schedulerName), (v) => Object.assign(spec, { schedulerName: v })),
];

const AFTER_CPU: readonly Applied[] = [
  applyMemory,
  applyThreadPool,
  ({ ioThreadsPolicy }, { domain }) =>
    whole('domain.ioThreadsPolicy', ioThreadsPolicy, domain.ioThreadsPolicy, (v) => Object.assign(domain, { ioThreadsPolicy: v })),
  ({ launchSecurity }, { domain }) =>
    whole('domain.launchSecurity', launchSecurity, domain.launchSecurity, (v) => Object.assign(domain, { launchSecurity: v })),
  ({ gpus }, { domain: { devices } }) =>
    whole('domain.devices.gpus', filled(gpus), filled(devices.gpus), (v) => Object.assign(devices, { gpus: v })),
  ({ hostDevices }, { domain: { devices } }) =>
    whole('domain.devices.hostDevices', filled(hostDevices), filled(devices.hostDevices), (v) =>
      Object.assign(devices, { hostDevices: v }),
    ),
];

/** Annotations are named from their own root: they are the template's metadata, not its spec. */
function applyAnnotations(type: VirtualMachineInstancetypeSpec, metadata: ObjectMeta): Conflicts {
  const own = metadata.annotations ?? {};
  const given = Object.entries(type.annotations ?? {});
  const conflicts = given.filter(([key, value]) => (own[key] ?? value) !== value).map(([key]) => `annotations.${key}`);
  if (given.length > 0) metadata.annotations = { ...type.annotations, ...own };
  return conflicts;
}

/** Full paths of the fields that conflict; the template is complete only when there are none. */
export function applyInstancetype(
  type: VirtualMachineInstancetypeSpec,
  preference: VirtualMachinePreferenceSpec | undefined,
  template: Template,
  root: string,
): string[] {
  const { spec, metadata } = template;
  const below = [
    ...BEFORE_CPU.flatMap((apply) => apply(type, spec)),
    ...applyCpu(type, preference, spec),
    ...AFTER_CPU.flatMap((apply) => apply(type, spec)),
  ];
  return [...below.map((path) => `${root}.${path}`), ...applyAnnotations(type, metadata)];
}
