// CPU model, features, topology, guest NUMA cells and the list of vCPUs that can be plugged in.
import type { CPUFeature, DomainSpec } from '../../../api/index.js';
import { countOf } from '../cpu-topology.js';
import { bytesOf, guestMemory, needsMemfd } from '../memory-size.js';
import type { GuestCell } from '../numa.js';
import type { Scope } from '../scope.js';
import type { Step } from '../step.js';
import { el, textEl, type XmlChild, type XmlNode, yesNo } from '../xml.js';
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
  render(scope) {
    const count = countOf(scope.cpus.defined);
    const { mode, model } = cpuModel(scope);
    const children = [
      model !== undefined && textEl('model', model),
      ...features(scope),
      el('topology', scope.cpus.defined),
      numa(scope, count),
    ];
    return {
      elements: [
        el('cpu', { mode }, children),
        textEl('vcpu', count, { placement: 'static' }),
        ...(scope.cpus.fixed === undefined ? [] : [vcpuList(count, scope.cpus.vcpus, scope.cpus.fixed)]),
      ],
    };
  },
};

interface CpuModel {
  readonly mode: string;
  readonly model?: string;
}

const isHostMode = (model: string): boolean => model === 'host-model' || model === 'host-passthrough';

function cpuModel(scope: Pick<Scope, Needs>): CpuModel {
  const asked = scope.domain.cpu?.model || 'host-model';
  if (!isHostMode(asked)) return { mode: 'custom', model: asked };
  const { emulatedCpu } = scope.arch;
  if (scope.crossArchEmulation) return { mode: 'custom', model: emulatedCpu ?? 'max' };
  if (!scope.adaptCpuToEmulation) return { mode: asked };
  if (emulatedCpu && domainType(scope) === 'qemu') return { mode: 'custom', model: emulatedCpu };
  return { mode: emulatedMode(asked, scope) };
}

/** QEMU's emulator has a host-model of its own on amd64 only, and no host-passthrough anywhere. */
function emulatedMode(asked: string, scope: Pick<Scope, Needs>): string {
  const possible = domainType(scope) !== 'qemu' || (asked === 'host-model' && scope.arch.name === 'amd64');
  return possible ? asked : 'maximum';
}

/** Named models list mpx, which current CPUs lack: libvirt would refuse them unless it is switched off. */
function features({ domain, arch }: Pick<Scope, Needs>): XmlNode[] {
  if (!domain.cpu) return [];
  const given: readonly CPUFeature[] = domain.cpu.features ?? [];
  const dropMpx = arch.mpxInModels && !isHostMode(domain.cpu.model ?? '') && !given.some(({ name }) => name === 'mpx');
  return [...given, ...(dropMpx ? [{ name: 'mpx', policy: 'disable' }] : [])].map(({ name, policy }) =>
    el('feature', { name, policy: policy || 'require' }),
  );
}

/** Cells of NUMA passthrough, else one cell for all memory where it is backed by a memfd. */
function numa({ vmi, domain, arch, placement }: Pick<Scope, Needs>, count: number): XmlChild {
  if (placement?.numa) return el('numa', {}, placement.numa.cells.map(guestCell));
  if (!arch.memfd || !needsMemfd(vmi) || domain.cpu?.numa !== undefined) return undefined;
  return el('numa', {}, [el('cell', { id: 0, cpus: `0-${count - 1}`, memory: kibibytes(domain), unit: 'KiB' })]);
}

const kibibytes = (domain: DomainSpec): bigint => bytesOf(guestMemory(domain), 'guest memory') / 1024n;

function guestCell({ id, vcpus, memoryBytes, distances }: GuestCell): XmlNode {
  const siblings = distances.map((sibling) => el('sibling', sibling));
  return el('cell', { id, cpus: vcpus.join(','), memory: memoryBytes, unit: 'b' }, [siblings.length > 0 && el('distances', {}, siblings)]);
}

/** vCPUs of the first socket stay; the others can come and go, the running ones are there from the start. */
function vcpuList(count: number, running: number, fixed: number): XmlNode {
  const vcpus = Array.from({ length: count }, (_, id) =>
    el('vcpu', { id, enabled: yesNo(id < running), hotpluggable: yesNo(id >= fixed) }),
  );
  return el('vcpus', {}, vcpus);
}
