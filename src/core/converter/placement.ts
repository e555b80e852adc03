// Where a guest with dedicated CPUs runs: vCPU, emulator and I/O thread pins, and for NUMA passthrough the guest cells with their memory.
// The CPU, memory and tuning steps render their part of the result; assembled once a domain by scope.ts.
import type { CPU, VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { CpuPool } from './cpu-pool.js';
import { type CpuPlan, namedVcpus } from './cpu-topology.js';
import type { DomainFacts } from './facts.js';
import type { IoThreadPlan } from './io-threads.js';
import { type NumaPlacement, planNuma } from './numa.js';

const EVEN_PARITY = 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity';

export interface Placement {
  /** Host CPU of each running vCPU. */
  readonly vcpuPins: readonly number[];
  /** cpuset of the emulator's own threads. */
  readonly emulatorPin?: string;
  /** cpuset of each I/O thread, from thread 1 on. */
  readonly ioThreadPins: readonly string[];
  readonly numa?: NumaPlacement;
}

export interface PlacementInput {
  readonly vmi: VirtualMachineInstance;
  readonly cpus: CpuPlan;
  readonly ioThreads: IoThreadPlan | undefined;
  readonly facts: Pick<DomainFacts, 'cpuSet' | 'topology'>;
}

export function planPlacement({ vmi, cpus, ioThreads, facts }: PlacementInput): Placement {
  const cpu = vmi.spec.domain.cpu ?? {};
  const passthrough = cpu.numa?.guestMappingPassthrough !== undefined;
  const pool = new CpuPool(facts.cpuSet, facts.topology, { threadsPerCore: cpus.running.threads, crossing: !passthrough });
  const vcpuPins = pool.takeCores(cpus.running.sockets * cpus.running.cores);
  // The supplemental pool has CPUs of its own and is served before the emulator, whose parity counts them.
  const supplementalPins = Array.from({ length: ioThreads?.supplemental ?? 0 }, () => String(pool.takeThread('the iothread')));
  const emulatorPin = cpu.isolateEmulatorThread ? pinEmulator(pool, vmi, namedVcpus(cpu) + supplementalPins.length) : undefined;
  const numa = passthrough ? planNuma(vmi, facts.topology, vcpuPins) : undefined;
  return {
    vcpuPins,
    ...(emulatorPin === undefined ? {} : { emulatorPin }),
    ioThreadPins:
      ioThreads && ioThreads.supplemental === 0 ? pinIoThreads(ioThreads.total, cpu, facts.cpuSet, emulatorPin) : supplementalPins,
    ...(numa ? { numa } : {}),
  };
}

/** With the parity annotation, an even number of pinned CPUs gets a second one, so that the kubelet can give whole cores. */
function pinEmulator(pool: CpuPool, vmi: VirtualMachineInstance, pinned: number): string {
  const first = pool.takeThread('the emulation thread');
  const even = vmi.metadata.annotations?.[EVEN_PARITY] !== undefined && pinned % 2 === 0;
  return even ? `${first},${pool.takeThread('the second emulation thread')}` : String(first);
}

/** Pooled and dedicated threads share the vCPUs' CPUs: one CPU each if there are many threads, else equal slices of the set. */
function pinIoThreads(total: number, cpu: CPU, cpuSet: readonly number[], emulatorPin: string | undefined): string[] {
  if (emulatorPin !== undefined) return [emulatorPin];
  const vcpus = namedVcpus(cpu);
  if (total >= vcpus) return Array.from({ length: total }, (_, i) => String(cpuAt(cpuSet, vcpus === 0 ? 0 : (i + 1) % vcpus)));
  const base = Math.floor(vcpus / total);
  const larger = vcpus % total;
  return Array.from({ length: total }, (_, i) => {
    const start = i * base + Math.min(i, larger);
    return cpuSet.slice(start, start + base + (i < larger ? 1 : 0)).join(',');
  });
}

function cpuAt(cpuSet: readonly number[], index: number): number {
  const cpu = cpuSet[index];
  if (cpu === undefined) throw new KvError('Invalid', `the pod has ${cpuSet.length} exclusive CPUs, too few to pin the I/O threads`);
  return cpu;
}
