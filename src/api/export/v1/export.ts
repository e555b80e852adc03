// VM exports: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { TypedLocalObjectReference } from '../../kube/storage.js';
import type { Time } from '../../meta.js';
import { IsTime } from '../../schema/decorators.js';

export class VirtualMachineExportSpec {
  /** A VirtualMachine, a VirtualMachineSnapshot, a PersistentVolumeClaim or a backup. */
  @ValidateNested()
  @Type(() => TypedLocalObjectReference)
  source!: TypedLocalObjectReference;
  /** Secret with the token that a download needs; made if it is not named. */
  @IsString()
  @IsOptional()
  tokenSecretRef?: string;
  /** When the export deletes itself. 2h by default. */
  @IsString()
  @IsOptional()
  ttlDuration?: string;
}

export class VirtualMachineExportBackupEndpoint {
  @IsString()
  endpoint!: string;
  @IsString()
  url!: string;
}

export class VirtualMachineExportBackup {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineExportBackupEndpoint)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['endpoint'], 'x-kubernetes-list-type': 'map' })
  endpoints?: VirtualMachineExportBackupEndpoint[];
  @IsString()
  name!: string;
}

export class VirtualMachineExportManifest {
  @IsString()
  type!: string;
  @IsString()
  url!: string;
}

export class VirtualMachineExportVolumeFormat {
  @IsString()
  format!: string;
  @IsString()
  url!: string;
}

export class VirtualMachineExportVolume {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineExportVolumeFormat)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['format'], 'x-kubernetes-list-type': 'map' })
  formats?: VirtualMachineExportVolumeFormat[];
  @IsString()
  name!: string;
}

export class VirtualMachineExportLink {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineExportBackup)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['name'], 'x-kubernetes-list-type': 'map' })
  backups?: VirtualMachineExportBackup[];
  /** Certificates by which to trust the server. */
  @IsString()
  cert!: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineExportManifest)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['type'], 'x-kubernetes-list-type': 'map' })
  manifests?: VirtualMachineExportManifest[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineExportVolume)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['name'], 'x-kubernetes-list-type': 'map' })
  volumes?: VirtualMachineExportVolume[];
}

export class VirtualMachineExportLinks {
  /** Through an ingress or a route. */
  @ValidateNested()
  @Type(() => VirtualMachineExportLink)
  @IsOptional()
  external?: VirtualMachineExportLink;
  /** Within the cluster. */
  @ValidateNested()
  @Type(() => VirtualMachineExportLink)
  @IsOptional()
  internal?: VirtualMachineExportLink;
}

export class VirtualMachineExportStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  conditions?: ObjectCondition[];
  /** Addresses of the downloads. */
  @ValidateNested()
  @Type(() => VirtualMachineExportLinks)
  @IsOptional()
  links?: VirtualMachineExportLinks;
  /** Pending, Ready, Terminated or Skipped. */
  @IsString()
  @IsOptional()
  phase?: string;
  @IsString()
  @IsOptional()
  serviceName?: string;
  @IsString()
  @IsOptional()
  tokenSecretRef?: string;
  @IsTime()
  @IsOptional()
  ttlExpirationTime?: Time;
  @IsString()
  @IsOptional()
  virtualMachineName?: string;
}

/** Offers the disks or the definition of a machine, a snapshot or a claim for download. */
export class VirtualMachineExport extends ApiObject {
  /** What to offer, and for how long. */
  @ValidateNested()
  @Type(() => VirtualMachineExportSpec)
  spec!: VirtualMachineExportSpec;
  @ValidateNested()
  @Type(() => VirtualMachineExportStatus)
  @IsOptional()
  status?: VirtualMachineExportStatus;
}
