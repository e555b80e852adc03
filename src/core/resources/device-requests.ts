// Host devices that a VMI names: as extended resources of the node's device plugins, or as claims of dynamic resource allocation.
// Called by the computation of the compute container's resources; refuses devices that the cluster does not permit.
import type { DomainSpec, Network } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { ClusterConfig } from '../config/cluster-config.js';

export interface ResourceClaimUse {
  readonly name: string;
  readonly request?: string;
}

/** undefined: the cluster restricts nothing. */
function permitted({ spec }: ClusterConfig): ReadonlySet<string> | undefined {
  const listed = spec.permittedHostDevices;
  if (!listed) return undefined;
  const all = [...(listed.pciHostDevices ?? []), ...(listed.mediatedDevices ?? []), ...(listed.usb ?? [])];
  return new Set(all.map(({ resourceName }) => resourceName));
}

function checked(kind: string, names: readonly string[], allowed: ReadonlySet<string> | undefined): readonly string[] {
  const refused = allowed && names.find((name) => !allowed.has(name));
  if (refused !== undefined) {
    throw new KvError('Invalid', `${kind} ${refused} is not permitted in permittedHostDevices configuration`, {
      reason: 'HostDeviceNotPermitted',
    });
  }
  return names;
}

interface Device {
  readonly deviceName?: string;
  readonly claimName?: string;
  readonly requestName?: string;
}

const isClaimed = ({ claimName, requestName }: Device): boolean => claimName !== undefined || requestName !== undefined;

/** Devices of a claim are checked by whoever allocates it, where the cluster has such claims. */
const namesOf = (devices: readonly Device[] | undefined, hasClaims: boolean): string[] =>
  (devices ?? []).filter((device) => !(hasClaims && isClaimed(device))).map(({ deviceName }) => deviceName ?? '');

/** One entry a device. */
export function deviceNames({ devices }: DomainSpec, config: ClusterConfig): string[] {
  const allowed = permitted(config);
  const gpus = checked('GPU', namesOf(devices.gpus, config.isEnabled('GPUsWithDRA')), allowed);
  const hostDevices = checked('HostDevice', namesOf(devices.hostDevices, config.isEnabled('HostDevicesWithDRA')), allowed);
  return [...gpus, ...hostDevices].filter(Boolean);
}

const useOf = ({ claimName, requestName }: { claimName?: string; requestName?: string }): ResourceClaimUse[] =>
  claimName ? [{ name: claimName, ...(requestName ? { request: requestName } : {}) }] : [];

/** Claims that the compute container uses, each once. */
export function deviceClaims({ devices }: DomainSpec, networks: readonly Network[], config: ClusterConfig): ResourceClaimUse[] {
  const uses = [
    ...(config.isEnabled('GPUsWithDRA') ? (devices.gpus ?? []).flatMap(useOf) : []),
    ...(config.isEnabled('HostDevicesWithDRA') ? (devices.hostDevices ?? []).flatMap(useOf) : []),
    ...(config.isEnabled('NetworkDevicesWithDRA')
      ? networks.flatMap(({ resourceClaim }) => (resourceClaim ? useOf(resourceClaim) : []))
      : []),
  ];
  return [...new Map(uses.map((use) => [`${use.name}/${use.request ?? ''}`, use])).values()];
}
