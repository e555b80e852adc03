// Whether a running VMI could be live-migrated, and how its volumes would travel. Pure: checks run in order, the first that fails is what
// LiveMigratable shows; StorageLiveMigratable shows all that concern anything but disks.
import type { ConditionValue, VirtualMachineInstance } from '../../api/index.js';
import type { RegisteredBindings } from '../../core/network/bindings/index.js';
import { isPrimary } from '../../core/network/names.js';
import { text } from '../text.js';

export interface MigrationFacts {
  readonly vmi: VirtualMachineInstance;
  readonly node: string;
  /** The node's own CPU model is on the list of obsolete ones: no other node would offer it. */
  readonly isHostModelObsolete: boolean;
  readonly bindings: RegisteredBindings & Readonly<Record<string, { readonly migration?: unknown }>>;
}

interface Obstacle {
  readonly reason: string;
  readonly message: string;
}

type Check = (facts: MigrationFacts) => Obstacle | undefined;
type Volume = NonNullable<VirtualMachineInstance['spec']['volumes']>[number];

const ALLOW_POD_BRIDGE = 'kubevirt.io/allow-pod-bridge-network-live-migration';
const SHARED = 'ReadWriteMany';

const when = (isTrue: boolean, reason: string, message: string): Obstacle | undefined => (isTrue ? { reason, message } : undefined);

const interfaces: Check = ({ vmi, bindings }) => {
  const podNetwork = vmi.spec.networks?.find((network) => network.pod !== undefined && isPrimary(network));
  const iface = vmi.spec.domain.devices.interfaces?.find((candidate) => candidate.name === podNetwork?.name);
  if (iface === undefined || iface.masquerade || iface.passtBinding) return undefined;
  if (iface.bridge && vmi.metadata.annotations?.[ALLOW_POD_BRIDGE] !== undefined) return undefined;
  if (iface.binding && bindings[iface.binding.name]?.migration !== undefined) return undefined;
  return { reason: 'InterfaceNotLiveMigratable', message: text.notMigratable.bridge };
};

const hostModel: Check = ({ vmi, node, isHostModelObsolete }) =>
  when(
    isHostModelObsolete && (vmi.spec.domain.cpu?.model ?? 'host-model') === 'host-model',
    'CPUModeLiveMigratable',
    text.notMigratable.hostModel(node),
  );

const hostDevices: Check = ({ vmi }) => {
  const { hostDevices: devices = [], gpus = [] } = vmi.spec.domain.devices;
  return (
    when(devices.length > 0, 'HostDeviceNotLiveMigratable', text.notMigratable.hostDevice) ??
    when(gpus.length > 0, 'HostDeviceNotLiveMigratable', text.notMigratable.gpu)
  );
};

const confidential: Check = ({ vmi }) => {
  const security = vmi.spec.domain.launchSecurity;
  if (security === undefined) return undefined;
  return (
    when(security.sev !== undefined || security.snp !== undefined, 'SEVNotLiveMigratable', text.notMigratable.sev) ??
    when(security.tdx !== undefined, 'TDXNotLiveMigratable', text.notMigratable.tdx) ??
    when(vmi.spec.architecture === 's390x', 'SecureExecutionNotLiveMigratable', text.notMigratable.secureExecution)
  );
};

const hypervPassthrough: Check = ({ vmi }) =>
  when(vmi.spec.domain.features?.hypervPassthrough?.enabled === true, 'HypervPassthroughNotLiveMigratable', text.notMigratable.passthrough);

const disks: Check = ({ vmi }) => {
  const migrated = new Set((vmi.status?.migratedVolumes ?? []).map((volume) => volume.volumeName));
  for (const volume of vmi.spec.volumes ?? []) {
    const obstacle = migrated.has(volume.name) ? undefined : volumeObstacle(vmi, volume);
    if (obstacle) return obstacle;
  }
  return undefined;
};

function volumeObstacle(vmi: VirtualMachineInstance, volume: Volume): Obstacle | undefined {
  if (volume.hostDisk) return when(volume.hostDisk.shared !== true, 'DisksNotLiveMigratable', text.notMigratable.hostDisk);
  if (!claimOf(volume) || isShared(vmi, volume)) return undefined;
  return { reason: 'DisksNotLiveMigratable', message: text.notMigratable.claim(claimOf(volume) ?? '') };
}

const claimOf = (volume: Volume): string | undefined => volume.persistentVolumeClaim?.claimName ?? volume.dataVolume?.name;

const isShared = (vmi: VirtualMachineInstance, volume: Volume): boolean =>
  vmi.status?.volumeStatus?.find((status) => status.name === volume.name)?.persistentVolumeClaimInfo?.accessModes?.includes(SHARED) ===
  true;

const reservation: Check = ({ vmi }) =>
  when(
    vmi.spec.domain.devices.disks?.some((disk) => disk.lun?.reservation === true) === true,
    'PersistentReservationNotLiveMigratable',
    text.notMigratable.reservation,
  );

const MACHINE_CHECKS: readonly Check[] = [interfaces, hostModel, hostDevices, confidential, hypervPassthrough];

const failing = (checks: readonly Check[], facts: MigrationFacts): Obstacle[] =>
  checks.flatMap((check) => {
    const obstacle = check(facts);
    return obstacle ? [obstacle] : [];
  });

export function liveMigratable(facts: MigrationFacts): ConditionValue {
  const [first] = failing([...MACHINE_CHECKS, disks], facts);
  return first ? { status: 'False', ...first } : { status: 'True' };
}

export function storageLiveMigratable(facts: MigrationFacts): ConditionValue {
  const all = failing([...MACHINE_CHECKS, reservation], facts);
  if (all.length === 0) return { status: 'True' };
  return { status: 'False', reason: 'NotMigratable', message: all.map(({ reason, message }) => `${reason}: ${message}`).join(', ') };
}

const READ_ONLY_SOURCES = [
  'cloudInitNoCloud',
  'cloudInitConfigDrive',
  'configMap',
  'secret',
  'downwardAPI',
  'serviceAccount',
  'sysprep',
  'downwardMetrics',
] as const satisfies readonly (keyof Volume)[];

/** BlockMigration when disk contents have to be copied to the target. */
export function migrationMethod(vmi: VirtualMachineInstance): 'BlockMigration' | 'LiveMigration' {
  const migrated = new Set((vmi.status?.migratedVolumes ?? []).map((volume) => volume.volumeName));
  const mustCopy = (volume: Volume): boolean => {
    if (migrated.has(volume.name)) return true;
    if (claimOf(volume)) return !isShared(vmi, volume);
    return !volume.hostDisk && !READ_ONLY_SOURCES.some((source) => volume[source] !== undefined);
  };
  return (vmi.spec.volumes ?? []).some(mustCopy) ? 'BlockMigration' : 'LiveMigration';
}
