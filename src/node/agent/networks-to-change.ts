// Which networks of a running guest the node has links to make for, or to remove: a new one once the pod has it, one that goes once the guest has let
// go of it, as QEMU ends when its link is taken away. Pure; perform.ts hands the answer to the network set-up.
import type { DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance } from '../../api/index.js';

type Vmi = VirtualMachineInstance;

/** The VMI with the interfaces that count now; undefined while their links are as they should be. */
export function networksToChange(
  vmi: Vmi,
  has: ReadonlyMap<string, unknown> | undefined,
  domain: DomainReport | undefined,
): Vmi | undefined {
  const isInPod = new Set((vmi.status?.interfaces ?? []).flatMap(({ name, infoSource }) => (infoSource && name ? [name] : [])));
  const isInGuest = new Set((domain?.spec.interfaces ?? []).map(({ name }) => name));
  const { domain: wanted } = vmi.spec;
  const interfaces = (wanted.devices.interfaces ?? []).filter(({ name, state }) =>
    state === 'absent' ? !isInGuest.has(name) : isInPod.has(name),
  );
  const isChanged = interfaces.some(({ name, state }) => (state === 'absent') === (has?.has(name) === true));
  return isChanged ? { ...vmi, spec: { ...vmi.spec, domain: { ...wanted, devices: { ...wanted.devices, interfaces } } } } : undefined;
}
