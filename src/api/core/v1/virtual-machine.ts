// Virtual machine: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { DataVolumeSpec } from '../../cdi/v1beta1/data-volume.js';
import type { ObjectMeta, Time } from '../../meta.js';
import { IsStringMap, IsTime } from '../../schema/decorators.js';
import { AddVolumeOptions, RemoveVolumeOptions } from './disk.js';
import { VirtualMachineInstanceSpec } from './virtual-machine-instance.js';
import { ChangedBlockTrackingStatus, StorageMigratedVolumeInfo } from './virtual-machine-instance-migration-state.js';

export class ControllerRevisionRef {
  @IsString()
  @IsOptional()
  name?: string;
}

export type DataVolumeTemplateDummyStatus = Record<string, never>;

@JSONSchema({ nullable: true })
export class DataVolumeTemplateSpec {
  @IsString()
  @IsOptional()
  apiVersion?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsObject()
  @IsOptional()
  @JSONSchema({ nullable: true, 'x-kubernetes-preserve-unknown-fields': true })
  metadata?: ObjectMeta;
  @ValidateNested()
  @Type(() => DataVolumeSpec)
  spec!: DataVolumeSpec;
  @IsObject()
  @IsOptional()
  @JSONSchema({ nullable: true })
  status?: DataVolumeTemplateDummyStatus;
}

export class InstancetypeMatcher {
  @IsString()
  @IsOptional()
  inferFromVolume?: string;
  @IsString()
  @IsOptional()
  inferFromVolumeFailurePolicy?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsString()
  @IsOptional()
  name?: string;
  @IsString()
  @IsOptional()
  revisionName?: string;
}

@JSONSchema({ nullable: true })
export class InstancetypeStatusRef {
  @ValidateNested()
  @Type(() => ControllerRevisionRef)
  @IsOptional()
  controllerRevisionRef?: ControllerRevisionRef;
  @IsString()
  @IsOptional()
  inferFromVolume?: string;
  @IsString()
  @IsOptional()
  inferFromVolumeFailurePolicy?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsString()
  @IsOptional()
  name?: string;
}

export class PreferenceMatcher {
  @IsString()
  @IsOptional()
  inferFromVolume?: string;
  @IsString()
  @IsOptional()
  inferFromVolumeFailurePolicy?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsString()
  @IsOptional()
  name?: string;
  @IsString()
  @IsOptional()
  revisionName?: string;
}

export class VirtualMachineInstanceTemplateSpec {
  @IsObject()
  @IsOptional()
  @JSONSchema({ nullable: true, 'x-kubernetes-preserve-unknown-fields': true })
  metadata?: ObjectMeta;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceSpec)
  @IsOptional()
  spec?: VirtualMachineInstanceSpec;
}

export class VirtualMachineSpec {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => DataVolumeTemplateSpec)
  @IsOptional()
  dataVolumeTemplates?: DataVolumeTemplateSpec[];
  @ValidateNested()
  @Type(() => InstancetypeMatcher)
  @IsOptional()
  instancetype?: InstancetypeMatcher;
  @ValidateNested()
  @Type(() => PreferenceMatcher)
  @IsOptional()
  preference?: PreferenceMatcher;
  @IsString()
  @IsOptional()
  runStrategy?: string;
  @IsBoolean()
  @IsOptional()
  running?: boolean;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceTemplateSpec)
  template!: VirtualMachineInstanceTemplateSpec;
  @IsString()
  @IsOptional()
  updateVolumesStrategy?: string;
}

export class VirtualMachineCondition {
  @IsTime({ nullable: true })
  @IsOptional()
  lastProbeTime?: Time;
  @IsTime({ nullable: true })
  @IsOptional()
  lastTransitionTime?: Time;
  @IsString()
  @IsOptional()
  message?: string;
  @IsString()
  @IsOptional()
  reason?: string;
  @IsString()
  status!: string;
  @IsString()
  type!: string;
}

