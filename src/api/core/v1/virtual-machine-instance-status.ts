// Virtual machine instance status: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import type { Time } from '../../meta.js';
import { IsStringMap, IsTime } from '../../schema/decorators.js';
import { CPUTopology, MemoryStatus } from './cpu.js';
import { Machine } from './firmware.js';
import {
  ChangedBlockTrackingStatus,
  PersistentVolumeClaimInfo,
  StorageMigratedVolumeInfo,
  VirtualMachineInstanceMigrationState,
} from './virtual-machine-instance-migration-state.js';

export class ContainerDiskInfo {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  checksum?: number;
}

export class DomainMemoryDumpInfo {
  @IsString()
  @IsOptional()
  claimName?: string;
  @IsTime()
  @IsOptional()
  endTimestamp?: Time;
  @IsTime()
  @IsOptional()
  startTimestamp?: Time;
  @IsString()
  @IsOptional()
  targetFileName?: string;
}

export class HotplugVolumeStatus {
  @IsString()
  @IsOptional()
  attachPodName?: string;
  @IsString()
  @IsOptional()
  attachPodUID?: string;
}

export class InitrdInfo {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  checksum?: number;
}

export class KernelInfo {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  checksum?: number;
}

export class KernelBootStatus {
  @ValidateNested()
  @Type(() => InitrdInfo)
  @IsOptional()
  initrdInfo?: InitrdInfo;
  @ValidateNested()
  @Type(() => KernelInfo)
  @IsOptional()
  kernelInfo?: KernelInfo;
}

export class TopologyHints {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  tscFrequency?: number;
}

export class VirtualMachineInstanceGuestOSInfo {
  @IsString()
  @IsOptional()
  id?: string;
  @IsString()
  @IsOptional()
  kernelRelease?: string;
  @IsString()
  @IsOptional()
  kernelVersion?: string;
  @IsString()
  @IsOptional()
  machine?: string;
  @IsString()
  @IsOptional()
  name?: string;
  @IsString()
  @IsOptional()
  prettyName?: string;
  @IsString()
  @IsOptional()
  version?: string;
  @IsString()
  @IsOptional()
  versionId?: string;
}

export class VirtualMachineInstanceNetworkInterface {
  /** Who told: domain, guest-agent, multus-status. */
  @IsString()
  @IsOptional()
  infoSource?: string;
  /** Its name in the guest. */
  @IsString()
  @IsOptional()
  interfaceName?: string;
  @IsString()
  @IsOptional()
  ipAddress?: string;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  ipAddresses?: string[];
  @IsString()
  @IsOptional()
  linkState?: string;
  @IsString()
  @IsOptional()
  mac?: string;
  @IsString()
  @IsOptional()
  name?: string;
  /** Its name in the pod. */
  @IsString()
  @IsOptional()
  podInterfaceName?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  queueCount?: number;
}

export class VirtualMachineInstancePhaseTransitionTimestamp {
  @IsString()
  @IsOptional()
  phase?: string;
  @IsTime()
  @IsOptional()
  phaseTransitionTimestamp?: Time;
}

export class VolumeStatus {
  @ValidateNested()
  @Type(() => ContainerDiskInfo)
  @IsOptional()
  containerDiskVolume?: ContainerDiskInfo;
  /** Present on volumes that were added to the running guest. */
  @ValidateNested()
  @Type(() => HotplugVolumeStatus)
  @IsOptional()
  hotplugVolume?: HotplugVolumeStatus;
  @ValidateNested()
  @Type(() => DomainMemoryDumpInfo)
  @IsOptional()
  memoryDumpVolume?: DomainMemoryDumpInfo;
  @IsString()
  @IsOptional()
  message?: string;
  @IsString()
  name!: string;
  @ValidateNested()
  @Type(() => PersistentVolumeClaimInfo)
  @IsOptional()
  persistentVolumeClaimInfo?: PersistentVolumeClaimInfo;
  @IsString()
  @IsOptional()
  phase?: string;
  @IsString()
  @IsOptional()
  reason?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  size?: number;
  /** Device name in the guest, such as vda. */
  @IsString()
  target!: string;
}

export class VirtualMachineInstanceStatus {
  /** Context id by which the node reaches the guest over VSOCK. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', maximum: 4294967295, minimum: 0 })
  VSOCKCID?: number;
  /** Pods of the instance, by their UID, with their nodes: two during a migration. */
  @IsStringMap()
  @IsOptional()
  activePods?: Record<string, string>;
  @ValidateNested()
  @Type(() => ChangedBlockTrackingStatus)
  @IsOptional()
  changedBlockTracking?: ChangedBlockTrackingStatus;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  conditions?: ObjectCondition[];
  @ValidateNested()
  @Type(() => CPUTopology)
  @IsOptional()
  currentCPUTopology?: CPUTopology;
  /** The node that the instance shall leave. */
  @IsString()
  @IsOptional()
  evacuationNodeName?: string;
  /** frozen while the guest's file systems are stopped for a snapshot. */
  @IsString()
  @IsOptional()
  fsFreezeStatus?: string;
  /** What the guest agent says about the operating system. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceGuestOSInfo)
  @IsOptional()
  guestOSInfo?: VirtualMachineInstanceGuestOSInfo;
  /** Interfaces with their addresses, as seen in the pod and by the guest agent. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstanceNetworkInterface)
  @IsOptional()
  interfaces?: VirtualMachineInstanceNetworkInterface[];
  @ValidateNested()
  @Type(() => KernelBootStatus)
  @IsOptional()
  kernelBootStatus?: KernelBootStatus;
  /** Image in which the instance runs. */
  @IsString()
  @IsOptional()
  launcherContainerImageVersion?: string;
  @ValidateNested()
  @Type(() => Machine)
  @IsOptional()
  machine?: Machine;
  @ValidateNested()
  @Type(() => MemoryStatus)
  @IsOptional()
  memory?: MemoryStatus;
  /** Volumes whose content moves with the migration. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => StorageMigratedVolumeInfo)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  migratedVolumes?: StorageMigratedVolumeInfo[];
  /** Whether a migration moves disks too: BlockMigration or LiveMigration. */
  @IsString()
  @IsOptional()
  migrationMethod?: string;
  /** The last migration, or the one under way. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationState)
  @IsOptional()
  migrationState?: VirtualMachineInstanceMigrationState;
  @IsString()
  @IsOptional()
  migrationTransport?: string;
  /** Where it runs. */
  @IsString()
  @IsOptional()
  nodeName?: string;
  /** Pending, Scheduling, Scheduled, Running, Succeeded or Failed; the last two are final. */
  @IsString()
  @IsOptional()
  phase?: string;
  /** When each phase was first reached. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstancePhaseTransitionTimestamp)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  phaseTransitionTimestamps?: VirtualMachineInstancePhaseTransitionTimestamp[];
  @IsString()
  @IsOptional()
  qosClass?: string;
  @IsString()
  @IsOptional()
  reason?: string;
  /** User id of the process that runs the guest. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  runtimeUser?: number;
  @IsString()
  @IsOptional()
  selinuxContext?: string;
  @ValidateNested()
  @Type(() => TopologyHints)
  @IsOptional()
  topologyHints?: TopologyHints;
  @IsString()
  @IsOptional()
  virtualMachineRevisionName?: string;
  /** What is known of each volume. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VolumeStatus)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumeStatus?: VolumeStatus[];
}
