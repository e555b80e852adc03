// Cluster settings that a launcher cannot read itself, sent along with every synchronisation of a VMI. Pure.
import type { Plugin, VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { graceRequests } from '../../core/devices/grace.js';
import type { VmiOptions } from '../../rpc/index.js';

const GATES = {
  ExpandDisksEnabled: 'ExpandDisks',
  BochsDisplayForEFIGuests: 'BochsDisplayForEFIGuests',
  PCINUMAAwareTopologyEnabled: 'PCINUMAAwareTopology',
  VGPULiveMigrationEnabled: 'VGPULiveMigration',
  GraceIOVirtualizationEnabled: 'GraceIOVirtualization',
} as const;

const ALIASES = { gpus: 'gpu', hostDevices: 'hostdevice' } as const;

/** `plugins`: those of the cluster, for a guest that is about to start or to arrive. */
export function syncOptions(vmi: VirtualMachineInstance, config: ClusterConfig, plugins: readonly Plugin[] = []): VmiOptions {
  const { smbios, memBalloonStatsPeriod, virtualMachineOptions } = config.spec;
  const gates = Object.fromEntries(Object.entries(GATES).map(([field, gate]) => [field, config.isEnabled(gate)]));
  const graceAliases = graceDevices(vmi.spec, config);
  return {
    ...(smbios ? { VirtualMachineSMBios: { ...smbios } } : {}),
    ...(memBalloonStatsPeriod === undefined ? {} : { MemBalloonStatsPeriod: memBalloonStatsPeriod }),
    PreallocatedVolumes: preallocatedVolumes(vmi),
    ExpandDisksEnabled: config.isEnabled('ExpandDisks'),
    clusterConfig: {
      ...gates,
      FreePageReportingDisabled: virtualMachineOptions?.disableFreePageReporting !== undefined,
      SerialConsoleLogDisabled: virtualMachineOptions?.disableSerialConsoleLog !== undefined,
    },
    interfaceDomainAttachment: domainAttachments(vmi, config),
    ...(graceAliases.length > 0 ? { GraceHostDeviceAliases: graceAliases } : {}),
    ...(plugins.length > 0 ? { pluginsJson: Buffer.from(JSON.stringify(plugins)) } : {}),
  };
}

/** As the launcher names them in the domain. */
const graceDevices = (spec: VirtualMachineInstanceSpec, config: ClusterConfig): string[] =>
  config.isEnabled('GraceIOVirtualization')
    ? graceRequests(spec, config).flatMap(({ list, name, kind }) => (kind === 'grace' ? [`${ALIASES[list]}-${name}`] : []))
    : [];

const preallocatedVolumes = (vmi: VirtualMachineInstance): string[] =>
  (vmi.status?.volumeStatus ?? []).flatMap(({ name, persistentVolumeClaimInfo }) =>
    persistentVolumeClaimInfo?.preallocated ? [name] : [],
  );

/** How each interface ends in the domain; absent where it is no tap. */
function domainAttachments(vmi: VirtualMachineInstance, config: ClusterConfig): Record<string, string> {
  const plugins = config.spec.network?.binding ?? {};
  const entries = (vmi.spec.domain.devices.interfaces ?? []).flatMap((iface): [string, string][] => {
    if (iface.bridge || iface.masquerade) return [[iface.name, 'tap']];
    const type = iface.binding && plugins[iface.binding.name]?.domainAttachmentType;
    return type ? [[iface.name, type]] : [];
  });
  return Object.fromEntries(entries);
}