@JSONSchema({ nullable: true })
export class VirtualMachineMemoryDumpRequest {
  @IsString()
  claimName!: string;
  @IsTime()
  @IsOptional()
  endTimestamp?: Time;
  @IsString()
  @IsOptional()
  fileName?: string;
  @IsString()
  @IsOptional()
  message?: string;
  @IsString()
  phase!: string;
  @IsBoolean()
  @IsOptional()
  remove?: boolean;
  @IsTime()
  @IsOptional()
  startTimestamp?: Time;
}

@JSONSchema({ nullable: true })
export class VirtualMachineStartFailure {
  @IsInt()
  @IsOptional()
  consecutiveFailCount?: number;
  @IsString()
  @IsOptional()
  lastFailedVMIUID?: string;
  @IsTime()
  @IsOptional()
  retryAfterTimestamp?: Time;
}

export class VirtualMachineStateChangeRequest {
  @IsString()
  action!: string;
  @IsStringMap()
  @IsOptional()
  data?: Record<string, string>;
  @IsString()
  @IsOptional()
  uid?: string;
}

export class VirtualMachineVolumeRequest {
  @ValidateNested()
  @Type(() => AddVolumeOptions)
  @IsOptional()
  addVolumeOptions?: AddVolumeOptions;
  @ValidateNested()
  @Type(() => RemoveVolumeOptions)
  @IsOptional()
  removeVolumeOptions?: RemoveVolumeOptions;
}

export class VolumeSnapshotStatus {
  @IsBoolean()
  enabled!: boolean;
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  reason?: string;
}

export class VolumeMigrationState {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => StorageMigratedVolumeInfo)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  migratedVolumes?: StorageMigratedVolumeInfo[];
}

export class VolumeUpdateState {
  @ValidateNested()
  @Type(() => VolumeMigrationState)
  @IsOptional()
  volumeMigrationState?: VolumeMigrationState;
}

export class VirtualMachineStatus {
  @ValidateNested()
  @Type(() => ChangedBlockTrackingStatus)
  @IsOptional()
  changedBlockTracking?: ChangedBlockTrackingStatus;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineCondition)
  @IsOptional()
  conditions?: VirtualMachineCondition[];
  @IsBoolean()
  @IsOptional()
  created?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  desiredGeneration?: number;
  @ValidateNested()
  @Type(() => InstancetypeStatusRef)
  @IsOptional()
  instancetypeRef?: InstancetypeStatusRef;
  @ValidateNested()
  @Type(() => VirtualMachineMemoryDumpRequest)
  @IsOptional()
  memoryDumpRequest?: VirtualMachineMemoryDumpRequest;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  observedGeneration?: number;
  @ValidateNested()
  @Type(() => InstancetypeStatusRef)
  @IsOptional()
  preferenceRef?: InstancetypeStatusRef;
  @IsString()
  @IsOptional()
  @JSONSchema({ default: 'Stopped' })
  printableStatus?: string;
  @IsBoolean()
  @IsOptional()
  ready?: boolean;
  @IsString()
  @IsOptional()
  restoreInProgress?: string;
  @IsString()
  @IsOptional()
  runStrategy?: string;
  @IsString()
  @IsOptional()
  snapshotInProgress?: string;
  @ValidateNested()
  @Type(() => VirtualMachineStartFailure)
  @IsOptional()
  startFailure?: VirtualMachineStartFailure;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineStateChangeRequest)
  @IsOptional()
  stateChangeRequests?: VirtualMachineStateChangeRequest[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineVolumeRequest)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumeRequests?: VirtualMachineVolumeRequest[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VolumeSnapshotStatus)
  @IsOptional()
  volumeSnapshotStatuses?: VolumeSnapshotStatus[];
  @ValidateNested()
  @Type(() => VolumeUpdateState)
  @IsOptional()
  volumeUpdateState?: VolumeUpdateState;
}

export class VirtualMachine {
  @IsString()
  @IsOptional()
  apiVersion?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsObject()
  @IsOptional()
  metadata!: ObjectMeta;
  @ValidateNested()
  @Type(() => VirtualMachineSpec)
  spec!: VirtualMachineSpec;
  @ValidateNested()
  @Type(() => VirtualMachineStatus)
  @IsOptional()
  status?: VirtualMachineStatus;
}
