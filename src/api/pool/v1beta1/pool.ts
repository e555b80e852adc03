// VM pools: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { VirtualMachineSpec } from '../../core/v1/virtual-machine.js';
import { NodeSelectorRequirement } from '../../kube/scheduling.js';
import { LabelSelector } from '../../kube/storage.js';
import type { IntOrString, ObjectMeta, Time } from '../../meta.js';
import { IsIntOrString, IsTime } from '../../schema/decorators.js';

export type VirtualMachinePoolUnmanagedStrategy = Record<string, never>;

export type VirtualMachineOpportunisticUpdateStrategy = Record<string, never>;

export class VirtualMachinePoolAutohealingStrategy {
  @IsString()
  @IsOptional()
  minFailingToStartDuration?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32', minimum: 1 })
  startUpFailureThreshold?: number;
}

export class VirtualMachinePoolNameGeneration {
  @IsBoolean()
  @IsOptional()
  appendIndexToConfigMapRefs?: boolean;
  @IsBoolean()
  @IsOptional()
  appendIndexToSecretRefs?: boolean;
}

export class VirtualMachinePoolOpportunisticScaleInStrategy {
  @IsIn(['Disabled', 'Offline', 'Online'])
  @IsOptional()
  statePreservation?: string;
}

export class VirtualMachinePoolSelectors {
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  labelSelector?: LabelSelector;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => NodeSelectorRequirement)
  @IsOptional()
  nodeSelectorRequirementMatcher?: NodeSelectorRequirement[];
}

export class VirtualMachinePoolSelectionPolicy {
  @ValidateNested()
  @Type(() => VirtualMachinePoolSelectors)
  @IsOptional()
  selectors?: VirtualMachinePoolSelectors;
  @IsIn(['AscendingOrder', 'DescendingOrder', 'Newest', 'Oldest', 'Random'])
  @IsOptional()
  sortPolicy?: string;
}

export class VirtualMachinePoolProactiveScaleInStrategy {
  @ValidateNested()
  @Type(() => VirtualMachinePoolSelectionPolicy)
  @IsOptional()
  selectionPolicy?: VirtualMachinePoolSelectionPolicy;
  @IsIn(['Disabled', 'Offline', 'Online'])
  @IsOptional()
  statePreservation?: string;
}

export class VirtualMachinePoolScaleInStrategy {
  @ValidateNested()
  @Type(() => VirtualMachinePoolOpportunisticScaleInStrategy)
  @IsOptional()
  opportunistic?: VirtualMachinePoolOpportunisticScaleInStrategy;
  @ValidateNested()
  @Type(() => VirtualMachinePoolProactiveScaleInStrategy)
  @IsOptional()
  proactive?: VirtualMachinePoolProactiveScaleInStrategy;
  @IsObject()
  @IsOptional()
  unmanaged?: VirtualMachinePoolUnmanagedStrategy;
}

export class VirtualMachinePoolProactiveUpdateStrategy {
  @ValidateNested()
  @Type(() => VirtualMachinePoolSelectionPolicy)
  @IsOptional()
  selectionPolicy?: VirtualMachinePoolSelectionPolicy;
}

export class VirtualMachinePoolUpdateStrategy {
  @IsObject()
  @IsOptional()
  opportunistic?: VirtualMachineOpportunisticUpdateStrategy;
  @ValidateNested()
  @Type(() => VirtualMachinePoolProactiveUpdateStrategy)
  @IsOptional()
  proactive?: VirtualMachinePoolProactiveUpdateStrategy;
  @IsObject()
  @IsOptional()
  unmanaged?: VirtualMachinePoolUnmanagedStrategy;
}

export class VirtualMachineTemplateSpec {
  @IsObject()
  @IsOptional()
  @JSONSchema({ nullable: true, 'x-kubernetes-preserve-unknown-fields': true })
  metadata?: ObjectMeta;
  @ValidateNested()
  @Type(() => VirtualMachineSpec)
  @IsOptional()
  spec?: VirtualMachineSpec;
}

export class VirtualMachinePoolSpec {
  @ValidateNested()
  @Type(() => VirtualMachinePoolAutohealingStrategy)
  @IsOptional()
  autohealing?: VirtualMachinePoolAutohealingStrategy;
  @IsIntOrString()
  @IsOptional()
  maxUnavailable?: IntOrString;
  @ValidateNested()
  @Type(() => VirtualMachinePoolNameGeneration)
  @IsOptional()
  nameGeneration?: VirtualMachinePoolNameGeneration;
  @IsBoolean()
  @IsOptional()
  paused?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32', minimum: 0 })
  replicas?: number;
  @ValidateNested()
  @Type(() => VirtualMachinePoolScaleInStrategy)
  @IsOptional()
  scaleInStrategy?: VirtualMachinePoolScaleInStrategy;
  @ValidateNested()
  @Type(() => LabelSelector)
  selector!: LabelSelector;
  @ValidateNested()
  @Type(() => VirtualMachinePoolUpdateStrategy)
  @IsOptional()
  updateStrategy?: VirtualMachinePoolUpdateStrategy;
  @ValidateNested()
  @Type(() => VirtualMachineTemplateSpec)
  virtualMachineTemplate!: VirtualMachineTemplateSpec;
}

export class VirtualMachinePoolCondition {
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

export class VirtualMachinePoolStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachinePoolCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  conditions?: VirtualMachinePoolCondition[];
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

export class VirtualMachinePool {
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
  @Type(() => VirtualMachinePoolSpec)
  spec!: VirtualMachinePoolSpec;
  @ValidateNested()
  @Type(() => VirtualMachinePoolStatus)
  @IsOptional()
  status?: VirtualMachinePoolStatus;
}
