// Replica sets of VMIs: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { LabelSelector } from '../../kube/storage.js';
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

@JSONSchema({ nullable: true })
export class VirtualMachineInstanceReplicaSetStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  conditions?: ObjectCondition[];
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
export class VirtualMachineInstanceReplicaSet extends ApiObject {
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
