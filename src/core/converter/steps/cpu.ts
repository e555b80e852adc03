// CPU model, features, topology, guest NUMA cells and the list of vCPUs that can be plugged in.
import type { DomainSpec } from '../../../api/index.js';
import { countOf } from '../cpu-topology.js';
import type { DomainCpu, DomainCpuFeature, NumaCell, Vcpus } from '../domain.js';
import type { ItemOf } from '../domain-fields.js';
import { bytesOf, guestMemory, needsMemfd } from '../memory-size.js';
import type { GuestCell } from '../numa.js';
import type { Scope } from '../scope.js';
import type { Fragment, Step } from '../step.js';
import { domainType } from './hypervisor.js';

type Needs =
  | 'vmi'
  | 'domain'
  | 'arch'
  | 'cpus'
  | 'placement'
  | 'crossArchEmulation'
  | 'adaptCpuToEmulation'
  | 'hypervisor'
  | 'hypervisorDevicePresent'
  | 'allowEmulation'
  | 'hostArch'
  | 'emulators';

export const cpu: Step<Needs> = {
  name: 'cpu',
  render(scope): Fragment {
    const count = countOf(scope.cpus.defined);
    const { fixed, vcpus, defined } = scope.cpus;
    return {
      cpu: { ...cpuModel(scope), feature: features(scope), topology: defined, numa: numa(scope, count) },
      vcpu: { placement: 'static', value: count },
      vcpus: fixed === undefined ? undefined : vcpuList(count, vcpus, fixed),
    };
  },
};

type HostMode = 'host-model' | 'host-passthrough';
const isHostMode = (model: string): model is HostMode => model === 'host-model' || model === 'host-passthrough';

const custom = (model: string): DomainCpu => ({ mode: 'custom', model: { value: model } });

function cpuModel(scope: Pick<Scope, Needs>): DomainCpu {
  const asked = scope.domain.cpu?.model || 'host-model';
  if (!isHostMode(asked)) return custom(asked);
  const { emulatedCpu } = scope.arch;
  if (scope.crossArchEmulation) return custom(emulatedCpu ?? 'max');
  if (!scope.adaptCpuToEmulation) return { mode: asked };
  if (emulatedCpu && domainType(scope) === 'qemu') return custom(emulatedCpu);
  return { mode: emulatedMode(asked, scope) };
}

/** QEMU's emulator has a host-model of its own on amd64 only, and no host-passthrough anywhere. */
function emulatedMode(asked: HostMode, scope: Pick<Scope, Needs>): HostMode | 'maximum' {
  const possible = domainType(scope) !== 'qemu' || (asked === 'host-model' && scope.arch.name === 'amd64');
  return possible ? asked : 'maximum';
}

/** Named models list mpx, which current CPUs lack: libvirt would refuse them unless it is switched off. */
function features({ domain, arch }: Pick<Scope, Needs>): DomainCpuFeature[] {
  if (!domain.cpu) return [];
  const given = (domain.cpu.features ?? []).map(({ name, policy }): DomainCpuFeature => ({ name, policy: policy || 'require' }));
  const dropMpx = arch.mpxInModels && !isHostMode(domain.cpu.model ?? '') && !given.some(({ name }) => name === 'mpx');
  return dropMpx ? [...given, { name: 'mpx', policy: 'disable' }] : given;
}

/** Cells of NUMA passthrough, else one cell for all memory where it is backed by a memfd. */
function numa({ vmi, domain, arch, placement }: Pick<Scope, Needs>, count: number): DomainCpu['numa'] {
  if (placement?.numa) return { cell: placement.numa.cells.map(guestCell) };
  if (!arch.memfd || !needsMemfd(vmi) || domain.cpu?.numa !== undefined) return undefined;
  return { cell: [{ id: 0, cpus: `0-${count - 1}`, memory: kibibytes(domain), unit: 'KiB' }] };
}

const kibibytes = (domain: DomainSpec): bigint => bytesOf(guestMemory(domain), 'guest memory') / 1024n;

const guestCell = ({ id, vcpus, memoryBytes, distances }: GuestCell): NumaCell => ({
  id,
  cpus: vcpus.join(','),
  memory: memoryBytes,
  unit: 'b',
  distances: distances.length > 0 ? { sibling: distances } : undefined,
});

/** vCPUs of the first socket stay; the others can come and go, the running ones are there from the start. */
const vcpuList = (count: number, running: number, fixed: number): Vcpus => ({
  vcpu: Array.from({ length: count }, (_, id): ItemOf<Vcpus['vcpu']> => ({ id, enabled: id < running, hotpluggable: id >= fixed })),
});
