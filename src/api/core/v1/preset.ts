// VMI presets: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsOptional, ValidateNested } from 'class-validator';
import { ApiObject } from '../../kube/object.js';
import { LabelSelector } from '../../kube/storage.js';
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
export class VirtualMachineInstancePreset extends ApiObject {
  /** What is filled in, and where. */
  @ValidateNested()
  @Type(() => VirtualMachineInstancePresetSpec)
  @IsOptional()
  spec?: VirtualMachineInstancePresetSpec;
}
