// Contents of VM snapshots: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { VirtualMachineSpec, VirtualMachineStatus } from '../../core/v1/virtual-machine.js';
import { ApiObject } from '../../kube/object.js';
import { PersistentVolumeClaimSpec } from '../../kube/storage.js';
import type { ObjectMeta, Time } from '../../meta.js';
import { IsTime } from '../../schema/decorators.js';
import { SnapshotError } from './snapshot.js';

export class SnapshotVirtualMachine {
  @IsObject()
  @IsOptional()
  @JSONSchema({ nullable: true, 'x-kubernetes-preserve-unknown-fields': true })
  metadata?: ObjectMeta;
  @ValidateNested()
  @Type(() => VirtualMachineSpec)
  @IsOptional()
  spec?: VirtualMachineSpec;
  @ValidateNested()
  @Type(() => VirtualMachineStatus)
  @IsOptional()
  status?: VirtualMachineStatus;
}

export class SnapshotContentSource {
  @ValidateNested()
  @Type(() => SnapshotVirtualMachine)
  @IsOptional()
  virtualMachine?: SnapshotVirtualMachine;
}

export class SnapshotPersistentVolumeClaim {
  @IsObject()
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-preserve-unknown-fields': true })
  metadata?: ObjectMeta;
  @ValidateNested()
  @Type(() => PersistentVolumeClaimSpec)
  @IsOptional()
  spec?: PersistentVolumeClaimSpec;
}

export class VolumeBackup {
  @ValidateNested()
  @Type(() => SnapshotPersistentVolumeClaim)
  persistentVolumeClaim!: SnapshotPersistentVolumeClaim;
  @IsString()
  volumeName!: string;
  @IsString()
  @IsOptional()
  volumeSnapshotName?: string;
}

export class VirtualMachineSnapshotContentSpec {
  /** The machine as it was. */
  @ValidateNested()
  @Type(() => SnapshotContentSource)
  source!: SnapshotContentSource;
  @IsString()
  @IsOptional()
  virtualMachineSnapshotName?: string;
  /** Claims as they were, with the VolumeSnapshots of their content. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VolumeBackup)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumeBackups?: VolumeBackup[];
}

export class SnapshotContentVolumeStatus {
  @IsTime({ nullable: true })
  @IsOptional()
  creationTime?: Time;
  @ValidateNested()
  @Type(() => SnapshotError)
  @IsOptional()
  error?: SnapshotError;
  @IsBoolean()
  @IsOptional()
  readyToUse?: boolean;
  @IsString()
  volumeSnapshotName!: string;
}

export class VirtualMachineSnapshotContentStatus {
  @IsTime({ nullable: true })
  @IsOptional()
  creationTime?: Time;
  @ValidateNested()
  @Type(() => SnapshotError)
  @IsOptional()
  error?: SnapshotError;
  @IsBoolean()
  @IsOptional()
  readyToUse?: boolean;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => SnapshotContentVolumeStatus)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumeSnapshotStatus?: SnapshotContentVolumeStatus[];
}

/** What a snapshot holds: the machine's definition and the snapshots of its volumes. Made by the controller. */
export class VirtualMachineSnapshotContent extends ApiObject {
  @ValidateNested()
  @Type(() => VirtualMachineSnapshotContentSpec)
  spec!: VirtualMachineSnapshotContentSpec;
  @ValidateNested()
  @Type(() => VirtualMachineSnapshotContentStatus)
  @IsOptional()
  status?: VirtualMachineSnapshotContentStatus;
}
