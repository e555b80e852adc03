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
  @IsBoolean()
  @IsOptional()
  paused?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  replicas?: number;
  @ValidateNested()
  @Type(() => LabelSelector)
  selector!: LabelSelector;
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
  @ValidateNested()
  @Type(() => VirtualMachineInstanceReplicaSetSpec)
  spec!: VirtualMachineInstanceReplicaSetSpec;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceReplicaSetStatus)
  @IsOptional()
  @JSONSchema({ nullable: true })
  status?: VirtualMachineInstanceReplicaSetStatus;
}
