// VM clones: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsIn, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { TypedLocalObjectReference } from '../../kube/storage.js';
import type { Time } from '../../meta.js';
import { IsStringMap, IsTime } from '../../schema/decorators.js';

export class VirtualMachineCloneTemplateFilters {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  annotationFilters?: string[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  labelFilters?: string[];
}

export class VirtualMachineCloneSpec {
  /** Which annotations are taken over; a leading ! leaves out. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  annotationFilters?: string[];
  /** Which labels are taken over; a leading ! leaves out. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  labelFilters?: string[];
  /** Addresses by interface; the others get new ones. */
  @IsStringMap()
  @IsOptional()
  newMacAddresses?: Record<string, string>;
  /** Serial number of the new machine. */
  @IsString()
  @IsOptional()
  newSMBiosSerial?: string;
  /** JSON patches on the new machine, one operation each, as texts. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  patches?: string[];
  /** A VirtualMachine or a VirtualMachineSnapshot. */
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  source!: TypedLocalObjectReference;
  /** The new machine; it gets a random name if none is given. */
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  @IsOptional()
  target?: TypedLocalObjectReference;
  /** The same for the labels and annotations of the template. */
  @ValidateNested()
  @Type(() => VirtualMachineCloneTemplateFilters)
  @IsOptional()
  template?: VirtualMachineCloneTemplateFilters;
  /** How the new claims are named. */
  @IsIn(['RandomizeNames', 'PrefixTargetName'])
  @IsOptional()
  volumeNamePolicy?: string;
}

export class VirtualMachineCloneStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  conditions?: ObjectCondition[];
  @IsTime({ nullable: true })
  @IsOptional()
  creationTime?: Time;
  @IsString()
  @IsOptional()
  phase?: string;
  @IsString()
  @IsOptional()
  @JSONSchema({ nullable: true })
  restoreName?: string;
  @IsString()
  @IsOptional()
  @JSONSchema({ nullable: true })
  snapshotName?: string;
  @IsString()
  @IsOptional()
  @JSONSchema({ nullable: true })
  targetName?: string;
}

/** Makes a machine that is like another one, or like a snapshot. Once. */
export class VirtualMachineClone extends ApiObject {
  /** What to copy, and what is different. */
  @ValidateNested()
  @Type(() => VirtualMachineCloneSpec)
  spec!: VirtualMachineCloneSpec;
  @ValidateNested()
  @Type(() => VirtualMachineCloneStatus)
  @IsOptional()
  status?: VirtualMachineCloneStatus;
}
