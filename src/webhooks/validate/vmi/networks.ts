// Networks of a VMI and how they pair with its interfaces. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { Interface, Network, VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { type Causes, duplicate, invalid, notFound, type Rule, required } from '../rule.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const interfacesPath = (at: FieldPath, ...rest: readonly (string | number)[]): FieldPath =>
  field(at, 'domain', 'devices', 'interfaces', ...rest);

export const networkSources: SpecRule = function* (spec, at) {
  const list = spec.networks ?? [];
  const pods = list.filter((n) => n.pod);
  const defaults = list.filter((n) => n.multus?.default);
  const path = field(at, 'networks');
  if (pods.length > 1) {
    const where = field(at, 'interfaces');
    yield duplicate(where, 'there are several pod networks: keep one, and use multus for the others');
  }
  if (defaults.length > 1) yield invalid(path, 'several multus networks are the default: keep default on one');
  if (pods.length > 0 && defaults.length > 0) {
    yield invalid(path, 'a multus network that is the default takes the place of the pod network: keep one of them');
  }
  for (const [i, network] of list.entries()) {
    const sources = [network.pod, network.multus, network.resourceClaim].filter(Boolean).length;
    if (sources === 0) yield required(field(path, i), `network "${network.name}" has no source: set pod, multus or resourceClaim`);
    else if (sources > 1)
      yield required(field(path, i), `network "${network.name}" has several sources: keep one of pod, multus and resourceClaim`);
  }
  const unnamed = list.findIndex((n) => n.multus && !n.multus.networkName);
  if (unnamed >= 0)
    yield required(
      field(path, unnamed),
      `network "${list[unnamed]?.name ?? ''}" has no multus.networkName: name the NetworkAttachmentDefinition`,
    );
};

function* stateCauses(iface: Interface, networks: readonly Network[], at: FieldPath): Causes {
  const { name, state = '' } = iface;
  const path = field(at, 'state');
  if (!['', 'absent', 'down', 'up'].includes(state)) {
    yield invalid(path, `interface "${name}" has the state ${state}: use up, down or absent`);
  }
  if (iface.sriov && (state === 'down' || state === 'up')) {
    yield invalid(path, `interface "${name}" is passed through by SR-IOV, so that its link cannot be ${state}: leave the state out`);
  }
  if (state !== 'absent') return;
  if (!iface.bridge) yield invalid(path, `interface "${name}" cannot be absent: only bridge interfaces can be unplugged`);
  const first = networks.find((n) => n.pod || n.multus?.default);
  if (first?.name === name)
    yield invalid(path, `interface "${name}" is on the default network, which cannot be unplugged: leave the state out`);
}

export const interfaceStates: SpecRule = function* (spec, at) {
  for (const [i, iface] of (spec.domain.devices.interfaces ?? []).entries()) {
    yield* stateCauses(iface, spec.networks ?? [], interfacesPath(at, i));
  }
};

const bindings = (i: Interface): number => [i.bridge, i.masquerade, i.sriov, i.passtBinding, i.binding].filter(Boolean).length;
/** The in-pod bridge has it. */
const RESERVED_MAC = '02:00:00:00:00:00';

function* masqueradeCauses(iface: Interface, isPod: boolean, at: FieldPath): Causes {
  if (!iface.masquerade) return;
  if (!isPod)
    yield invalid(
      field(at, 'name'),
      `interface "${iface.name}" masquerades, which works on the pod network only: use the bridge binding elsewhere`,
    );
  if (iface.macAddress !== RESERVED_MAC) return;
  yield invalid(field(at, 'macAddress'), `MAC address ${RESERVED_MAC} is that of the bridge in the pod: choose another`);
}

function* passtCauses(iface: Interface, isPod: boolean, at: FieldPath, config: ClusterConfig): Causes {
  if (!iface.passtBinding) return;
  const name = field(at, 'name');
  if (!config.isEnabled('PasstBinding')) yield invalid(name, gateOff('PasstBinding', `interface "${iface.name}" with passtBinding`));
  if (!isPod)
    yield invalid(name, `interface "${iface.name}" uses passt, which works on the pod network only: use the bridge binding elsewhere`);
}

function* bindingCauses(iface: Interface, network: Network | undefined, at: FieldPath, config: ClusterConfig): Causes {
  const isPod = network?.pod !== undefined;
  if (bindings(iface) !== 1) {
    yield invalid(at, `interface "${iface.name}" must have exactly one binding: bridge, masquerade, sriov, passtBinding or a plugin`);
  }
  yield* masqueradeCauses(iface, isPod, at);
  if (iface.bridge && isPod && config.spec.network?.permitBridgeInterfaceOnPodNetwork === false) {
    yield invalid(
      field(at, 'name'),
      `interface "${iface.name}" bridges the pod network, which this cluster does not permit: use masquerade`,
    );
  }
  yield* passtCauses(iface, isPod, at, config);
}

