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
  /** open or closed. */
  @IsString()
  @IsOptional()
  tray?: string;
}

export class DiskTarget {
  /** virtio, sata, scsi or usb. */
  @IsString()
  @IsOptional()
  bus?: string;
  /** Where on the PCI bus the guest sees it. */
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
  /** Whether the guest may reserve the device for itself (SCSI persistent reservations). */
  @IsBoolean()
  @IsOptional()
  reservation?: boolean;
}

export class Disk {
  /** Sizes of blocks that the guest sees. */
  @ValidateNested()
  @Type(() => BlockSize)
  @IsOptional()
  blockSize?: BlockSize;
  /** Position among the devices to boot from, beginning with 1. */
  @IsInt()
  @IsOptional()
  bootOrder?: number;
  /** How the host caches: none, writethrough or writeback. */
  @IsString()
  @IsOptional()
  cache?: string;
  /** A CD-ROM drive. */
  @ValidateNested()
  @Type(() => CDRomTarget)
  @IsOptional()
  cdrom?: CDRomTarget;
  /** Whether changes are recorded for incremental backups. */
  @IsBoolean()
  @IsOptional()
  changedBlockTracking?: boolean;
  /** A thread of its own serves this disk. */
  @IsBoolean()
  @IsOptional()
  dedicatedIOThread?: boolean;
  /** A hard disk; what a disk is by default. */
  @ValidateNested()
  @Type(() => DiskTarget)
  @IsOptional()
  disk?: DiskTarget;
  /** What an error of reading or writing does: stop, ignore, report or enospace. */
  @IsString()
  @IsOptional()
  errorPolicy?: string;
  /** How the host reads and writes: native, threads or default. */
  @IsString()
  @IsOptional()
  io?: string;
  /** A SCSI device whose commands the guest sends itself. */
  @ValidateNested()
  @Type(() => LunTarget)
  @IsOptional()
  lun?: LunTarget;
  /** The volume of the same name is its content. */
  @IsString()
  name!: string;
  /** Serial number that the guest sees. */
  @IsString()
  @IsOptional()
  serial?: string;
  /** Whether several machines may write it at the same time. */
  @IsBoolean()
  @IsOptional()
  shareable?: boolean;
  /** Role that the guest reads in its metadata. */
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
  /** Threads that serve the disks together. */
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
