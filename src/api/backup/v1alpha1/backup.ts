// VM backups: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { MetaCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { TypedLocalObjectReference } from '../../kube/storage.js';
import type { Time } from '../../meta.js';
import { IsTime } from '../../schema/decorators.js';

const rule = (text: string, message: string): object => ({ message, rule: text });
const IMMUTABLE = rule('self == oldSelf', 'spec is immutable after creation');
const NAMED = rule("self.name != ''", 'name is required');

@JSONSchema({
  'x-kubernetes-validations': [
    IMMUTABLE,
    rule('has(self.pvcName) && self.pvcName != ""', 'pvcName is required'),
    rule(
      `!has(self.mode) || self.mode != 'Pull' || (has(self.tokenSecretRef) && self.tokenSecretRef != "")`,
      'tokenSecretRef is required when mode is Pull',
    ),
  ],
} as never)
export class VirtualMachineBackupSpec {
  /** Backs up everything although a checkpoint exists. */
  @IsBoolean()
  @IsOptional()
  forceFullBackup?: boolean;
  /** Push writes into pvcName; Pull offers the data for download. */
  @IsIn(['Push', 'Pull'])
  @IsOptional()
  mode?: string;
  /** The claim that takes the backup; with Pull, what the guest writes meanwhile. */
  @IsString()
  @IsOptional()
  pvcName?: string;
  /** Does not freeze the guest's file systems. */
  @IsBoolean()
  @IsOptional()
  skipQuiesce?: boolean;
  /** A VirtualMachine, or a VirtualMachineBackupTracker for incremental backups. */
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  @JSONSchema({
    'x-kubernetes-validations': [
      rule('has(self.apiGroup)', 'apiGroup is required'),
      rule(
        "!has(self.apiGroup) || self.apiGroup == 'kubevirt.io' || self.apiGroup == 'backup.kubevirt.io'",
        'apiGroup must be kubevirt.io or backup.kubevirt.io',
      ),
      rule(
        "!has(self.apiGroup) || (self.apiGroup == 'kubevirt.io' && self.kind == 'VirtualMachine') || (self.apiGroup == 'backup.kubevirt.io' && self.kind == 'VirtualMachineBackupTracker')",
        'kind must be VirtualMachine for kubevirt.io or VirtualMachineBackupTracker for backup.kubevirt.io',
      ),
      NAMED,
    ],
  } as never)
  source!: TypedLocalObjectReference;
  /** Secret with the token that a download needs. */
  @IsString()
  @IsOptional()
  tokenSecretRef?: string;
  /** When a backup in mode Pull ends by itself. */
  @IsString()
  @IsOptional()
  ttlDuration?: string;
}

export class BackupVolumeInfo {
  @IsString()
  @IsOptional()
  dataEndpoint?: string;
  @IsString()
  @IsOptional()
  mapEndpoint?: string;
  @IsString()
  volumeName!: string;
}

export class VirtualMachineBackupStatus {
  @IsString()
  @IsOptional()
  checkpointName?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => MetaCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['type'], 'x-kubernetes-list-type': 'map' })
  conditions?: MetaCondition[];
  @IsString()
  @IsOptional()
  endpointCert?: string;
  @IsString()
  @IsOptional()
  exportUID?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => BackupVolumeInfo)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  includedVolumes?: BackupVolumeInfo[];
  @IsString()
  @IsOptional()
  type?: string;
}

/** Backs up the disks of a running machine, once: wholly or what has changed since a checkpoint. */
export class VirtualMachineBackup extends ApiObject {
  /** What to back up, and where to. */
  @ValidateNested()
  @Type(() => VirtualMachineBackupSpec)
  spec!: VirtualMachineBackupSpec;
  @ValidateNested()
  @Type(() => VirtualMachineBackupStatus)
  @IsOptional()
  status?: VirtualMachineBackupStatus;
}

@JSONSchema({ 'x-kubernetes-validations': [IMMUTABLE] } as never)
export class VirtualMachineBackupTrackerSpec {
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  @JSONSchema({
    'x-kubernetes-validations': [
      rule("has(self.apiGroup) && self.apiGroup == 'kubevirt.io'", 'apiGroup must be kubevirt.io'),
      rule("self.kind == 'VirtualMachine'", 'kind must be VirtualMachine'),
      NAMED,
    ],
  } as never)
  source!: TypedLocalObjectReference;
}

/** The point in the disks' history from which the next incremental backup starts. */
export class BackupCheckpoint {
  @IsTime()
  @IsOptional()
  creationTime?: Time;
  @IsString()
  @IsOptional()
  name?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => BackupVolumeInfo)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumes?: BackupVolumeInfo[];
}

export class VirtualMachineBackupTrackerStatus {
  /** The machine was restarted: libvirt must be told of the checkpoint again. */
  @IsBoolean()
  @IsOptional()
  checkpointRedefinitionRequired?: boolean;
  @ValidateNested()
  @Type(() => BackupCheckpoint)
  @IsOptional()
  latestCheckpoint?: BackupCheckpoint;
}

/** Keeps the checkpoint from which the next incremental backup of a machine starts. */
export class VirtualMachineBackupTracker extends ApiObject {
  /** Which machine. */
  @ValidateNested()
  @Type(() => VirtualMachineBackupTrackerSpec)
  spec!: VirtualMachineBackupTrackerSpec;
  @ValidateNested()
  @Type(() => VirtualMachineBackupTrackerStatus)
  @IsOptional()
  status?: VirtualMachineBackupTrackerStatus;
}
