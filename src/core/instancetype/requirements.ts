// Whether a VM gives its guest what the preference says that it needs at least. Pure; asked by admission after defaults are set.
import type { VirtualMachineInstanceSpec, VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec } from '../../api/index.js';
import { compareQuantities } from '../../api/quantity.js';
import { preferredTopology, spreadOptions } from './topology.js';

export interface Shortfall {
  readonly fields: readonly string[];
  readonly message: string;
}

type Count = 'sockets' | 'cores' | 'threads';
const CPU = 'spec.template.spec.domain.cpu';

const COUNTED: Readonly<Record<string, readonly Count[]>> = {
  sockets: ['sockets'],
  cores: ['cores'],
  threads: ['threads'],
  any: ['cores', 'sockets', 'threads'],
  SocketsCores: ['sockets', 'cores'],
  CoresThreads: ['cores', 'threads'],
  SocketsCoresThreads: ['sockets', 'cores', 'threads'],
};

function countedFields(preference: VirtualMachinePreferenceSpec): readonly Count[] {
  const topology = preferredTopology(preference);
  return COUNTED[topology === 'spread' ? spreadOptions(preference).across : (topology ?? '')] ?? [];
}

interface Provided {
  readonly instancetype: VirtualMachineInstancetypeSpec | undefined;
  readonly preference: VirtualMachinePreferenceSpec;
  readonly spec: VirtualMachineInstanceSpec;
}

function cpuShortfall({ instancetype, preference, spec }: Provided): Shortfall | undefined {
  const needed = preference.requirements?.cpu?.guest;
  if (needed === undefined) return undefined;
  if (instancetype) {
    if (instancetype.cpu.guest >= needed) return undefined;
    return {
      fields: ['spec.instancetype'],
      message: `the instance type provides ${instancetype.cpu.guest} vCPUs, the preference requires ${needed}: choose a larger instance type`,
    };
  }
  const { cpu } = spec.domain;
  if (!cpu) return { fields: [CPU], message: `the VM provides no vCPUs, the preference requires ${needed}: set ${CPU}` };
  const counted = countedFields(preference);
  const provided = counted.reduce((product, f) => product * (cpu[f] ?? 0), 1);
  if (counted.length === 0 || provided >= needed) return undefined;
  return {
    fields: counted.map((f) => `${CPU}.${f}`),
    message: `the VM provides ${provided} vCPUs as ${counted.join(' × ')}, the preference requires ${needed}: raise them`,
  };
}

function memoryShortfall({ instancetype, preference, spec }: Provided): Shortfall | undefined {
  const needed = preference.requirements?.memory?.guest;
  const provided = spec.domain.memory?.guest ?? instancetype?.memory.guest ?? '0';
  if (needed === undefined || compareQuantities(provided, needed) >= 0) return undefined;
  const who = instancetype ? 'instance type' : 'VM';
  return {
    fields: [instancetype ? 'spec.instancetype' : 'spec.template.spec.domain.memory'],
    message: `the ${who} provides ${provided} of memory, the preference requires ${needed}`,
  };
}

function architectureShortfall({ preference, spec }: Provided): Shortfall | undefined {
  const needed = preference.requirements?.architecture;
  if (needed === undefined || spec.architecture === needed) return undefined;
  return {
    fields: ['spec.template.spec.architecture'],
    message: `the preference requires architecture ${needed}, the VM asks for ${spec.architecture}`,
  };
}

/** The first demand that is not met. */
export function requirementShortfall(provided: Provided): Shortfall | undefined {
  return cpuShortfall(provided) ?? memoryShortfall(provided) ?? architectureShortfall(provided);
}
