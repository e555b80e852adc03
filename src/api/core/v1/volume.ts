// Volume: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { LocalObjectReference } from '../../kube/pod.js';
import { CorePersistentVolumeClaimVolumeSource, DownwardAPIVolumeFile } from '../../kube/storage.js';
import type { Quantity } from '../../meta.js';
import { IsQuantity } from '../../schema/decorators.js';

export class CloudInitConfigDriveSource {
  @IsString()
  @IsOptional()
  networkData?: string;
  @IsString()
  @IsOptional()
  networkDataBase64?: string;
  @ValidateNested()
  @Type(() => LocalObjectReference)
  @IsOptional()
  networkDataSecretRef?: LocalObjectReference;
  @ValidateNested()
  @Type(() => LocalObjectReference)
  @IsOptional()
  secretRef?: LocalObjectReference;
  @IsString()
  @IsOptional()
  userData?: string;
  @IsString()
  @IsOptional()
  userDataBase64?: string;
}

export class CloudInitNoCloudSource {
  @IsString()
  @IsOptional()
  networkData?: string;
  @IsString()
  @IsOptional()
  networkDataBase64?: string;
  @ValidateNested()
  @Type(() => LocalObjectReference)
  @IsOptional()
  networkDataSecretRef?: LocalObjectReference;
  @ValidateNested()
  @Type(() => LocalObjectReference)
  @IsOptional()
  secretRef?: LocalObjectReference;
  @IsString()
  @IsOptional()
  userData?: string;
  @IsString()
  @IsOptional()
  userDataBase64?: string;
}

@JSONSchema({ 'x-kubernetes-map-type': 'atomic' })
export class ConfigMapVolumeSource {
  @IsString()
  @IsOptional()
  @JSONSchema({ default: '' })
  name?: string;
  @IsBoolean()
  @IsOptional()
  optional?: boolean;
  @IsString()
  @IsOptional()
  volumeLabel?: string;
}

export class ContainerDiskSource {
  @IsString()
  image!: string;
  @IsString()
  @IsOptional()
  imagePullPolicy?: string;
  @IsString()
  @IsOptional()
  imagePullSecret?: string;
  /** Where the image lies in the container image; by default the only file in /disk. */
  @IsString()
  @IsOptional()
  path?: string;
}

export class ContainerPathVolumeSource {
  @IsString()
  @JSONSchema({
    maxLength: 4096,
    'x-kubernetes-validations': [
      { message: "path must be absolute (start with '/')", rule: "self.startsWith('/')" },
      { message: "path must not contain '..'", rule: "!self.contains('..')" },
    ],
  })
  path!: string;
  @IsBoolean()
  @IsOptional()
  @JSONSchema({
    default: true,
    'x-kubernetes-validations': [{ message: 'readOnly must be true, write access is not supported', rule: 'self == true' }],
  })
  readOnly?: boolean;
}

export class DataVolumeSource {
  @IsBoolean()
  @IsOptional()
  hotpluggable?: boolean;
  @IsString()
  name!: string;
}

export class DownwardAPIVolumeSource {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => DownwardAPIVolumeFile)
  @IsOptional()
  fields?: DownwardAPIVolumeFile[];
  @IsString()
  @IsOptional()
  volumeLabel?: string;
}

export type DownwardMetricsVolumeSource = Record<string, never>;

export class EmptyDiskSource {
  @IsQuantity()
  capacity!: Quantity;
}

export class EphemeralVolumeSource {
  @ValidateNested()
  @Type(() => CorePersistentVolumeClaimVolumeSource)
  @IsOptional()
  persistentVolumeClaim?: CorePersistentVolumeClaimVolumeSource;
}

export class HostDisk {
  /** Size of a file that is made. */
  @IsQuantity()
  @IsOptional()
  capacity?: Quantity;
  @IsString()
  path!: string;
  /** Whether all nodes see the same file. */
  @IsBoolean()
  @IsOptional()
  shared?: boolean;
  /** Disk: the file exists. DiskOrCreate: it is made if it does not. */
  @IsString()
  type!: string;
}

export class MemoryDumpVolumeSource {
  @IsString()
  claimName!: string;
  @IsBoolean()
  @IsOptional()
  hotpluggable?: boolean;
  @IsBoolean()
  @IsOptional()
  readOnly?: boolean;
}

