// Probes of the VMI as probes of its pod. Those that look inside the guest run virt-probe in the launcher, which asks the guest agent.
import type { Container, Probe, VirtualMachineInstance } from '../../api/index.js';

/** A guest takes longer to boot than a container. */
const BOOT_DELAY_SECONDS = 10;
/** virt-probe must give up before the kubelet does. */
const MARGIN_SECONDS = 1;

/** Who calls it by itself has said everything. */
const PROGRAM = 'virt-probe';

type PodProbe = NonNullable<Container['readinessProbe']>;

function command(vmi: VirtualMachineInstance, probe: Probe): string[] | undefined {
  const { namespace, name } = vmi.metadata;
  const base = [PROGRAM, '--domainName', `${namespace}_${name}`, '--timeoutSeconds', String(probe.timeoutSeconds ?? 1)];
  if (probe.guestAgentPing) return [...base, '--guestAgentPing'];
  const [program, ...args] = probe.exec?.command ?? [];
  return program === undefined || program === PROGRAM ? undefined : [...base, '--command', program, '--', ...args];
}

export function podProbe(vmi: VirtualMachineInstance, probe: Probe | undefined): PodProbe | undefined {
  if (!probe) return undefined;
  const { guestAgentPing: _ping, initialDelaySeconds, ...rest } = probe;
  const copied = { ...rest, initialDelaySeconds: (initialDelaySeconds ?? 0) + BOOT_DELAY_SECONDS } as PodProbe;
  const inGuest = command(vmi, probe);
  return inGuest ? { ...copied, exec: { command: inGuest }, timeoutSeconds: (probe.timeoutSeconds ?? 1) + MARGIN_SECONDS } : copied;
}
