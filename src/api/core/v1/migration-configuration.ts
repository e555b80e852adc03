// Migration configuration: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { Quantity } from '../../meta.js';
import { IsQuantity } from '../../schema/decorators.js';

export class DowntimeTuningOptions {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32', minimum: 1 })
  cooldownSeconds?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', minimum: 1 })
  initialMs?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', minimum: 1 })
  startAfterIteration?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32', minimum: 1 })
  steps?: number;
}

export class StallDetectorOptions {
  @IsQuantity()
  @IsOptional()
  completionTimeoutFactor?: Quantity;
  @IsQuantity()
  @IsOptional()
  ewmaAlpha?: Quantity;
  @IsQuantity()
  @IsOptional()
  patienceWindowDecayFactor?: Quantity;
  @IsQuantity()
  @IsOptional()
  precopyPossibleFactor?: Quantity;
  @IsBoolean()
  @IsOptional()
  searchLocalMinima?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', maximum: 100, minimum: 0 })
  stallMargin?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', minimum: 0 })
  stallProgressTimeout?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', minimum: 0 })
  switchoverTimeout?: number;
}

export class ExperimentalMigrationOptions {
  @IsIn(['none', 'zstd'])
  @IsOptional()
  compression?: string;
  @ValidateNested()
  @Type(() => DowntimeTuningOptions)
  @IsOptional()
  downtimeTuning?: DowntimeTuningOptions;
  @ValidateNested()
  @Type(() => StallDetectorOptions)
  @IsOptional()
  stallDetector?: StallDetectorOptions;
}

export class MigrationConfiguration {
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
