// Cpu: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { Quantity } from '../../meta.js';
import { IsQuantity, IsQuantityMap } from '../../schema/decorators.js';

export class CPUFeature {
  @IsString()
  name!: string;
  /** require, force, optional, disable or forbid. require by default. */
  @IsString()
  @IsOptional()
  policy?: string;
}

export type NUMAGuestMappingPassthrough = Record<string, never>;

export class NUMA {
  @IsObject()
  @IsOptional()
  guestMappingPassthrough?: NUMAGuestMappingPassthrough;
}

export class Realtime {
  @IsString()
  @IsOptional()
  mask?: string;
}

export class CPU {
  /** Cores a socket. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  cores?: number;
  /** Pins each virtual CPU to a CPU of the node that nobody else uses. */
  @IsBoolean()
  @IsOptional()
  dedicatedCpuPlacement?: boolean;
  /** Single features of the CPU to require, to offer or to hide. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => CPUFeature)
  @IsOptional()
  features?: CPUFeature[];
  /** One more dedicated CPU for the emulator itself. */
  @IsBoolean()
  @IsOptional()
  isolateEmulatorThread?: boolean;
  /** Up to how many sockets can be added while the guest runs. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  maxSockets?: number;
  /** CPU model: host-model, host-passthrough or a name. */
  @IsString()
  @IsOptional()
  model?: string;
  /** How memory is spread over NUMA cells. */
  @ValidateNested()
  @Type(() => NUMA)
  @IsOptional()
  numa?: NUMA;
  /** Prepares the CPUs for real-time work. */
  @ValidateNested()
  @Type(() => Realtime)
  @IsOptional()
  realtime?: Realtime;
  /** Sockets. With cores and threads: the number of virtual CPUs. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  sockets?: number;
  /** Threads a core. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  threads?: number;
}

export class CPUTopology {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  cores?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  sockets?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  threads?: number;
}

export class Hugepages {
  /** Size of a page, such as 2Mi or 1Gi. */
  @IsString()
  @IsOptional()
  pageSize?: string;
}

export class ReservedOverhead {
  @IsQuantity()
  @IsOptional()
  addedOverhead?: Quantity;
  @IsIn(['NotRequired', 'Required'])
  @IsOptional()
  memLock?: string;
}

export class Memory {
  /** Memory that the guest sees. */
  @IsQuantity()
  @IsOptional()
  guest?: Quantity;
  /** Backs the memory by huge pages of the node. */
  @ValidateNested()
  @Type(() => Hugepages)
  @IsOptional()
  hugepages?: Hugepages;
  /** Up to how much memory can be added while the guest runs. */
  @IsQuantity()
  @IsOptional()
  maxGuest?: Quantity;
  /** More memory for the pod than is computed. */
  @ValidateNested()
  @Type(() => ReservedOverhead)
  @IsOptional()
  reservedOverhead?: ReservedOverhead;
}

export class MemoryStatus {
  /** Memory with which the guest was started. */
  @IsQuantity()
  @IsOptional()
  guestAtBoot?: Quantity;
  /** Memory that the guest has now. */
  @IsQuantity()
  @IsOptional()
  guestCurrent?: Quantity;
  /** Memory that the guest shall have. */
  @IsQuantity()
  @IsOptional()
  guestRequested?: Quantity;
  /** Memory of the pod beside the guest's. */
  @IsQuantity()
  @IsOptional()
  memoryOverhead?: Quantity;
}

export class ResourceRequirements {
  @IsQuantityMap()
  @IsOptional()
  limits?: Record<string, Quantity>;
  /** Leaves the memory around the guest out of the pod's request: the node may run short of it. */
  @IsBoolean()
  @IsOptional()
  overcommitGuestOverhead?: boolean;
  @IsQuantityMap()
  @IsOptional()
  requests?: Record<string, Quantity>;
}
