// Conditions: those of most kinds, and metav1.Condition for kinds whose controllers follow Kubernetes' newer conventions. Read by schema/. Decides nothing.
import 'reflect-metadata';
import { IsIn, IsInt, IsOptional, IsString } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { Time } from '../meta.js';
import { IsTime } from '../schema/decorators.js';

const NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const CONDITION_TYPE = `^(${DNS_LABEL}(\\.${DNS_LABEL})*/)?(${NAME})$`;
const CONDITION_REASON = '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$';

export class MetaCondition {
  @IsTime()
  lastTransitionTime!: Time;
  @IsString()
  @JSONSchema({ maxLength: 32768 })
  message!: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64', minimum: 0 })
  observedGeneration?: number;
  @IsString()
  @JSONSchema({ maxLength: 1024, minLength: 1, pattern: CONDITION_REASON })
  reason!: string;
  @IsIn(['True', 'False', 'Unknown'])
  status!: string;
  @IsString()
  @JSONSchema({ maxLength: 316, pattern: CONDITION_TYPE })
  type!: string;
}

// What every kind but the newest has: one class, under the names that KubeVirt gives it for each kind.
export class ObjectCondition {
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

export {
  ObjectCondition as CloneCondition,
  ObjectCondition as ExportCondition,
  ObjectCondition as KubeVirtCondition,
  ObjectCondition as SnapshotCondition,
  ObjectCondition as VirtualMachineCondition,
  ObjectCondition as VirtualMachineInstanceCondition,
  ObjectCondition as VirtualMachineInstanceMigrationCondition,
  ObjectCondition as VirtualMachineInstanceReplicaSetCondition,
  ObjectCondition as VirtualMachinePoolCondition,
};
