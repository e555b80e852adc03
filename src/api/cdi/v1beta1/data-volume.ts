// Data volume: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import {
  LabelSelector,
  PersistentVolumeClaimSpec,
  TypedLocalObjectReference,
  TypedObjectReference,
  VolumeResourceRequirements,
} from '../../kube/storage.js';

export type DataVolumeBlankImage = Record<string, never>;

export class DataVolumeCheckpoint {
  @IsString()
  current!: string;
  @IsString()
  previous!: string;
}

export class DataVolumeSourceGCS {
  @IsString()
  @IsOptional()
  secretRef?: string;
  @IsString()
  url!: string;
}

export class DataVolumeSourceHTTP {
  @IsString()
  @IsOptional()
  certConfigMap?: string;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  extraHeaders?: string[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  secretExtraHeaders?: string[];
  @IsString()
  @IsOptional()
  secretRef?: string;
  @IsString()
  url!: string;
}

export class DataVolumeSourceImageIO {
  @IsString()
  @IsOptional()
  certConfigMap?: string;
  @IsString()
  diskId!: string;
  @IsBoolean()
  @IsOptional()
  insecureSkipVerify?: boolean;
  @IsString()
  @IsOptional()
  secretRef?: string;
  @IsString()
  url!: string;
}

export class DataVolumeSourcePVC {
  @IsString()
  name!: string;
  @IsString()
  namespace!: string;
}

export class PlatformOptions {
  @IsString()
  @IsOptional()
  architecture?: string;
}

export class DataVolumeSourceRegistry {
  @IsString()
  @IsOptional()
  certConfigMap?: string;
  @IsString()
  @IsOptional()
  imageStream?: string;
  @ValidateNested()
  @Type(() => PlatformOptions)
  @IsOptional()
  platform?: PlatformOptions;
  @IsString()
  @IsOptional()
  pullMethod?: string;
  @IsString()
  @IsOptional()
  secretRef?: string;
  @IsString()
  @IsOptional()
  url?: string;
}

export class DataVolumeSourceS3 {
  @IsString()
  @IsOptional()
  certConfigMap?: string;
  @IsString()
  @IsOptional()
  secretRef?: string;
  @IsString()
  url!: string;
}

export class DataVolumeSourceSnapshot {
  @IsString()
  name!: string;
  @IsString()
  namespace!: string;
}

export type DataVolumeSourceUpload = Record<string, never>;

export class DataVolumeSourceVDDK {
  @IsString()
  @IsOptional()
  backingFile?: string;
  @IsString()
  @IsOptional()
  extraArgs?: string;
  @IsString()
  @IsOptional()
  initImageURL?: string;
  @IsString()
  @IsOptional()
  secretRef?: string;
  @IsString()
  @IsOptional()
  thumbprint?: string;
  @IsString()
  @IsOptional()
  url?: string;
  @IsString()
  @IsOptional()
  uuid?: string;
}

export class CdiDataVolumeSource {
  @IsObject()
  @IsOptional()
  blank?: DataVolumeBlankImage;
  @ValidateNested()
  @Type(() => DataVolumeSourceGCS)
  @IsOptional()
  gcs?: DataVolumeSourceGCS;
  @ValidateNested()
  @Type(() => DataVolumeSourceHTTP)
  @IsOptional()
  http?: DataVolumeSourceHTTP;
  @ValidateNested()
  @Type(() => DataVolumeSourceImageIO)
  @IsOptional()
  imageio?: DataVolumeSourceImageIO;
  @ValidateNested()
  @Type(() => DataVolumeSourcePVC)
  @IsOptional()
  pvc?: DataVolumeSourcePVC;
  @ValidateNested()
  @Type(() => DataVolumeSourceRegistry)
  @IsOptional()
  registry?: DataVolumeSourceRegistry;
  @ValidateNested()
  @Type(() => DataVolumeSourceS3)
  @IsOptional()
  s3?: DataVolumeSourceS3;
  @ValidateNested()
  @Type(() => DataVolumeSourceSnapshot)
  @IsOptional()
  snapshot?: DataVolumeSourceSnapshot;
  @IsObject()
  @IsOptional()
  upload?: DataVolumeSourceUpload;
  @ValidateNested()
  @Type(() => DataVolumeSourceVDDK)
  @IsOptional()
  vddk?: DataVolumeSourceVDDK;
}

export class DataVolumeSourceRef {
  @IsString()
  kind!: string;
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  namespace?: string;
}

export class StorageSpec {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  accessModes?: string[];
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  @IsOptional()
  dataSource?: TypedLocalObjectReference;
  @ValidateNested()
  @Type(() => TypedObjectReference)
  @IsOptional()
  dataSourceRef?: TypedObjectReference;
  @ValidateNested()
  @Type(() => VolumeResourceRequirements)
  @IsOptional()
  resources?: VolumeResourceRequirements;
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  selector?: LabelSelector;
  @IsString()
  @IsOptional()
  storageClassName?: string;
  @IsString()
  @IsOptional()
  volumeMode?: string;
  @IsString()
  @IsOptional()
  volumeName?: string;
}

export class DataVolumeSpec {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => DataVolumeCheckpoint)
  @IsOptional()
  checkpoints?: DataVolumeCheckpoint[];
  @IsIn(['kubevirt', 'archive'])
  @IsOptional()
  contentType?: string;
  @IsBoolean()
  @IsOptional()
  finalCheckpoint?: boolean;
  @IsBoolean()
  @IsOptional()
  preallocation?: boolean;
  @IsString()
  @IsOptional()
  priorityClassName?: string;
  @ValidateNested()
  @Type(() => PersistentVolumeClaimSpec)
  @IsOptional()
  pvc?: PersistentVolumeClaimSpec;
  @ValidateNested()
  @Type(() => CdiDataVolumeSource)
  @IsOptional()
  source?: CdiDataVolumeSource;
  @ValidateNested()
  @Type(() => DataVolumeSourceRef)
  @IsOptional()
  sourceRef?: DataVolumeSourceRef;
  @ValidateNested()
  @Type(() => StorageSpec)
  @IsOptional()
  storage?: StorageSpec;
}
