// Migration policies: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsBoolean, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ExperimentalMigrationOptions } from '../../core/v1/migration-configuration.js';
import type { ObjectMeta, Quantity } from '../../meta.js';
import { IsQuantity, IsStringMap } from '../../schema/decorators.js';

export type MigrationPolicyStatus = Record<string, never>;

export class MigrationPolicySelectors {
  @IsStringMap()
  @IsOptional()
  namespaceSelector?: Record<string, string>;
  @IsStringMap()
  @IsOptional()
  virtualMachineInstanceSelector?: Record<string, string>;
}

export class MigrationPolicySpec {
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
  @ValidateNested()
  @Type(() => ExperimentalMigrationOptions)
  @IsOptional()
  experimental?: ExperimentalMigrationOptions;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', maximum: 2000000, minimum: 1 })
  maxDowntimeMs?: number;
  @ValidateNested()
  @Type(() => MigrationPolicySelectors)
  selectors!: MigrationPolicySelectors;
}

export class MigrationPolicy {
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
  @Type(() => MigrationPolicySpec)
  spec!: MigrationPolicySpec;
  @IsObject()
  @IsOptional()
  @JSONSchema({ nullable: true })
  status?: MigrationPolicyStatus;
}
