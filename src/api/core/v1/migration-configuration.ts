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
  /** Slows the guest down when it writes faster than memory can be sent. */
  @IsBoolean()
  @IsOptional()
  allowAutoConverge?: boolean;
  /** Starts the guest on the target before all memory is there, when it does not end otherwise. */
  @IsBoolean()
  @IsOptional()
  allowPostCopy?: boolean;
  /** Whether a migration that does not end may pause the guest or use post-copy. */
  @IsBoolean()
  @IsOptional()
  allowWorkloadDisruption?: boolean;
  /** Bytes a second; 0 for no limit. */
  @IsQuantity()
  @IsOptional()
  bandwidthPerMigration?: Quantity;
  /** Seconds a GiB of memory until the migration is ended in another way. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  completionTimeoutPerGiB?: number;
  /** Sends memory unencrypted. */
  @IsBoolean()
  @IsOptional()
  disableTLS?: boolean;
  @IsBoolean()
  @IsOptional()
  matchSELinuxLevelOnMigration?: boolean;
  /** How long the guest may stand still at the end. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', maximum: 2000000, minimum: 1 })
  maxDowntimeMs?: number;
  /** NetworkAttachmentDefinition of the network that migrations use. */
  @IsString()
  @IsOptional()
  network?: string;
  /** Taint that makes machines leave a node. */
  @IsString()
  @IsOptional()
  nodeDrainTaintKey?: string;
  /** At the same time in the cluster. 5 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  parallelMigrationsPerCluster?: number;
  /** At the same time from one node. 2 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  parallelOutboundMigrationsPerNode?: number;
  /** Seconds without progress until it is given up. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  progressTimeout?: number;
  /** Migrates also where data may be lost. */
  @IsBoolean()
  @IsOptional()
  unsafeMigrationOverride?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  utilityVolumesTimeout?: number;
}
