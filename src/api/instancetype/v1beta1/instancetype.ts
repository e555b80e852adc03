// Instance types: fields, types and required-ness of the API objects. Read by core/instancetype and the webhooks. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { Hugepages, NUMA, Realtime } from '../../core/v1/cpu.js';
import { GPU, HostDevice } from '../../core/v1/devices.js';
import { DiskIOThreads } from '../../core/v1/disk.js';
import { LaunchSecurity } from '../../core/v1/firmware.js';
import { ApiObject } from '../../kube/object.js';
import type { Quantity } from '../../meta.js';
import { IsQuantity, IsStringMap } from '../../schema/decorators.js';

export class CPUInstancetype {
  @IsBoolean()
  @IsOptional()
  dedicatedCPUPlacement?: boolean;
  /** Number of virtual CPUs; a preference says how they are spread over sockets, cores and threads. */
  @IsInt()
  @JSONSchema({ format: 'int32' })
  guest!: number;
  @IsBoolean()
  @IsOptional()
  isolateEmulatorThread?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  maxSockets?: number;
  @IsString()
  @IsOptional()
  model?: string;
  @ValidateNested()
  @Type(() => NUMA)
  @IsOptional()
  numa?: NUMA;
  @ValidateNested()
  @Type(() => Realtime)
  @IsOptional()
  realtime?: Realtime;
}

export class MemoryInstancetype {
  @IsQuantity()
  guest!: Quantity;
  @ValidateNested()
  @Type(() => Hugepages)
  @IsOptional()
  hugepages?: Hugepages;
  @IsQuantity()
  @IsOptional()
  maxGuest?: Quantity;
  /** By how many percent less than the guest sees the pod asks for. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ maximum: 100, minimum: 0 })
  overcommitPercent?: number;
}

export class VirtualMachineInstancetypeSpec {
  /** Put on the instance. */
  @IsStringMap()
  @IsOptional()
  annotations?: Record<string, string>;
  /** Virtual CPUs. */
  @ValidateNested()
  @Type(() => CPUInstancetype)
  cpu!: CPUInstancetype;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => GPU)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  gpus?: GPU[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => HostDevice)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  hostDevices?: HostDevice[];
  @ValidateNested()
  @Type(() => DiskIOThreads)
  @IsOptional()
  ioThreads?: DiskIOThreads;
  @IsString()
  @IsOptional()
  ioThreadsPolicy?: string;
  @ValidateNested()
  @Type(() => LaunchSecurity)
  @IsOptional()
  launchSecurity?: LaunchSecurity;
  /** Memory of the guest. */
  @ValidateNested()
  @Type(() => MemoryInstancetype)
  memory!: MemoryInstancetype;
  /** Labels that the node must have. */
  @IsStringMap()
  @IsOptional()
  nodeSelector?: Record<string, string>;
  @IsString()
  @IsOptional()
  schedulerName?: string;
}

/** CPU, memory and devices under one name, for the machines of its namespace. What it sets a machine cannot. */
export class VirtualMachineInstancetype extends ApiObject {
  /** What it sets. */
  @ValidateNested()
  @Type(() => VirtualMachineInstancetypeSpec)
  spec!: VirtualMachineInstancetypeSpec;
}

/** CPU, memory and devices under one name, for the machines of all namespaces. What it sets a machine cannot. */
export class VirtualMachineClusterInstancetype extends ApiObject {
  /** What it sets. */
  @ValidateNested()
  @Type(() => VirtualMachineInstancetypeSpec)
  spec!: VirtualMachineInstancetypeSpec;
}
