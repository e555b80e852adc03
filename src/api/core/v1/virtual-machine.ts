// Virtual machine: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { DataVolumeSpec } from '../../cdi/v1beta1/data-volume.js';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
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
  /** A volume whose labels name it, in place of name. */
  @IsString()
  @IsOptional()
  inferFromVolume?: string;
  /** What it means that the volume names none: Reject the machine, or Ignore it. */
  @IsString()
  @IsOptional()
  inferFromVolumeFailurePolicy?: string;
  /** VirtualMachineClusterInstancetype, the default, or VirtualMachineInstancetype. */
  @IsString()
  @IsOptional()
  kind?: string;
  @IsString()
  @IsOptional()
  name?: string;
  /** The ControllerRevision that holds the version in use; set by the controller. */
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
  /** A volume whose labels name it, in place of name. */
  @IsString()
  @IsOptional()
  inferFromVolume?: string;
  /** What it means that the volume names none: Reject the machine, or Ignore it. */
  @IsString()
  @IsOptional()
  inferFromVolumeFailurePolicy?: string;
  /** VirtualMachineClusterPreference, the default, or VirtualMachinePreference. */
  @IsString()
  @IsOptional()
  kind?: string;
  @IsString()
  @IsOptional()
  name?: string;
  /** The ControllerRevision that holds the version in use; set by the controller. */
  @IsString()
  @IsOptional()
  revisionName?: string;
}

export class VirtualMachineInstanceTemplateSpec {
  /** Labels and annotations of the instance. */
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
  /** Data volumes that are made with the machine and go with it. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => DataVolumeTemplateSpec)
  @IsOptional()
  dataVolumeTemplates?: DataVolumeTemplateSpec[];
  /** Where CPU and memory come from instead of the template. */
  @ValidateNested()
  @Type(() => InstancetypeMatcher)
  @IsOptional()
  instancetype?: InstancetypeMatcher;
  /** Where defaults of devices and features come from. */
  @ValidateNested()
  @Type(() => PreferenceMatcher)
  @IsOptional()
  preference?: PreferenceMatcher;
  /** When the machine runs: Always, Halted, Manual, RerunOnFailure, Once or WaitAsReceiver. Not together with running. */
  @IsString()
  @IsOptional()
  runStrategy?: string;
  /** Short for runStrategy Always (true) or Halted (false). Deprecated: use runStrategy. */
  @IsBoolean()
  @IsOptional()
  running?: boolean;
  /** The VirtualMachineInstance that is made at each start. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceTemplateSpec)
  template!: VirtualMachineInstanceTemplateSpec;
  /** What a changed volume of a running machine means: Replacement at the next restart, or Migration of its content while it runs. */
  @IsString()
  @IsOptional()
  updateVolumesStrategy?: string;
}

/** A dump of the guest's memory into a claim. */
@JSONSchema({ nullable: true })
export class VirtualMachineMemoryDumpRequest {
  /** The PersistentVolumeClaim that takes the dump. */
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
  /** Whether the claim is to be taken from the machine again. */
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
  /** Whether changes of disks are recorded for incremental backups. */
  @ValidateNested()
  @Type(() => ChangedBlockTrackingStatus)
  @IsOptional()
  changedBlockTracking?: ChangedBlockTrackingStatus;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  conditions?: ObjectCondition[];
  /** Whether an instance exists. */
  @IsBoolean()
  @IsOptional()
  created?: boolean;
  /** Generation of the spec as it is now. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  desiredGeneration?: number;
  /** The instance type in use, with the revision that keeps it as it was. */
  @ValidateNested()
  @Type(() => InstancetypeStatusRef)
  @IsOptional()
  instancetypeRef?: InstancetypeStatusRef;
  /** The memory dump under way or done. */
  @ValidateNested()
  @Type(() => VirtualMachineMemoryDumpRequest)
  @IsOptional()
  memoryDumpRequest?: VirtualMachineMemoryDumpRequest;
  /** Generation of the spec that the running instance was made from. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  observedGeneration?: number;
  /** The preference in use, with the revision that keeps it as it was. */
  @ValidateNested()
  @Type(() => InstancetypeStatusRef)
  @IsOptional()
  preferenceRef?: InstancetypeStatusRef;
  /** State in one word, for people. */
  @IsString()
  @IsOptional()
  @JSONSchema({ default: 'Stopped' })
  printableStatus?: string;
  /** Whether the instance runs and is ready. */
  @IsBoolean()
  @IsOptional()
  ready?: boolean;
  /** The restore that changes the machine at present. */
  @IsString()
  @IsOptional()
  restoreInProgress?: string;
  /** The run strategy that was last acted upon. */
  @IsString()
  @IsOptional()
  runStrategy?: string;
  /** The snapshot that is taken of the machine at present. */
  @IsString()
  @IsOptional()
  snapshotInProgress?: string;
  /** How often the machine failed to start in a row, and when it is tried again. */
  @ValidateNested()
  @Type(() => VirtualMachineStartFailure)
  @IsOptional()
  startFailure?: VirtualMachineStartFailure;
  /** Starts and stops that users asked for and that are not done yet. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineStateChangeRequest)
  @IsOptional()
  stateChangeRequests?: VirtualMachineStateChangeRequest[];
  /** Volumes to add to or to take from the machine. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineVolumeRequest)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumeRequests?: VirtualMachineVolumeRequest[];
  /** Which volumes a snapshot can hold, and why not. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VolumeSnapshotStatus)
  @IsOptional()
  volumeSnapshotStatuses?: VolumeSnapshotStatus[];
  /** Volumes whose content moves. */
  @ValidateNested()
  @Type(() => VolumeUpdateState)
  @IsOptional()
  volumeUpdateState?: VolumeUpdateState;
}

/** A virtual machine that may run or not: what it is made of, whether it shall run, and what is known of it. */
export class VirtualMachine extends ApiObject {
  /** What the machine is and whether it shall run. */
  @ValidateNested()
  @Type(() => VirtualMachineSpec)
  spec!: VirtualMachineSpec;
  /** What the controllers see; written by them only. */
  @ValidateNested()
  @Type(() => VirtualMachineStatus)
  @IsOptional()
  status?: VirtualMachineStatus;
}
