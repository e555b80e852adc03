// Migration policies: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsBoolean, IsInt, IsObject, IsOptional, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ExperimentalMigrationOptions } from '../../core/v1/migration-configuration.js';
import { ApiObject } from '../../kube/object.js';
import type { Quantity } from '../../meta.js';
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
  /** Slows the guest down when it writes faster than memory can be sent. */
  @IsBoolean()
  @IsOptional()
  allowAutoConverge?: boolean;
  /** Starts the guest on the target before all memory is there, when it does not end otherwise. */
  @IsBoolean()
  @IsOptional()
  allowPostCopy?: boolean;
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
  @ValidateNested()
  @Type(() => ExperimentalMigrationOptions)
  @IsOptional()
  experimental?: ExperimentalMigrationOptions;
  /** How long the guest may stand still at the end. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', maximum: 2000000, minimum: 1 })
  maxDowntimeMs?: number;
  /** Labels of the machines and of their namespaces; the policy that names most of them applies. */
  @ValidateNested()
  @Type(() => MigrationPolicySelectors)
  selectors!: MigrationPolicySelectors;
}

/** Limits of live migrations for a part of the machines, in place of the cluster's. */
export class MigrationPolicy extends ApiObject {
  /** Which machines, and which limits. */
  @ValidateNested()
  @Type(() => MigrationPolicySpec)
  spec!: MigrationPolicySpec;
  @IsObject()
  @IsOptional()
  @JSONSchema({ nullable: true })
  status?: MigrationPolicyStatus;
}
