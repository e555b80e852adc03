// Networks of a VMI and how they pair with its interfaces. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { Interface, Network, VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
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
    yield duplicate(where, `more than one interface is connected to a pod network in ${where}`);
  }
  if (defaults.length > 1) yield invalid(path, 'Multus CNI should only have one default network');
  if (pods.length > 0 && defaults.length > 0) {
    yield invalid(path, 'Pod network cannot be defined when Multus default network is defined');
  }
  for (const [i, network] of list.entries()) {
    const sources = [network.pod, network.multus, network.resourceClaim].filter(Boolean).length;
    if (sources === 0) yield required(field(path, i), 'should have a network type');
    else if (sources > 1) yield required(field(path, i), 'should have only one network type');
  }
  const unnamed = list.findIndex((n) => n.multus && !n.multus.networkName);
  if (unnamed >= 0) yield required(field(path, unnamed), 'CNI delegating plugin must have a networkName');
};

function* stateCauses(iface: Interface, networks: readonly Network[], at: FieldPath): Causes {
  const { name, state = '' } = iface;
  const path = field(at, 'state');
  if (!['', 'absent', 'down', 'up'].includes(state)) {
    yield invalid(path, `logical ${name} interface state value is unsupported: ${state}`);
  }
  if (iface.sriov && (state === 'down' || state === 'up')) {
    yield invalid(path, `"${name}" interface's state "${state}" is not supported for SR-IOV NICs`);
  }
  if (state !== 'absent') return;
  if (!iface.bridge) yield invalid(path, `"${name}" interface's state "${state}" is supported only for bridge binding`);
  const first = networks.find((n) => n.pod || n.multus?.default);
  if (first?.name === name) yield invalid(path, `"${name}" interface's state "${state}" is not supported on default networks`);
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
  if (!isPod) yield invalid(field(at, 'name'), 'Masquerade interface only implemented with pod network');
  if (iface.macAddress !== RESERVED_MAC) return;
  yield invalid(field(at, 'macAddress'), 'The requested MAC address is reserved for the in-pod bridge. Please choose another one.');
}

function* passtCauses(iface: Interface, isPod: boolean, at: FieldPath, config: ClusterConfig): Causes {
  if (!iface.passtBinding) return;
  const name = field(at, 'name');
  if (!config.isEnabled('PasstBinding')) yield invalid(name, 'PasstBinding feature gate is not enabled');
  if (!isPod) yield invalid(name, 'PasstBinding interface only implemented with pod network');
}

function* bindingCauses(iface: Interface, network: Network | undefined, at: FieldPath, config: ClusterConfig): Causes {
  const isPod = network?.pod !== undefined;
  if (bindings(iface) !== 1) {
    yield invalid(at, `logical ${iface.name} interface must have exactly one binding method or binding plugin`);
  }
  yield* masqueradeCauses(iface, isPod, at);
  if (iface.bridge && isPod && config.spec.network?.permitBridgeInterfaceOnPodNetwork === false) {
    yield invalid(field(at, 'name'), 'Bridge on pod network configuration is not enabled under kubevirt-config');
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
      yield duplicate(
        field(at, 'networks', i, 'name'),
        `Network with name "${name}" already exists, every network must have a unique name`,
      );
    }
    seen.add(name);
  }
};

function* draNetworkCauses(spec: VirtualMachineInstanceSpec, i: number, network: Network, at: FieldPath): Causes {
  const { claimName, requestName } = network.resourceClaim ?? {};
  const path = field(at, 'networks', i, 'resourceClaim');
  const iface = spec.domain.devices.interfaces?.find((n) => n.name === network.name);
  if (iface && !iface.sriov && !iface.binding) {
    yield invalid(interfacesPath(at), `DRA network "${network.name}" requires an SR-IOV or binding plugin interface`);
  }
  if (!claimName) yield required(field(path, 'claimName'), 'claimName is required for DRA network');
  if (!requestName) yield required(field(path, 'requestName'), 'requestName is required for DRA network');
  if (!claimName || !requestName) return;
  if (!spec.resourceClaims?.some((c) => c.name === claimName)) {
    const message = `network references resourceClaim "${claimName}" which is not defined in spec.resourceClaims`;
    yield notFound(field(path, 'claimName'), message);
  }
  const first = (spec.networks ?? []).findIndex(
    (n) => n.resourceClaim?.claimName === claimName && n.resourceClaim.requestName === requestName,
  );
  if (first !== i) yield duplicate(field(at, 'networks', i), `duplicate claimName/requestName combination "${claimName}/${requestName}"`);
}

export const draNetworks: SpecRule = function* (spec, at, config) {
  const list = spec.networks ?? [];
  const path = field(at, 'networks');
  if (!list.some((n) => n.resourceClaim)) return;
  if (!config.isEnabled('NetworkDevicesWithDRA')) {
    yield invalid(path, 'vmi.spec.networks contains DRA networks but NetworkDevicesWithDRA feature gate is not enabled');
    return;
  }
  if (list.some((n) => n.multus)) {
    yield invalid(path, 'mixing Multus and DRA resourceClaim networks in the same VMI is not supported');
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
    if (!interfaceNames.has(name)) yield required(path, `${path} '${name}' not found.`);
  }
  const seen = new Set<string>();
  for (const [i, { name }] of list.entries()) {
    if (seen.has(name)) yield duplicate(interfacesPath(at, i, 'name'), 'Only one interface can be connected to one specific network');
    seen.add(name);
  }
  for (const [i, { name }] of list.entries()) {
    const path = interfacesPath(at, i, 'name');
    if (!networkNames.has(name)) yield invalid(path, `${path} '${name}' not found.`);
  }
};

const DISCONTINUED = [
  ['slirp', 'Slirp interface support has been discontinued since v1.3'],
  ['passt', 'Passt network binding has been discontinued since v1.3'],
  ['macvtap', 'Macvtap network binding has been discontinued since v1.3'],
] as const;

/** On creation only: what exists may stay. */
export const discontinuedBindings: SpecRule = function* (spec, at) {
  for (const [i, iface] of (spec.domain.devices.interfaces ?? []).entries()) {
    for (const [binding, message] of DISCONTINUED) {
      if (iface[binding]) yield invalid(interfacesPath(at, i, binding), message);
    }
  }
};
