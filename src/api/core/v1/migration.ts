// Migrations: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import type { Time } from '../../meta.js';
import { IsStringMap, IsTime } from '../../schema/decorators.js';
import { VirtualMachineInstanceMigrationState } from './virtual-machine-instance-migration-state.js';

export class VirtualMachineInstanceMigrationTarget {
  /** Pairs the two halves. */
  @IsString()
  migrationID!: string;
}

export class VirtualMachineInstanceMigrationSource {
  /** Address of the target's synchronization controller. */
  @IsString()
  connectURL!: string;
  /** Pairs the two halves. */
  @IsString()
  migrationID!: string;
}

export class VirtualMachineInstanceMigrationSpec {
  /** Labels that the target node must have beside those that the instance asks for. */
  @IsStringMap()
  @IsOptional()
  addedNodeSelector?: Record<string, string>;
  /** Before which others it goes: system-critical, user-triggered or system-maintenance. */
  @IsString()
  @IsOptional()
  priority?: string;
  /** This cluster is the target of a migration from elsewhere. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationTarget)
  @IsOptional()
  receive?: VirtualMachineInstanceMigrationTarget;
  /** Sends the instance to another cluster or namespace. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationSource)
  @IsOptional()
  sendTo?: VirtualMachineInstanceMigrationSource;
  /** The instance, in the same namespace. */
  @IsString()
  @IsOptional()
  vmiName?: string;
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
  @Type(() => ObjectCondition)
  @IsOptional()
  conditions?: ObjectCondition[];
  /** The same as in the instance, kept after it has moved on. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationState)
  @IsOptional()
  migrationState?: VirtualMachineInstanceMigrationState;
  /** Pending, Scheduling, Scheduled, PreparingTarget, TargetReady, Running, Succeeded or Failed. */
  @IsString()
  @IsOptional()
  phase?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstanceMigrationPhaseTransitionTimestamp)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  phaseTransitionTimestamps?: VirtualMachineInstanceMigrationPhaseTransitionTimestamp[];
  /** Where the other half can reach this one. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  synchronizationAddresses?: string[];
}

/** Asks for the move of a running instance to another node, once. */
export class VirtualMachineInstanceMigration extends ApiObject {
  /** What to move, and where. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationSpec)
  spec!: VirtualMachineInstanceMigrationSpec;
  /** How far it is. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceMigrationStatus)
  @IsOptional()
  status?: VirtualMachineInstanceMigrationStatus;
}
