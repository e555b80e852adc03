// How many vCPUs a guest has and how they are arranged; with hotplug, how many it could have. Read by the CPU, network, disk and pinning steps.
import type { CPU, CPUTopology, DomainSpec } from '../../api/index.js';
import { quantityValue } from '../../api/quantity.js';

export interface CpuPlan {
  /** What the guest starts with. */
  readonly running: Required<CPUTopology>;
  /** What the machine is defined with: more sockets when CPUs can be plugged in. */
  readonly defined: Required<CPUTopology>;
  /** Product of `running`. */
  readonly vcpus: number;
  /** vCPUs of the first socket, which can never be unplugged; undefined = no hotplug. */
  readonly fixed: number | undefined;
}

export const countOf = ({ sockets, cores, threads }: Required<CPUTopology>): number => sockets * cores * threads;

export function planCpus(domain: DomainSpec, hotplug: boolean): CpuPlan {
  const running = requestedTopology(domain);
  const maxSockets = domain.cpu?.maxSockets ?? 0;
  const grows = hotplug && maxSockets > 0;
  return {
    running,
    defined: grows ? { ...running, sockets: maxSockets } : running,
    vcpus: countOf(running),
    fixed: grows ? running.cores * running.threads : undefined,
  };
}

/** Without any count in spec.domain.cpu, the CPU limit (else the request) gives the number of sockets. */
function requestedTopology({ cpu, resources }: DomainSpec): Required<CPUTopology> {
  const counted = Boolean(cpu?.cores || cpu?.sockets || cpu?.threads);
  const quantity = counted ? undefined : (resources?.limits?.cpu ?? resources?.requests?.cpu);
  return {
    sockets: quantity === undefined ? cpu?.sockets || 1 : Number(quantityValue(quantity)),
    cores: cpu?.cores || 1,
    threads: cpu?.threads || 1,
  };
}

/** Product of the counts that the VMI names; 0 when it names none. */
export const namedVcpus = ({ cores = 0, sockets = 0, threads = 0 }: CPU): number =>
  [cores, sockets, threads].filter((n) => n !== 0).reduce((product, n) => (product === 0 ? n : product * n), 0);
