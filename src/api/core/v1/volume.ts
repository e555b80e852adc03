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
  @IsQuantity()
  @IsOptional()
  capacity?: Quantity;
  @IsString()
  path!: string;
  @IsBoolean()
  @IsOptional()
  shared?: boolean;
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
  @IsString()
  @IsOptional()
  type?: string;
}

export class Volume {
  @ValidateNested()
  @Type(() => CloudInitConfigDriveSource)
  @IsOptional()
  cloudInitConfigDrive?: CloudInitConfigDriveSource;
  @ValidateNested()
  @Type(() => CloudInitNoCloudSource)
  @IsOptional()
  cloudInitNoCloud?: CloudInitNoCloudSource;
  @ValidateNested()
  @Type(() => ConfigMapVolumeSource)
  @IsOptional()
  configMap?: ConfigMapVolumeSource;
  @ValidateNested()
  @Type(() => ContainerDiskSource)
  @IsOptional()
  containerDisk?: ContainerDiskSource;
  @ValidateNested()
  @Type(() => ContainerPathVolumeSource)
  @IsOptional()
  containerPath?: ContainerPathVolumeSource;
  @ValidateNested()
  @Type(() => DataVolumeSource)
  @IsOptional()
  dataVolume?: DataVolumeSource;
  @ValidateNested()
  @Type(() => DownwardAPIVolumeSource)
  @IsOptional()
  downwardAPI?: DownwardAPIVolumeSource;
  @IsObject()
  @IsOptional()
  downwardMetrics?: DownwardMetricsVolumeSource;
  @ValidateNested()
  @Type(() => EmptyDiskSource)
  @IsOptional()
  emptyDisk?: EmptyDiskSource;
  @ValidateNested()
  @Type(() => EphemeralVolumeSource)
  @IsOptional()
  ephemeral?: EphemeralVolumeSource;
  @ValidateNested()
  @Type(() => HostDisk)
  @IsOptional()
  hostDisk?: HostDisk;
  @ValidateNested()
  @Type(() => MemoryDumpVolumeSource)
  @IsOptional()
  memoryDump?: MemoryDumpVolumeSource;
  @IsString()
  name!: string;
  @ValidateNested()
  @Type(() => PersistentVolumeClaimVolumeSource)
  @IsOptional()
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  @ValidateNested()
  @Type(() => SecretVolumeSource)
  @IsOptional()
  secret?: SecretVolumeSource;
  @ValidateNested()
  @Type(() => ServiceAccountVolumeSource)
  @IsOptional()
  serviceAccount?: ServiceAccountVolumeSource;
  @ValidateNested()
  @Type(() => SysprepSource)
  @IsOptional()
  sysprep?: SysprepSource;
}
