// Migrations: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { ObjectMeta, Time } from '../../meta.js';
import { IsStringMap, IsTime } from '../../schema/decorators.js';
import { VirtualMachineInstanceMigrationState } from './virtual-machine-instance-migration-state.js';

export class VirtualMachineInstanceMigrationTarget {
  @IsString()
  migrationID!: string;
}

export class VirtualMachineInstanceMigrationSource {
  @IsString()
  connectURL!: string;
  @IsString()
  migrationID!: string;
}

export class VirtualMachineInstanceMigrationSpec {
  @IsStringMap()
  @IsOptional()
  addedNodeSelector?: Record<string, string>;
  @IsString()
  @IsOptional()
  priority?: string;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationTarget)
  @IsOptional()
  receive?: VirtualMachineInstanceMigrationTarget;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationSource)
  @IsOptional()
  sendTo?: VirtualMachineInstanceMigrationSource;
  @IsString()
  @IsOptional()
  vmiName?: string;
}

export class VirtualMachineInstanceMigrationCondition {
  @IsTime({ nullable: true })
  @IsOptional()
  lastProbeTime?: Time;
  @IsTime({ nullable: true })
  @IsOptional()
  lastTransitionTime?: Time;
  @IsString()
  @IsOptional()
  message?: string;
  @IsString()
  @IsOptional()
  reason?: string;
  @IsString()
  status!: string;
  @IsString()
  type!: string;
}

export class VirtualMachineInstanceMigrationPhaseTransitionTimestamp {
  @IsString()
  @IsOptional()
  phase?: string;
  @IsTime()
  @IsOptional()
  phaseTransitionTimestamp?: Time;
}

export class VirtualMachineInstanceMigrationStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstanceMigrationCondition)
  @IsOptional()
  conditions?: VirtualMachineInstanceMigrationCondition[];
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationState)
  @IsOptional()
  migrationState?: VirtualMachineInstanceMigrationState;
  @IsString()
  @IsOptional()
  phase?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstanceMigrationPhaseTransitionTimestamp)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  phaseTransitionTimestamps?: VirtualMachineInstanceMigrationPhaseTransitionTimestamp[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  synchronizationAddresses?: string[];
}

export class VirtualMachineInstanceMigration {
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
  @Type(() => VirtualMachineInstanceMigrationSpec)
  spec!: VirtualMachineInstanceMigrationSpec;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationStatus)
  @IsOptional()
  status?: VirtualMachineInstanceMigrationStatus;
}
