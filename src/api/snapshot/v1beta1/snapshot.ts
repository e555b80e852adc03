// VM snapshots: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { TypedLocalObjectReference } from '../../kube/storage.js';
import type { ObjectMeta, Time } from '../../meta.js';
import { IsTime } from '../../schema/decorators.js';

export class VirtualMachineSnapshotSpec {
  @IsString()
  @IsOptional()
  deletionPolicy?: string;
  @IsString()
  @IsOptional()
  failureDeadline?: string;
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  source!: TypedLocalObjectReference;
}

export class SnapshotCondition {
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

export class SnapshotError {
  @IsString()
  @IsOptional()
  message?: string;
  @IsTime()
  @IsOptional()
  time?: Time;
}

export class SnapshotVolumesLists {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'set' })
  excludedVolumes?: string[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'set' })
  includedVolumes?: string[];
}

export class SnapshotSourceIndication {
  @IsString()
  indication!: string;
  @IsString()
  message!: string;
}

export class VirtualMachineSnapshotStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => SnapshotCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  conditions?: SnapshotCondition[];
  @IsTime({ nullable: true })
  @IsOptional()
  creationTime?: Time;
  @ValidateNested()
  @Type(() => SnapshotError)
  @IsOptional()
  error?: SnapshotError;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'set' })
  indications?: string[];
  @IsString()
  @IsOptional()
  phase?: string;
  @IsBoolean()
  @IsOptional()
  readyToUse?: boolean;
  @ValidateNested()
  @Type(() => SnapshotVolumesLists)
  @IsOptional()
  snapshotVolumes?: SnapshotVolumesLists;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => SnapshotSourceIndication)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  sourceIndications?: SnapshotSourceIndication[];
  @IsString()
  @IsOptional()
  sourceUID?: string;
  @IsString()
  @IsOptional()
  virtualMachineSnapshotContentName?: string;
}

export class VirtualMachineSnapshot {
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
  @Type(() => VirtualMachineSnapshotSpec)
  spec!: VirtualMachineSnapshotSpec;
  @ValidateNested()
  @Type(() => VirtualMachineSnapshotStatus)
  @IsOptional()
  status?: VirtualMachineSnapshotStatus;
}
