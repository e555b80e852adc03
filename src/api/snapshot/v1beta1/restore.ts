// Restores of VM snapshots: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { TypedLocalObjectReference } from '../../kube/storage.js';
import type { Time } from '../../meta.js';
import { IsStringMap, IsTime } from '../../schema/decorators.js';

export class VolumeRestoreOverride {
  @IsStringMap()
  @IsOptional()
  annotations?: Record<string, string>;
  @IsStringMap()
  @IsOptional()
  labels?: Record<string, string>;
  @IsString()
  @IsOptional()
  restoreName?: string;
  @IsString()
  @IsOptional()
  volumeName?: string;
}

export class VirtualMachineRestoreSpec {
  /** JSON patches on a machine that is made anew, one operation each, as texts. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  patches?: string[];
  /** The machine to restore or to make. */
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  target!: TypedLocalObjectReference;
  /**
   * What to do while the machine runs: stop it (StopTarget), wait five minutes (WaitGracePeriod), fail at once (FailImmediate) or wait
   * for ever (WaitEventually).
   */
  @IsIn(['StopTarget', 'WaitGracePeriod', 'FailImmediate', 'WaitEventually'])
  @IsOptional()
  @JSONSchema({ default: 'WaitGracePeriod' })
  targetReadinessPolicy?: string;
  @IsString()
  virtualMachineSnapshotName!: string;
  /** Whether the restored claims go with the machine (Vm) or stay (None). */
  @IsString()
  @IsOptional()
  volumeOwnershipPolicy?: string;
  /** Names, labels and annotations of restored claims. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VolumeRestoreOverride)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  volumeRestoreOverrides?: VolumeRestoreOverride[];
  /** How restored claims are named: RandomizeNames, InPlace (the old ones are replaced) or PrefixTargetName. */
  @IsString()
  @IsOptional()
  volumeRestorePolicy?: string;
}

export class VolumeRestore {
  @IsString()
  @IsOptional()
  dataVolumeName?: string;
  @IsString()
  persistentVolumeClaim!: string;
  @IsString()
  volumeName!: string;
  @IsString()
  volumeSnapshotName!: string;
}

export class VirtualMachineRestoreStatus {
  @IsBoolean()
  @IsOptional()
  complete?: boolean;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  conditions?: ObjectCondition[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'set' })
  deletedDataVolumes?: string[];
  @IsTime()
  @IsOptional()
  restoreTime?: Time;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VolumeRestore)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  restores?: VolumeRestore[];
}

/** Brings a machine back to what a snapshot holds, or makes a new one of it. Once. */
export class VirtualMachineRestore extends ApiObject {
  /** What to restore, and how. */
  @ValidateNested()
  @Type(() => VirtualMachineRestoreSpec)
  spec!: VirtualMachineRestoreSpec;
  @ValidateNested()
  @Type(() => VirtualMachineRestoreStatus)
  @IsOptional()
  status?: VirtualMachineRestoreStatus;
}
