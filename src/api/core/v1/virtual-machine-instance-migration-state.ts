// Virtual machine instance migration state: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { Quantity, Time } from '../../meta.js';
import { IsIntMap, IsQuantity, IsQuantityMap, IsStringMap, IsTime } from '../../schema/decorators.js';
import { ExperimentalMigrationOptions } from './migration-configuration.js';

export class VirtualMachineInstanceBackupVolumeInfo {
  @IsString()
  volumeName!: string;
}

@JSONSchema({ nullable: true })
export class VirtualMachineInstanceBackupStatus {
  @IsString()
  @IsOptional()
  backupMsg?: string;
  @IsString()
  @IsOptional()
  backupName?: string;
  @IsString()
  @IsOptional()
  checkpointName?: string;
  @IsBoolean()
  @IsOptional()
  completed?: boolean;
  @IsTime()
  @IsOptional()
  endTimestamp?: Time;
  @IsBoolean()
  @IsOptional()
  failed?: boolean;
  @IsString()
  @IsOptional()
  quiesceStatus?: string;
  @IsTime()
  @IsOptional()
  startTimestamp?: Time;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstanceBackupVolumeInfo)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumes?: VirtualMachineInstanceBackupVolumeInfo[];
}

@JSONSchema({ nullable: true })
export class ChangedBlockTrackingStatus {
  @ValidateNested()
  @Type(() => VirtualMachineInstanceBackupStatus)
  @IsOptional()
  backupStatus?: VirtualMachineInstanceBackupStatus;
  @IsString()
  state!: string;
}

export class PersistentVolumeClaimInfo {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  accessModes?: string[];
  @IsQuantityMap()
  @IsOptional()
  capacity?: Record<string, Quantity>;
  @IsString()
  @IsOptional()
  claimName?: string;
  @IsString()
  @IsOptional()
  @JSONSchema({ pattern: '^(0(?:\\.\\d{1,3})?|1)$' })
  filesystemOverhead?: string;
  @IsBoolean()
  @IsOptional()
  preallocated?: boolean;
  @IsQuantityMap()
  @IsOptional()
  requests?: Record<string, Quantity>;
  @IsString()
  @IsOptional()
  volumeMode?: string;
}

export class StorageMigratedVolumeInfo {
  @ValidateNested()
  @Type(() => PersistentVolumeClaimInfo)
  @IsOptional()
  destinationPVCInfo?: PersistentVolumeClaimInfo;
  @ValidateNested()
  @Type(() => PersistentVolumeClaimInfo)
  @IsOptional()
  sourcePVCInfo?: PersistentVolumeClaimInfo;
  @IsString()
  volumeName!: string;
}

export class VMIMConfigurationOptions {
  @IsBoolean()
  @IsOptional()
  allowAutoConverge?: boolean;
  @IsBoolean()
  @IsOptional()
  allowPostCopy?: boolean;
  @IsBoolean()
  @IsOptional()
  allowWorkloadDisruption?: boolean;
  @IsQuantity()
  @IsOptional()
  bandwidthPerMigration?: Quantity;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  completionTimeoutPerGiB?: number;
  @IsBoolean()
  @IsOptional()
  disableTLS?: boolean;
  @ValidateNested()
  @Type(() => ExperimentalMigrationOptions)
  @IsOptional()
  experimental?: ExperimentalMigrationOptions;
  @IsBoolean()
  @IsOptional()
  matchSELinuxLevelOnMigration?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', maximum: 2000000, minimum: 1 })
  maxDowntimeMs?: number;
  @IsString()
  @IsOptional()
  network?: string;
  @IsString()
  @IsOptional()
  nodeDrainTaintKey?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  parallelMigrationsPerCluster?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  parallelOutboundMigrationsPerNode?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  progressTimeout?: number;
  @IsBoolean()
  @IsOptional()
  unsafeMigrationOverride?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  utilityVolumesTimeout?: number;
}

