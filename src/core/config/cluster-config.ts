// The KubeVirt CR's configuration as an immutable value with every default filled in. Every decision that depends on
// configuration receives one of these; nothing reads the CR itself.
import type { KubeVirt, KubeVirtConfiguration } from '../../api/index.js';
import { isGateEnabled } from './gates.js';

export interface ClusterConfig {
  readonly spec: KubeVirtConfiguration;
  /** True when the gate is on by its maturity or by the CR's lists. */
  isEnabled(gate: string): boolean;
  /** 'amd64', 'arm64' or 's390x': what a VMI without architecture gets. */
  readonly defaultArchitecture: string;
  readonly useEmulation: boolean;
  /** resourceVersion of the CR; changes whenever the configuration may have. */
  readonly version: string;
  /** Annotations of the CR: a few alpha settings live there. */
  readonly annotations: Readonly<Record<string, string>>;
}

const DEFAULTS = {
  developerConfiguration: {
    featureGates: [],
    disabledFeatureGates: [],
    pvcTolerateLessSpaceUpToPercent: 10,
    minimumReservePVCBytes: 131072,
    memoryOvercommit: 100,
    cpuAllocationRatio: 10,
    diskVerification: { memoryLimit: '2000Mi' },
    useEmulation: false,
    clusterProfiler: false,
  },
  migrations: {
    parallelMigrationsPerCluster: 5,
    parallelOutboundMigrationsPerNode: 2,
    bandwidthPerMigration: '0',
    completionTimeoutPerGiB: 150,
    progressTimeout: 150,
    utilityVolumesTimeout: 150,
    maxDowntimeMs: 900,
    allowAutoConverge: false,
    allowPostCopy: false,
    unsafeMigrationOverride: false,
    disableTLS: false,
    nodeDrainTaintKey: 'kubevirt.io/drain',
  },
  network: { defaultNetworkInterface: 'bridge', permitBridgeInterfaceOnPodNetwork: true },
  smbios: { manufacturer: 'KubeVirt', product: 'None', family: 'KubeVirt' },
  cpuRequest: '100m',
  evictionStrategy: 'None',
  vmRolloutStrategy: 'LiveUpdate',
  liveUpdateConfiguration: { maxHotplugRatio: 4 },
  supportedGuestAgentVersions: ['2.*', '3.*', '4.*', '5.*'],
  memBalloonStatsPeriod: 10,
  imagePullPolicy: 'IfNotPresent',
  architectureConfiguration: {
    amd64: { machineType: 'q35', emulatedMachines: ['q35*', 'pc-q35*'], ovmfPath: '/usr/share/OVMF' },
    arm64: { machineType: 'virt', emulatedMachines: ['virt*'], ovmfPath: '/usr/share/AAVMF' },
    s390x: { machineType: 's390-ccw-virtio', emulatedMachines: ['s390-ccw-virtio*'], ovmfPath: '' },
  },
  instancetype: { referencePolicy: 'reference' },
  commonInstancetypesDeployment: { enabled: true },
} as const;

/** Settings in which 0 says something of its own: no limit, no statistics. */
const ZERO_COUNTS = /^(migrations\.|memBalloonStatsPeriod$)/;

const isOneOf =
  (...words: readonly unknown[]) =>
  (value: unknown): boolean =>
    words.includes(value);
const isPositive = (value: unknown): boolean => Number(value) > 0;

/** What a setting must be to count; others fall back to the default, so that a slip does not stop the cluster. */
const SOUND: Readonly<Record<string, (value: unknown) => boolean>> = {
  'developerConfiguration.memoryOvercommit': isPositive,
  'developerConfiguration.cpuAllocationRatio': isPositive,
  'developerConfiguration.pvcTolerateLessSpaceUpToPercent': (value) => isPositive(value) && Number(value) <= 100,
  'network.defaultNetworkInterface': isOneOf('bridge', 'masquerade', 'slirp'),
  imagePullPolicy: isOneOf('Always', 'Never', 'IfNotPresent'),
};

/** Empty words, empty lists and most zeros say nothing, as in the API's own stored form. */
function says(value: unknown, path: string): boolean {
  if (value === undefined || value === null || value === '') return false;
  if (value === 0) return ZERO_COUNTS.test(path);
  return !Array.isArray(value) || value.length > 0;
}

const isPlain = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);

/** Values of `given` win; maps merge, lists replace. */
function withDefaults(defaults: unknown, given: unknown, path = ''): unknown {
  if (isPlain(defaults) && isPlain(given)) {
    const merged: Record<string, unknown> = { ...given };
    for (const [key, value] of Object.entries(defaults)) merged[key] = withDefaults(value, given[key], path ? `${path}.${key}` : key);
    return merged;
  }
  return says(given, path) && (SOUND[path]?.(given) ?? true) ? given : structuredClone(defaults);
}

/** `undefined` gives the configuration of a CR that sets nothing. */
export function clusterConfig(kv?: KubeVirt): ClusterConfig {
  return clusterConfigOf(kv?.spec.configuration, {
    ...(kv?.status?.defaultArchitecture ? { defaultArchitecture: kv.status.defaultArchitecture } : {}),
    version: kv?.metadata.resourceVersion ?? '',
    annotations: kv?.metadata.annotations ?? {},
  });
}

export function clusterConfigOf(
  given: KubeVirtConfiguration | undefined,
  {
    defaultArchitecture,
    version = '',
    annotations = {},
  }: { defaultArchitecture?: string; version?: string; annotations?: Readonly<Record<string, string>> } = {},
): ClusterConfig {
  const spec = withDefaults(DEFAULTS, given) as KubeVirtConfiguration;
  const listed = spec.developerConfiguration?.featureGates ?? [];
  const disabled = spec.developerConfiguration?.disabledFeatureGates ?? [];
  return Object.freeze({
    spec,
    isEnabled: (gate: string) => isGateEnabled(gate, listed, disabled),
    defaultArchitecture: defaultArchitecture ?? spec.architectureConfiguration?.defaultArchitecture ?? 'amd64',
    useEmulation: spec.developerConfiguration?.useEmulation === true,
    version,
    annotations,
  });
}
