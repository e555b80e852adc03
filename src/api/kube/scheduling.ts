// Scheduling: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { LabelSelector } from './storage.js';

export class NodeSelectorRequirement {
  @IsString()
  key!: string;
  @IsString()
  operator!: string;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  values?: string[];
}

@JSONSchema({ 'x-kubernetes-map-type': 'atomic' })
export class NodeSelectorTerm {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => NodeSelectorRequirement)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  matchExpressions?: NodeSelectorRequirement[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => NodeSelectorRequirement)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  matchFields?: NodeSelectorRequirement[];
}

export class PreferredSchedulingTerm {
  @ValidateNested()
  @Type(() => NodeSelectorTerm)
  preference!: NodeSelectorTerm;
  @IsInt()
  @JSONSchema({ format: 'int32' })
  weight!: number;
}

@JSONSchema({ 'x-kubernetes-map-type': 'atomic' })
export class NodeSelector {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => NodeSelectorTerm)
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  nodeSelectorTerms!: NodeSelectorTerm[];
}

export class NodeAffinity {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PreferredSchedulingTerm)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[];
  @ValidateNested()
  @Type(() => NodeSelector)
  @IsOptional()
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
}

export class PodAffinityTerm {
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  labelSelector?: LabelSelector;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  matchLabelKeys?: string[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mismatchLabelKeys?: string[];
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  namespaceSelector?: LabelSelector;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  namespaces?: string[];
  @IsString()
  topologyKey!: string;
}

export class WeightedPodAffinityTerm {
  @ValidateNested()
  @Type(() => PodAffinityTerm)
  podAffinityTerm!: PodAffinityTerm;
  @IsInt()
  @JSONSchema({ format: 'int32' })
  weight!: number;
}

export class PodAffinity {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => WeightedPodAffinityTerm)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PodAffinityTerm)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
}

export class PodAntiAffinity {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => WeightedPodAffinityTerm)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PodAffinityTerm)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
}

export class Affinity {
  @ValidateNested()
  @Type(() => NodeAffinity)
  @IsOptional()
  nodeAffinity?: NodeAffinity;
  @ValidateNested()
  @Type(() => PodAffinity)
  @IsOptional()
  podAffinity?: PodAffinity;
  @ValidateNested()
  @Type(() => PodAntiAffinity)
  @IsOptional()
  podAntiAffinity?: PodAntiAffinity;
}

export class Toleration {
  @IsString()
  @IsOptional()
  effect?: string;
  @IsString()
  @IsOptional()
  key?: string;
  @IsString()
  @IsOptional()
  operator?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  tolerationSeconds?: number;
  @IsString()
  @IsOptional()
  value?: string;
}

export class TopologySpreadConstraint {
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  labelSelector?: LabelSelector;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  matchLabelKeys?: string[];
  @IsInt()
  @JSONSchema({ format: 'int32' })
  maxSkew!: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  minDomains?: number;
  @IsString()
  @IsOptional()
  nodeAffinityPolicy?: string;
  @IsString()
  @IsOptional()
  nodeTaintsPolicy?: string;
  @IsString()
  topologyKey!: string;
  @IsString()
  whenUnsatisfiable!: string;
}
