// Storage: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { Quantity } from '../meta.js';
import { IsQuantity, IsQuantityMap, IsStringMap } from '../schema/decorators.js';

@JSONSchema({ 'x-kubernetes-map-type': 'atomic' })
export class ObjectFieldSelector {
  @IsString()
  @IsOptional()
  apiVersion?: string;
  @IsString()
  fieldPath!: string;
}

@JSONSchema({ 'x-kubernetes-map-type': 'atomic' })
export class ResourceFieldSelector {
  @IsString()
  @IsOptional()
  containerName?: string;
  @IsQuantity()
  @IsOptional()
  divisor?: Quantity;
  @IsString()
  resource!: string;
}

export class DownwardAPIVolumeFile {
  @ValidateNested()
  @Type(() => ObjectFieldSelector)
  @IsOptional()
  fieldRef?: ObjectFieldSelector;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  mode?: number;
  @IsString()
  path!: string;
  @ValidateNested()
  @Type(() => ResourceFieldSelector)
  @IsOptional()
  resourceFieldRef?: ResourceFieldSelector;
}

@JSONSchema({ 'x-kubernetes-map-type': 'atomic' })
export class TypedLocalObjectReference {
  @IsString()
  @IsOptional()
  apiGroup?: string;
  @IsString()
  kind!: string;
  @IsString()
  name!: string;
}

export class TypedObjectReference {
  @IsString()
  @IsOptional()
  apiGroup?: string;
  @IsString()
  kind!: string;
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  namespace?: string;
}

export class VolumeResourceRequirements {
  @IsQuantityMap()
  @IsOptional()
  limits?: Record<string, Quantity>;
  @IsQuantityMap()
  @IsOptional()
  requests?: Record<string, Quantity>;
}

export class LabelSelectorRequirement {
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
export class LabelSelector {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => LabelSelectorRequirement)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  matchExpressions?: LabelSelectorRequirement[];
  @IsStringMap()
  @IsOptional()
  matchLabels?: Record<string, string>;
}

export class PersistentVolumeClaimSpec {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  accessModes?: string[];
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  @IsOptional()
  dataSource?: TypedLocalObjectReference;
  @ValidateNested()
  @Type(() => TypedObjectReference)
  @IsOptional()
  dataSourceRef?: TypedObjectReference;
  @ValidateNested()
  @Type(() => VolumeResourceRequirements)
  @IsOptional()
  resources?: VolumeResourceRequirements;
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  selector?: LabelSelector;
  @IsString()
  @IsOptional()
  storageClassName?: string;
  @IsString()
  @IsOptional()
  volumeAttributesClassName?: string;
  @IsString()
  @IsOptional()
  volumeMode?: string;
  @IsString()
  @IsOptional()
  volumeName?: string;
}

export class CorePersistentVolumeClaimVolumeSource {
  @IsString()
  claimName!: string;
  @IsBoolean()
  @IsOptional()
  readOnly?: boolean;
}
