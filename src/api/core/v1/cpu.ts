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
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  cores?: number;
  @IsBoolean()
  @IsOptional()
  dedicatedCpuPlacement?: boolean;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => CPUFeature)
  @IsOptional()
  features?: CPUFeature[];
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
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  sockets?: number;
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
  @IsQuantity()
  @IsOptional()
  guest?: Quantity;
  @ValidateNested()
  @Type(() => Hugepages)
  @IsOptional()
  hugepages?: Hugepages;
  @IsQuantity()
  @IsOptional()
  maxGuest?: Quantity;
  @ValidateNested()
  @Type(() => ReservedOverhead)
  @IsOptional()
  reservedOverhead?: ReservedOverhead;
}

export class MemoryStatus {
  @IsQuantity()
  @IsOptional()
  guestAtBoot?: Quantity;
  @IsQuantity()
  @IsOptional()
  guestCurrent?: Quantity;
  @IsQuantity()
  @IsOptional()
  guestRequested?: Quantity;
  @IsQuantity()
  @IsOptional()
  memoryOverhead?: Quantity;
}

export class ResourceRequirements {
  @IsQuantityMap()
  @IsOptional()
  limits?: Record<string, Quantity>;
  @IsBoolean()
  @IsOptional()
  overcommitGuestOverhead?: boolean;
  @IsQuantityMap()
  @IsOptional()
  requests?: Record<string, Quantity>;
}
