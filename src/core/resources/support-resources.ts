// Requests and limits of the containers beside compute: small, fixed, overridable in the cluster's configuration, and equal to each
// other where the pod must be guaranteed.
import type { DomainSpec, Quantity } from '../../api/index.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { isGuaranteed } from './vcpu.js';

export type SupportContainer = 'container-disk' | 'virtiofs' | 'sidecar' | 'hotplug-disk';

export interface SupportResources {
  readonly requests?: Record<string, Quantity>;
  readonly limits?: Record<string, Quantity>;
}

const DEFAULTS: Readonly<Record<SupportContainer, Required<SupportResources> | undefined>> = {
  'container-disk': { requests: { cpu: '1m', memory: '1M', 'ephemeral-storage': '50M' }, limits: { cpu: '10m', memory: '40M' } },
  virtiofs: { requests: { cpu: '10m', memory: '1M' }, limits: { cpu: '100m', memory: '80M' } },
  'hotplug-disk': { requests: { cpu: '10m', memory: '2M' }, limits: { cpu: '100m', memory: '80M' } },
  sidecar: undefined,
};
/** Hook sidecars have no resources of their own, unless the pod must be guaranteed. */
const GUARANTEED_SIDECAR = { cpu: '200m', memory: '64M' };

export function supportResources(type: SupportContainer, config: ClusterConfig, domain?: DomainSpec): SupportResources {
  const given = config.spec.supportContainerResources?.find((entry) => entry.type === type)?.resources;
  const defaults = DEFAULTS[type];
  const guaranteed = domain !== undefined && isGuaranteed(domain);
  const limits = { ...(defaults?.limits ?? (guaranteed ? GUARANTEED_SIDECAR : {})), ...given?.limits };
  const requests = { ...(defaults?.requests ?? (guaranteed ? GUARANTEED_SIDECAR : {})), ...given?.requests };
  const final = guaranteed ? { ...requests, ...limits } : requests;
  return {
    ...(Object.keys(final).length > 0 ? { requests: final } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
  };
}
