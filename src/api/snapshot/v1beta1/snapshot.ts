// VM snapshots: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { TypedLocalObjectReference } from '../../kube/storage.js';
import type { Time } from '../../meta.js';
import { IsTime } from '../../schema/decorators.js';

export class VirtualMachineSnapshotSpec {
  /** Whether the content goes with this object (Delete, the default) or stays (Retain). */
  @IsString()
  @IsOptional()
  deletionPolicy?: string;
  /** How long it may take. 5m by default. */
  @IsString()
  @IsOptional()
  failureDeadline?: string;
  /** The machine. */
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  source!: TypedLocalObjectReference;
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
  @Type(() => ObjectCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  conditions?: ObjectCondition[];
  @IsTime({ nullable: true })
  @IsOptional()
  creationTime?: Time;
  @ValidateNested()
  @Type(() => SnapshotError)
  @IsOptional()
  error?: SnapshotError;
  /** Deprecated: use sourceIndications. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'set' })
  indications?: string[];
  @IsString()
  @IsOptional()
  phase?: string;
  /** Whether it can be restored. */
  @IsBoolean()
  @IsOptional()
  readyToUse?: boolean;
  /** Which volumes are in it and which are not. */
  @ValidateNested()
  @Type(() => SnapshotVolumesLists)
  @IsOptional()
  snapshotVolumes?: SnapshotVolumesLists;
  /** Under which conditions it was taken, such as Online or GuestAgent. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => SnapshotSourceIndication)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  sourceIndications?: SnapshotSourceIndication[];
  @IsString()
  @IsOptional()
  sourceUID?: string;
  /** Where it is kept. */
  @IsString()
  @IsOptional()
  virtualMachineSnapshotContentName?: string;
}

/** A machine as it is at one time, to be restored later. */
export class VirtualMachineSnapshot extends ApiObject {
  /** What to take. */
  @ValidateNested()
  @Type(() => VirtualMachineSnapshotSpec)
  spec!: VirtualMachineSnapshotSpec;
  @ValidateNested()
  @Type(() => VirtualMachineSnapshotStatus)
  @IsOptional()
  status?: VirtualMachineSnapshotStatus;
}
