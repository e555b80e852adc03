// Interfaces of a running guest that follow its VM's template: new ones on secondary networks, link states, and those that are to go. Anything
// else about networks needs a restart. Pure.
import type { Interface, Network, VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../api/index.js';
import { deepEqual, guarded } from '../../runtime/patch.js';
import type { JsonPatchOperation } from '../../runtime/types.js';

type Spec = VirtualMachineInstanceSpec;

export interface Nics {
  readonly interfaces: readonly Interface[];
  readonly networks: readonly Network[];
}

export const nicsOf = ({ networks = [], domain }: Spec): Nics => ({ interfaces: domain.devices.interfaces ?? [], networks });

const named = <T extends { name: string }>(list: readonly T[], name: string): T | undefined => list.find((each) => each.name === name);

const withoutState = ({ state: _, ...rest }: Interface): object => rest;

/** `started` knows an interface as the user wrote it; one that came later is in the VMI as it was copied. */
function isChanged(name: string, from: Nics, current: Nics): boolean {
  const [was, is] = [named(from.interfaces, name), named(current.interfaces, name)];
  if (!was || !is) return true;
  return !deepEqual(withoutState(was), withoutState(is)) || !deepEqual(named(from.networks, name), named(current.networks, name));
}

const canCome = (nic: Interface, { networks }: Nics): boolean =>
  named(networks, nic.name)?.multus !== undefined && (nic.bridge !== undefined || nic.sriov !== undefined);

/** The networks of the template cannot come to the guest while it runs. */
export function needsNetworkRestart(started: Spec, current: Spec, vmi: VirtualMachineInstance): boolean {
  const [before, now, has] = [nicsOf(started), nicsOf(current), nicsOf(vmi.spec)];
  const kept = has.interfaces.filter(({ name, state }) => state !== 'absent' || named(now.interfaces, name));
  // Those that the cluster added are in no template.
  const known = kept.filter(({ name }) => named(before.interfaces, name) || named(now.interfaces, name));
  if (known.some(({ name }) => isChanged(name, named(before.interfaces, name) ? before : has, now))) return true;
  const coming = now.interfaces.filter(({ name, state }) => !named(has.interfaces, name) && state !== 'absent');
  return coming.some((nic) => !canCome(nic, now));
}

const isInGuest = ({ status }: VirtualMachineInstance, name: string): boolean =>
  status?.interfaces?.some((each) => each.name === name) === true;

function nextNics(vmi: VirtualMachineInstance, wanted: Nics): Nics {
  const has = nicsOf(vmi.spec);
  const kept = has.interfaces
    .map((nic): Interface => {
      const is = named(wanted.interfaces, nic.name);
      if (!is || is.state === nic.state) return nic;
      const { state: _, ...rest } = nic;
      return is.state === undefined ? rest : { ...rest, state: is.state };
    })
    .filter(({ name, state }) => state !== 'absent' || isInGuest(vmi, name));
  const coming = wanted.interfaces.filter(({ name, state }) => !named(has.interfaces, name) && state !== 'absent');
  const networks = [...has.networks, ...coming.flatMap(({ name }) => named(wanted.networks, name) ?? [])];
  const interfaces = [...kept, ...coming];
  const left = has.interfaces.filter(({ name }) => !named(kept, name)).map(({ name }) => name);
  return { interfaces, networks: networks.filter(({ name }) => !left.includes(name)) };
}

const changes = (prefix: string, spec: Spec, next: Nics): JsonPatchOperation[] => [
  ...(deepEqual(spec.networks ?? [], next.networks) ? [] : guarded(`${prefix}/networks`, spec.networks, next.networks)),
  ...(deepEqual(spec.domain.devices.interfaces ?? [], next.interfaces)
    ? []
    : guarded(`${prefix}/domain/devices/interfaces`, spec.domain.devices.interfaces, next.interfaces)),
];

/** Of the running guest's VMI. */
export const networkChanges = (current: Spec, vmi: VirtualMachineInstance): JsonPatchOperation[] =>
  changes('/spec', vmi.spec, nextNics(vmi, nicsOf(current)));

/** Of the VM: interfaces that are to be absent and that no guest has any more. */
export function networkCleanup(vm: VirtualMachine, vmi: VirtualMachineInstance): JsonPatchOperation[] {
  const { spec } = vm.spec.template;
  if (!spec) return [];
  const { interfaces, networks } = nicsOf(spec);
  const isGone = ({ name, state }: Interface): boolean => state === 'absent' && !named(nicsOf(vmi.spec).interfaces, name);
  const gone = new Set(interfaces.filter(isGone).map(({ name }) => name));
  if (gone.size === 0) return [];
  const next = { interfaces: interfaces.filter(({ name }) => !gone.has(name)), networks: networks.filter(({ name }) => !gone.has(name)) };
  return changes('/spec/template/spec', spec, next);
}