export class VirtualMachineInstanceMigrationSourceState {
  @IsString()
  @IsOptional()
  domainName?: string;
  @IsString()
  @IsOptional()
  domainNamespace?: string;
  @IsString()
  @IsOptional()
  migrationUID?: string;
  @IsString()
  @IsOptional()
  node?: string;
  @IsStringMap()
  @IsOptional()
  nodeSelectors?: Record<string, string>;
  @IsString()
  @IsOptional()
  persistentStatePVCName?: string;
  @IsString()
  @IsOptional()
  pod?: string;
  @IsString()
  @IsOptional()
  selinuxContext?: string;
  @IsString()
  @IsOptional()
  syncAddress?: string;
  @IsString()
  @IsOptional()
  virtualMachineInstanceUID?: string;
}

export class VirtualMachineInstanceMigrationTargetState {
  @IsString()
  @IsOptional()
  attachmentPodUID?: string;
  @IsArray()
  @IsInt({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  cpuSet?: number[];
  @IsIntMap()
  @IsOptional()
  directMigrationNodePorts?: Record<string, number>;
  @IsBoolean()
  @IsOptional()
  domainDetected?: boolean;
  @IsString()
  @IsOptional()
  domainName?: string;
  @IsString()
  @IsOptional()
  domainNamespace?: string;
  @IsTime()
  @IsOptional()
  domainReadyTimestamp?: Time;
  @IsString()
  @IsOptional()
  migrationUID?: string;
  @IsString()
  @IsOptional()
  node?: string;
  @IsString()
  @IsOptional()
  nodeAddress?: string;
  @IsString()
  @IsOptional()
  nodeTopology?: string;
  @IsString()
  @IsOptional()
  persistentStatePVCName?: string;
  @IsString()
  @IsOptional()
  pod?: string;
  @IsString()
  @IsOptional()
  selinuxContext?: string;
  @IsString()
  @IsOptional()
  syncAddress?: string;
  @IsString()
  @IsOptional()
  virtualMachineInstanceUID?: string;
}

export class VirtualMachineInstanceMigrationState {
  @IsBoolean()
  @IsOptional()
  abortRequested?: boolean;
  /** Of a migration that was cancelled: Aborting, Succeeded or Failed. */
  @IsString()
  @IsOptional()
  abortStatus?: string;
  @IsBoolean()
  @IsOptional()
  completed?: boolean;
  @IsTime({ nullable: true })
  @IsOptional()
  endTimestamp?: Time;
  @IsBoolean()
  @IsOptional()
  failed?: boolean;
  @IsString()
  @IsOptional()
  failureReason?: string;
  /** The limits that applied. */
  @ValidateNested()
  @Type(() => VMIMConfigurationOptions)
  @IsOptional()
  migrationConfiguration?: VMIMConfigurationOptions;
  @IsString()
  @IsOptional()
  migrationNetworkType?: string;
  /** The migration policy that applied. */
  @IsString()
  @IsOptional()
  migrationPolicyName?: string;
  @IsString()
  @IsOptional()
  migrationUid?: string;
  /** PreCopy, PostCopy or Paused. */
  @IsString()
  @IsOptional()
  mode?: string;
  @IsString()
  @IsOptional()
  sourceNode?: string;
  @IsString()
  @IsOptional()
  sourcePersistentStatePVCName?: string;
  @IsString()
  @IsOptional()
  sourcePod?: string;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationSourceState)
  @IsOptional()
  sourceState?: VirtualMachineInstanceMigrationSourceState;
  @IsTime({ nullable: true })
  @IsOptional()
  startTimestamp?: Time;
  @IsString()
  @IsOptional()
  targetAttachmentPodUID?: string;
  @IsArray()
  @IsInt({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  targetCPUSet?: number[];
  @IsIntMap()
  @IsOptional()
  targetDirectMigrationNodePorts?: Record<string, number>;
  @IsQuantity()
  @IsOptional()
  targetMemoryOverhead?: Quantity;
  @IsString()
  @IsOptional()
  targetNode?: string;
  @IsString()
  @IsOptional()
  targetNodeAddress?: string;
  @IsBoolean()
  @IsOptional()
  targetNodeDomainDetected?: boolean;
  @IsTime()
  @IsOptional()
  targetNodeDomainReadyTimestamp?: Time;
  @IsString()
  @IsOptional()
  targetNodeTopology?: string;
  @IsString()
  @IsOptional()
  targetPersistentStatePVCName?: string;
  @IsString()
  @IsOptional()
  targetPod?: string;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationTargetState)
  @IsOptional()
  targetState?: VirtualMachineInstanceMigrationTargetState;
}
