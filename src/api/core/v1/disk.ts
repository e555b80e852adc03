// Disk: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { FeatureState } from './features.js';
import { DataVolumeSource, PersistentVolumeClaimVolumeSource } from './volume.js';

export class CustomBlockSize {
  @IsInt()
  @IsOptional()
  discardGranularity?: number;
  @IsInt()
  @IsOptional()
  logical?: number;
  @IsInt()
  @IsOptional()
  physical?: number;
}

export class BlockSize {
  @ValidateNested()
  @Type(() => CustomBlockSize)
  @IsOptional()
  custom?: CustomBlockSize;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  matchVolume?: FeatureState;
}

export class CDRomTarget {
  @IsString()
  @IsOptional()
  bus?: string;
  @IsBoolean()
  @IsOptional()
  readonly?: boolean;
  @IsString()
  @IsOptional()
  tray?: string;
}

export class DiskTarget {
  @IsString()
  @IsOptional()
  bus?: string;
  @IsString()
  @IsOptional()
  pciAddress?: string;
  @IsBoolean()
  @IsOptional()
  readonly?: boolean;
}

export class LunTarget {
  @IsString()
  @IsOptional()
  bus?: string;
  @IsBoolean()
  @IsOptional()
  readonly?: boolean;
  @IsBoolean()
  @IsOptional()
  reservation?: boolean;
}

export class Disk {
  @ValidateNested()
  @Type(() => BlockSize)
  @IsOptional()
  blockSize?: BlockSize;
  @IsInt()
  @IsOptional()
  bootOrder?: number;
  @IsString()
  @IsOptional()
  cache?: string;
  @ValidateNested()
  @Type(() => CDRomTarget)
  @IsOptional()
  cdrom?: CDRomTarget;
  @IsBoolean()
  @IsOptional()
  changedBlockTracking?: boolean;
  @IsBoolean()
  @IsOptional()
  dedicatedIOThread?: boolean;
  @ValidateNested()
  @Type(() => DiskTarget)
  @IsOptional()
  disk?: DiskTarget;
  @IsString()
  @IsOptional()
  errorPolicy?: string;
  @IsString()
  @IsOptional()
  io?: string;
  @ValidateNested()
  @Type(() => LunTarget)
  @IsOptional()
  lun?: LunTarget;
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  serial?: string;
  @IsBoolean()
  @IsOptional()
  shareable?: boolean;
  @IsString()
  @IsOptional()
  tag?: string;
}

export class HotplugVolumeSource {
  @ValidateNested()
  @Type(() => DataVolumeSource)
  @IsOptional()
  dataVolume?: DataVolumeSource;
  @ValidateNested()
  @Type(() => PersistentVolumeClaimVolumeSource)
  @IsOptional()
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
}

export class AddVolumeOptions {
  @ValidateNested()
  @Type(() => Disk)
  disk!: Disk;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  dryRun?: string[];
  @IsString()
  name!: string;
  @ValidateNested()
  @Type(() => HotplugVolumeSource)
  volumeSource!: HotplugVolumeSource;
}

export class DiskIOThreads {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  supplementalPoolThreadCount?: number;
}

export type FilesystemVirtiofs = Record<string, never>;

export class Filesystem {
  @IsString()
  name!: string;
  @IsObject()
  virtiofs!: FilesystemVirtiofs;
}

export class RemoveVolumeOptions {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  dryRun?: string[];
  @IsString()
  name!: string;
}
