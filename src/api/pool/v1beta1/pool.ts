// VM pools: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { VirtualMachineSpec } from '../../core/v1/virtual-machine.js';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { NodeSelectorRequirement } from '../../kube/scheduling.js';
import { LabelSelector } from '../../kube/storage.js';
import type { IntOrString, ObjectMeta } from '../../meta.js';
import { IsIntOrString } from '../../schema/decorators.js';

export type VirtualMachinePoolUnmanagedStrategy = Record<string, never>;

export type VirtualMachineOpportunisticUpdateStrategy = Record<string, never>;

export class VirtualMachinePoolAutohealingStrategy {
  /** How long it must have failed. 5m by default. */
  @IsString()
  @IsOptional()
  minFailingToStartDuration?: string;
  /** How often it must have failed. 3 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32', minimum: 1 })
  startUpFailureThreshold?: number;
}

export class VirtualMachinePoolNameGeneration {
  /** Appends the number of the machine to the names of ConfigMaps. */
  @IsBoolean()
  @IsOptional()
  appendIndexToConfigMapRefs?: boolean;
  /** Appends the number of the machine to the names of Secrets. */
  @IsBoolean()
  @IsOptional()
  appendIndexToSecretRefs?: boolean;
}

export class VirtualMachinePoolOpportunisticScaleInStrategy {
  /** What stays of a machine that goes: nothing (Disabled), its disks (Offline), its memory too (Online). */
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
  /** Machines that go first. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolSelectors)
  @IsOptional()
  selectors?: VirtualMachinePoolSelectors;
  /** The order of the others. */
  @IsIn(['AscendingOrder', 'DescendingOrder', 'Newest', 'Oldest', 'Random'])
  @IsOptional()
  sortPolicy?: string;
}

export class VirtualMachinePoolProactiveScaleInStrategy {
  @ValidateNested()
  @Type(() => VirtualMachinePoolSelectionPolicy)
  @IsOptional()
  selectionPolicy?: VirtualMachinePoolSelectionPolicy;
  /** What stays of a machine that goes: nothing (Disabled), its disks (Offline), its memory too (Online). */
  @IsIn(['Disabled', 'Offline', 'Online'])
  @IsOptional()
  statePreservation?: string;
}

export class VirtualMachinePoolScaleInStrategy {
  /** Prefers machines that do not run. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolOpportunisticScaleInStrategy)
  @IsOptional()
  opportunistic?: VirtualMachinePoolOpportunisticScaleInStrategy;
  /** Takes machines that run too. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolProactiveScaleInStrategy)
  @IsOptional()
  proactive?: VirtualMachinePoolProactiveScaleInStrategy;
  /** Never: users delete machines themselves. */
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
  /** When a machine is restarted by its user. */
  @IsObject()
  @IsOptional()
  opportunistic?: VirtualMachineOpportunisticUpdateStrategy;
  /** At once, a few machines at a time. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolProactiveUpdateStrategy)
  @IsOptional()
  proactive?: VirtualMachinePoolProactiveUpdateStrategy;
  /** Never: users update machines themselves. */
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
  /** Replaces machines that do not start. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolAutohealingStrategy)
  @IsOptional()
  autohealing?: VirtualMachinePoolAutohealingStrategy;
  /** How many may be out of service during an update, as number or percentage. 100% by default. */
  @IsIntOrString()
  @IsOptional()
  maxUnavailable?: IntOrString;
  /** Gives each machine ConfigMaps and Secrets of its own. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolNameGeneration)
  @IsOptional()
  nameGeneration?: VirtualMachinePoolNameGeneration;
  /** Whether nothing is made, changed or deleted for the time being. */
  @IsBoolean()
  @IsOptional()
  paused?: boolean;
  /** How many. 1 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32', minimum: 0 })
  replicas?: number;
  /** Which machines go first when there are too many, and what stays of them. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolScaleInStrategy)
  @IsOptional()
  scaleInStrategy?: VirtualMachinePoolScaleInStrategy;
  /** Labels that tell its machines from others; the template must have them. */
  @ValidateNested()
  @Type(() => LabelSelector)
  selector!: LabelSelector;
  /** When a changed template reaches the machines. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolUpdateStrategy)
  @IsOptional()
  updateStrategy?: VirtualMachinePoolUpdateStrategy;
  /** The machine that is made. */
  @ValidateNested()
  @Type(() => VirtualMachineTemplateSpec)
  virtualMachineTemplate!: VirtualMachineTemplateSpec;
}

export class VirtualMachinePoolStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
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

/** Keeps a number of machines of one template. */
export class VirtualMachinePool extends ApiObject {
  /** Which machines, and how many. */
  @ValidateNested()
  @Type(() => VirtualMachinePoolSpec)
  spec!: VirtualMachinePoolSpec;
  @ValidateNested()
  @Type(() => VirtualMachinePoolStatus)
  @IsOptional()
  status?: VirtualMachinePoolStatus;
}
