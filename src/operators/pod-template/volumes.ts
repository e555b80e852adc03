// The VMI's own volumes as volumes of its pod, and where compute sees them. One function a kind of source; disks that only live inside the
// launcher (emptyDisk, inline cloud-init) need nothing here. Hotplugged volumes come with an attachment pod instead.
import { posix } from 'node:path';
import type { PodVolume, VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { isHotpluggable } from '../../core/storage/hotpluggable.js';
import {
  accessCredentialDir,
  type ConfigKind,
  configPaths,
  DOWNWARD_METRICS_MOUNT,
  secretDir,
  volumeDir,
} from '../../core/storage/paths.js';
import type { PodContext } from './context.js';
import { combine, type Parts, type VolumeMount } from './parts.js';

export type Volume = NonNullable<VirtualMachineInstance['spec']['volumes']>[number];

interface Situation {
  readonly ctx: PodContext;
  /** Shown to the guest by a virtiofs daemon in a container of its own; compute need not see it. */
  readonly isFilesystem: boolean;
}

type Source = (volume: Volume, at: Situation) => Parts | undefined;

export const isHotplugged = (vmi: VirtualMachineInstance, volume: Volume): boolean =>
  isHotpluggable(volume) ||
  volume.memoryDump !== undefined ||
  (vmi.status?.volumeStatus?.some((status) => status.name === volume.name && status.hotplugVolume !== undefined) ?? false);

export function isBlockClaim(claim: string, { pvcs }: Pick<PodContext, 'pvcs'>): boolean {
  const pvc = pvcs.get(claim);
  if (!pvc) throw new KvError('NotFound', `PVC ${claim} does not exist, waiting for it to appear`, { reason: 'FailedPvcNotFound' });
  return pvc.spec?.volumeMode === 'Block';
}

export const claimVolume = (name: string, claimName: string, readOnly?: boolean): PodVolume => ({
  name,
  persistentVolumeClaim: { claimName, ...(readOnly === undefined ? {} : { readOnly }) },
});

function claim(volume: Volume, claimName: string, { ctx, isFilesystem }: Situation, readOnly?: boolean): Parts {
  const volumes = [claimVolume(volume.name, claimName, readOnly)];
  const isBlock = isBlockClaim(claimName, ctx);
  if (isBlock && isFilesystem) {
    const message = `PVC ${claimName} of volume ${volume.name} is a block device and cannot be shared as a filesystem`;
    throw new KvError('Invalid', `${message}: make it a disk, or use a claim with volumeMode Filesystem`, { reason: 'WrongVolumeMode' });
  }
  return isBlock
    ? { volumes, devices: [{ name: volume.name, devicePath: `/dev/${volume.name}` }] }
    : { volumes, mounts: [{ name: volume.name, mountPath: volumeDir(volume.name) }] };
}

const persistentVolumeClaim: Source = (volume, at) => {
  const source = volume.persistentVolumeClaim ?? volume.ephemeral?.persistentVolumeClaim;
  return source && claim(volume, source.claimName, at, source.readOnly);
};

const dataVolume: Source = (volume, at) => volume.dataVolume && claim(volume, volume.dataVolume.name, at);

const hostDisk: Source = (volume) => {
  if (!volume.hostDisk) return undefined;
  const type = volume.hostDisk.type === 'DiskOrCreate' ? 'DirectoryOrCreate' : 'Directory';
  return {
    volumes: [{ name: volume.name, hostPath: { path: posix.dirname(volume.hostDisk.path), type } }],
    mounts: [{ name: volume.name, mountPath: volumeDir(volume.name) }],
  };
};

const readOnlyMount = (name: string, mountPath: string): VolumeMount => ({ name, mountPath, readOnly: true });

const optional = (value: boolean | undefined): { optional?: boolean } => (value === undefined ? {} : { optional: value });

/** Files that become a disk of their own: compute reads them, unless a virtiofs daemon shows them. */
const asFiles = (volume: Volume, source: PodVolume, kind: ConfigKind, { isFilesystem }: Situation): Parts => ({
  volumes: [source],
  ...(isFilesystem ? {} : { mounts: [readOnlyMount(volume.name, configPaths(kind, volume.name).source)] }),
});

const configMap: Source = (volume, at) => {
  const { name, configMap: source } = volume;
  return source && asFiles(volume, { name, configMap: { ...named('name', source.name), ...optional(source.optional) } }, 'configMap', at);
};

const secret: Source = (volume, at) => {
  const { name, secret: source } = volume;
  return (
    source && asFiles(volume, { name, secret: { ...named('secretName', source.secretName), ...optional(source.optional) } }, 'secret', at)
  );
};

const downwardApi: Source = (volume, at) => {
  const { name, downwardAPI: source } = volume;
  const items = source?.fields as NonNullable<PodVolume['downwardAPI']>['items'];
  return source && asFiles(volume, { name, downwardAPI: items === undefined ? {} : { items } }, 'downwardAPI', at);
};

const named = <K extends string>(key: K, value: string | undefined): { [P in K]?: string } =>
  (value ? { [key]: value } : {}) as { [P in K]?: string };

const sysprep: Source = ({ name, sysprep: source }) => {
  if (!source) return undefined;
  const mounts = [readOnlyMount(name, configPaths('sysprep', name).source)];
  if (source.secret) return { volumes: [{ name, secret: named('secretName', source.secret.name) }], mounts };
  if (source.configMap) return { volumes: [{ name, configMap: named('name', source.configMap.name) }], mounts };
  throw new KvError('Invalid', `Sysprep must have Secret or ConfigMap reference set: volume ${name} has neither`, {
    reason: 'SysprepEmpty',
  });
};

/** Both spellings of the key are accepted, so both are offered: an absent key mounts as an empty directory. */
function secretFiles(volume: string, secretName: string | undefined, suffix: string, keys: readonly string[]): Parts {
  const name = `${volume}-${suffix}`;
  return {
    volumes: [{ name, secret: named('secretName', secretName) }],
    mounts: keys.map((key) => ({ ...readOnlyMount(name, posix.join(secretDir(volume), key)), subPath: key })),
  };
}

const cloudInit: Source = ({ name, cloudInitNoCloud, cloudInitConfigDrive }) => {
  const source = cloudInitNoCloud ?? cloudInitConfigDrive;
  if (!source) return undefined;
  const { secretRef, networkDataSecretRef } = source;
  return combine([
    ...(secretRef ? [secretFiles(name, secretRef.name, 'udata', ['userdata', 'userData'])] : []),
    ...(networkDataSecretRef ? [secretFiles(name, networkDataSecretRef.name, 'ndata', ['networkdata', 'networkData'])] : []),
  ]);
};

const downwardMetrics: Source = ({ name, downwardMetrics: source }) =>
  source && {
    volumes: [{ name, emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
    mounts: [{ name, mountPath: DOWNWARD_METRICS_MOUNT }],
  };

const SOURCES: readonly Source[] = [
  persistentVolumeClaim,
  dataVolume,
  hostDisk,
  configMap,
  secret,
  downwardApi,
  sysprep,
  cloudInit,
  downwardMetrics,
];

function accessCredentials({ spec }: VirtualMachineInstance): Parts {
  const names = (spec.accessCredentials ?? []).flatMap(({ sshPublicKey, userPassword }) => {
    const source = sshPublicKey?.source ?? userPassword?.source;
    return source?.secret?.secretName ?? [];
  });
  const volume = (secretName: string): string => `${secretName}-access-cred`;
  return {
    volumes: names.map((secretName) => ({ name: volume(secretName), secret: { secretName } })),
    mounts: names.map((secretName) => readOnlyMount(volume(secretName), accessCredentialDir(secretName))),
  };
}

/** Throws NotFound while a claim is missing, Invalid for a volume that names nothing. */
export function vmiVolumes(vmi: VirtualMachineInstance, ctx: PodContext): Parts {
  const filesystems = new Set((vmi.spec.domain.devices.filesystems ?? []).map(({ name }) => name));
  const volumes = (vmi.spec.volumes ?? []).filter((volume) => !isHotplugged(vmi, volume));
  const parts = volumes.flatMap((volume) =>
    SOURCES.flatMap((source) => source(volume, { ctx, isFilesystem: filesystems.has(volume.name) }) ?? []),
  );
  return combine([...parts, accessCredentials(vmi)]);
}
