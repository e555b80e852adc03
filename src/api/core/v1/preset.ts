// VMI presets: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { LabelSelector } from '../../kube/storage.js';
import type { ObjectMeta } from '../../meta.js';
import { DomainSpec } from './virtual-machine-instance.js';

export class VirtualMachineInstancePresetSpec {
  /** Parts of the domain; what the instance sets itself stays. */
  @ValidateNested()
  @Type(() => DomainSpec)
  @IsOptional()
  domain?: DomainSpec;
  /** Labels of the instances. */
  @ValidateNested()
  @Type(() => LabelSelector)
  selector!: LabelSelector;
}

/** Deprecated: fills in parts of instances that carry certain labels. Use instance types and preferences. */
export class VirtualMachineInstancePreset {
  @IsString()
  @IsOptional()
  apiVersion?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsObject()
  @IsOptional()
  metadata!: ObjectMeta;
  /** What is filled in, and where. */
  @ValidateNested()
  @Type(() => VirtualMachineInstancePresetSpec)
  @IsOptional()
  spec?: VirtualMachineInstancePresetSpec;
}