export const interfaceBindings: SpecRule = function* (spec, at, config) {
  const byName = new Map((spec.networks ?? []).map((n) => [n.name, n]));
  for (const [i, iface] of (spec.domain.devices.interfaces ?? []).entries()) {
    yield* bindingCauses(iface, byName.get(iface.name), interfacesPath(at, i), config);
  }
};

export const uniqueNetworks: SpecRule = function* (spec, at) {
  const seen = new Set<string>();
  for (const [i, { name }] of (spec.networks ?? []).entries()) {
    if (seen.has(name)) {
      yield duplicate(field(at, 'networks', i, 'name'), `network name "${name}" is given twice: rename one`);
    }
    seen.add(name);
  }
};

function* draNetworkCauses(spec: VirtualMachineInstanceSpec, i: number, network: Network, at: FieldPath): Causes {
  const { claimName, requestName } = network.resourceClaim ?? {};
  const path = field(at, 'networks', i, 'resourceClaim');
  const iface = spec.domain.devices.interfaces?.find((n) => n.name === network.name);
  if (iface && !iface.sriov && !iface.binding) {
    yield invalid(
      interfacesPath(at),
      `network "${network.name}" comes from a resource claim: give its interface the sriov binding or a plugin`,
    );
  }
  if (!claimName)
    yield required(field(path, 'claimName'), 'a network from a resource claim needs claimName: name an entry of spec.resourceClaims');
  if (!requestName)
    yield required(field(path, 'requestName'), 'a network from a resource claim needs requestName: name a request of the claim');
  if (!claimName || !requestName) return;
  if (!spec.resourceClaims?.some((c) => c.name === claimName)) {
    const message = `the network uses the claim "${claimName}", which is not listed: add it to spec.resourceClaims`;
    yield notFound(field(path, 'claimName'), message);
  }
  const first = (spec.networks ?? []).findIndex(
    (n) => n.resourceClaim?.claimName === claimName && n.resourceClaim.requestName === requestName,
  );
  if (first !== i)
    yield duplicate(
      field(at, 'networks', i),
      `the request "${claimName}/${requestName}" is used by another network: each needs a request of its own`,
    );
}

export const draNetworks: SpecRule = function* (spec, at, config) {
  const list = spec.networks ?? [];
  const path = field(at, 'networks');
  if (!list.some((n) => n.resourceClaim)) return;
  if (!config.isEnabled('NetworkDevicesWithDRA')) {
    yield invalid(path, gateOff('NetworkDevicesWithDRA', 'a network from a resource claim'));
    return;
  }
  if (list.some((n) => n.multus)) {
    yield invalid(path, 'networks of multus and from resource claims cannot be mixed: keep one kind');
    return;
  }
  for (const [i, network] of list.entries()) {
    if (network.resourceClaim) yield* draNetworkCauses(spec, i, network, at);
  }
};

export const pairing: SpecRule = function* (spec, at) {
  const list = spec.domain.devices.interfaces ?? [];
  const interfaceNames = new Set(list.map((i) => i.name));
  const networkNames = new Set((spec.networks ?? []).map((n) => n.name));
  for (const [i, { name }] of (spec.networks ?? []).entries()) {
    const path = field(at, 'networks', i, 'name');
    if (!interfaceNames.has(name))
      yield required(path, `network "${name}" has no interface: add one of this name to domain.devices.interfaces`);
  }
  const seen = new Set<string>();
  for (const [i, { name }] of list.entries()) {
    if (seen.has(name))
      yield duplicate(interfacesPath(at, i, 'name'), `network "${name}" has several interfaces: keep one, or add a network for each`);
    seen.add(name);
  }
  for (const [i, { name }] of list.entries()) {
    const path = interfacesPath(at, i, 'name');
    if (!networkNames.has(name)) yield invalid(path, `interface "${name}" has no network: add one of this name to spec.networks`);
  }
};

const DISCONTINUED = [
  ['slirp', 'the slirp binding is discontinued since v1.3: use masquerade or passtBinding'],
  ['passt', 'the passt binding of this name is discontinued since v1.3: use passtBinding'],
  ['macvtap', 'the macvtap binding is discontinued since v1.3: use a binding plugin'],
] as const;

/** On creation only: what exists may stay. */
export const discontinuedBindings: SpecRule = function* (spec, at) {
  for (const [i, iface] of (spec.domain.devices.interfaces ?? []).entries()) {
    for (const [binding, message] of DISCONTINUED) {
      if (iface[binding]) yield invalid(interfacesPath(at, i, binding), message);
    }
  }
};
