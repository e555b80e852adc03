// Replica sets of VMIs: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { LabelSelector } from '../../kube/storage.js';
import type { ObjectMeta, Time } from '../../meta.js';
import { IsTime } from '../../schema/decorators.js';
import { VirtualMachineInstanceTemplateSpec } from './virtual-machine.js';

export class VirtualMachineInstanceReplicaSetSpec {
  /** Whether nothing is made or deleted for the time being. */
  @IsBoolean()
  @IsOptional()
  paused?: boolean;
  /** How many. 1 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  replicas?: number;
  /** Labels that tell its instances from others; the template must have them. */
  @ValidateNested()
  @Type(() => LabelSelector)
  selector!: LabelSelector;
  /** The instance that is made. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceTemplateSpec)
  template!: VirtualMachineInstanceTemplateSpec;
}

export class VirtualMachineInstanceReplicaSetCondition {
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

@JSONSchema({ nullable: true })
export class VirtualMachineInstanceReplicaSetStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstanceReplicaSetCondition)
  @IsOptional()
  conditions?: VirtualMachineInstanceReplicaSetCondition[];
  @IsString()
  @IsOptional()
  labelSelector?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  readyReplicas?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  replicas?: number;
}

/** Keeps a number of equal instances running. */
export class VirtualMachineInstanceReplicaSet {
  @IsString()
  @IsOptional()
  apiVersion?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsObject()
  @IsOptional()
  metadata!: ObjectMeta;
  /** Which instances, and how many. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceReplicaSetSpec)
  spec!: VirtualMachineInstanceReplicaSetSpec;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceReplicaSetStatus)
  @IsOptional()
  @JSONSchema({ nullable: true })
  status?: VirtualMachineInstanceReplicaSetStatus;
}
