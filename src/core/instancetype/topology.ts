// How the vCPUs of an instance type become sockets, cores and threads, as the preference asks. Pure; used where an instance type is applied
// and where a preference's demands are checked.
import type { CPU, VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec } from '../../api/index.js';

export type Topology = 'sockets' | 'cores' | 'threads' | 'spread' | 'any';

/** The older spelling of each is `preferSockets` and so on. */
const TOPOLOGIES: Readonly<Record<string, Topology>> = {
  sockets: 'sockets',
  cores: 'cores',
  threads: 'threads',
  spread: 'spread',
  any: 'any',
  preferSockets: 'sockets',
  preferCores: 'cores',
  preferThreads: 'threads',
  preferSpread: 'spread',
  preferAny: 'any',
};
const DEFAULT_RATIO = 2;
const THREADS_PER_CORE = 2;

export type Across = 'SocketsCores' | 'CoresThreads' | 'SocketsCoresThreads';
type Counts = Required<Pick<CPU, 'sockets' | 'cores' | 'threads'>>;

/** Undefined for a word that is none of the known ones. */
export const topologyNamed = (word: string): Topology | undefined => TOPOLOGIES[word];

export const preferredTopology = (preference: VirtualMachinePreferenceSpec | undefined): Topology | undefined =>
  topologyNamed(preference?.cpu?.preferredCPUTopology ?? 'sockets');

export function spreadOptions(preference: VirtualMachinePreferenceSpec | undefined): { ratio: number; across: string } {
  const { ratio, across } = preference?.cpu?.spreadOptions ?? {};
  return { ratio: ratio ?? (preference?.preferSpreadSocketToCoreRatio || DEFAULT_RATIO), across: across ?? 'SocketsCores' };
}

const SPREAD: Readonly<Record<Across, (vcpus: number, ratio: number) => Partial<Counts>>> = {
  SocketsCores: (vcpus, ratio) => ({ cores: ratio, sockets: Math.trunc(vcpus / ratio) }),
  CoresThreads: (vcpus, ratio) => ({ threads: ratio, cores: Math.trunc(vcpus / ratio) }),
  SocketsCoresThreads: (vcpus, ratio) => ({
    threads: THREADS_PER_CORE,
    cores: ratio,
    sockets: Math.trunc(Math.trunc(vcpus / THREADS_PER_CORE) / ratio),
  }),
};

const isAcross = (word: string): word is Across => word in SPREAD;

export function topologyFor(vcpus: number, preference: VirtualMachinePreferenceSpec | undefined): Counts {
  const single: Counts = { sockets: 1, cores: 1, threads: 1 };
  const topology = preferredTopology(preference);
  if (vcpus === 1 || topology === undefined) return single;
  if (topology === 'any') return { ...single, sockets: vcpus };
  if (topology !== 'spread') return { ...single, [topology]: vcpus };
  const { ratio, across } = spreadOptions(preference);
  return isAcross(across) ? { ...single, ...SPREAD[across](vcpus, ratio) } : single;
}

/** Why the vCPUs cannot be spread evenly, if they cannot. */
export function spreadProblem(
  instancetype: VirtualMachineInstancetypeSpec | undefined,
  preference: VirtualMachinePreferenceSpec | undefined,
): string | undefined {
  if (!instancetype || preferredTopology(preference) !== 'spread') return undefined;
  const { ratio, across } = spreadOptions(preference);
  const vcpus = instancetype.cpu.guest;
  const cores = across === 'SocketsCoresThreads' ? vcpus / THREADS_PER_CORE : vcpus;
  if (!isAcross(across) || (Number.isInteger(cores) && cores % ratio === 0)) return undefined;
  const parts = across === 'SocketsCoresThreads' ? `${THREADS_PER_CORE} threads a core and a ratio of ${ratio}` : `a ratio of ${ratio}`;
  return `the instance type's ${vcpus} vCPUs cannot be spread (${across}) with ${parts} without a remainder`;
}