export class PersistentVolumeClaimVolumeSource {
  @IsString()
  claimName!: string;
  @IsBoolean()
  @IsOptional()
  hotpluggable?: boolean;
  @IsBoolean()
  @IsOptional()
  readOnly?: boolean;
}

export class SecretVolumeSource {
  @IsBoolean()
  @IsOptional()
  optional?: boolean;
  @IsString()
  @IsOptional()
  secretName?: string;
  @IsString()
  @IsOptional()
  volumeLabel?: string;
}

export class ServiceAccountVolumeSource {
  @IsString()
  @IsOptional()
  serviceAccountName?: string;
}

export class SysprepSource {
  @ValidateNested()
  @Type(() => LocalObjectReference)
  @IsOptional()
  configMap?: LocalObjectReference;
  @ValidateNested()
  @Type(() => LocalObjectReference)
  @IsOptional()
  secret?: LocalObjectReference;
}

export class UtilityVolume {
  @IsString()
  claimName!: string;
  @IsString()
  name!: string;
  @IsBoolean()
  @IsOptional()
  readOnly?: boolean;
  /** What it is for: MemoryDump or Backup. */
  @IsString()
  @IsOptional()
  type?: string;
}

/** Where the content of a disk or file system comes from: exactly one source. */
export class Volume {
  /** Cloud-init data as a drive of the kind that OpenStack uses. */
  @ValidateNested()
  @Type(() => CloudInitConfigDriveSource)
  @IsOptional()
  cloudInitConfigDrive?: CloudInitConfigDriveSource;
  /** Cloud-init data as a small disk. */
  @ValidateNested()
  @Type(() => CloudInitNoCloudSource)
  @IsOptional()
  cloudInitNoCloud?: CloudInitNoCloudSource;
  /** Files of a ConfigMap. */
  @ValidateNested()
  @Type(() => ConfigMapVolumeSource)
  @IsOptional()
  configMap?: ConfigMapVolumeSource;
  /** A disk image that a container image carries; changes are lost when the instance ends. */
  @ValidateNested()
  @Type(() => ContainerDiskSource)
  @IsOptional()
  containerDisk?: ContainerDiskSource;
  /** A directory of the pod, shared with the guest. */
  @ValidateNested()
  @Type(() => ContainerPathVolumeSource)
  @IsOptional()
  containerPath?: ContainerPathVolumeSource;
  /** A claim that CDI fills. */
  @ValidateNested()
  @Type(() => DataVolumeSource)
  @IsOptional()
  dataVolume?: DataVolumeSource;
  /** Files with fields of the instance. */
  @ValidateNested()
  @Type(() => DownwardAPIVolumeSource)
  @IsOptional()
  downwardAPI?: DownwardAPIVolumeSource;
  @IsObject()
  @IsOptional()
  downwardMetrics?: DownwardMetricsVolumeSource;
  /** An empty disk that goes with the instance. */
  @ValidateNested()
  @Type(() => EmptyDiskSource)
  @IsOptional()
  emptyDisk?: EmptyDiskSource;
  /** A claim that is read only: changes are lost when the instance ends. */
  @ValidateNested()
  @Type(() => EphemeralVolumeSource)
  @IsOptional()
  ephemeral?: EphemeralVolumeSource;
  /** A file on the node. */
  @ValidateNested()
  @Type(() => HostDisk)
  @IsOptional()
  hostDisk?: HostDisk;
  /** Takes dumps of the guest's memory. */
  @ValidateNested()
  @Type(() => MemoryDumpVolumeSource)
  @IsOptional()
  memoryDump?: MemoryDumpVolumeSource;
  @IsString()
  name!: string;
  /** A claim in the same namespace. */
  @ValidateNested()
  @Type(() => PersistentVolumeClaimVolumeSource)
  @IsOptional()
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  /** Files of a Secret. */
  @ValidateNested()
  @Type(() => SecretVolumeSource)
  @IsOptional()
  secret?: SecretVolumeSource;
  /** Token and certificate of a service account. */
  @ValidateNested()
  @Type(() => ServiceAccountVolumeSource)
  @IsOptional()
  serviceAccount?: ServiceAccountVolumeSource;
  /** Answer files for the set-up of Windows. */
  @ValidateNested()
  @Type(() => SysprepSource)
  @IsOptional()
  sysprep?: SysprepSource;
}
