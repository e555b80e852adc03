// Kubevirt deployment: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { Affinity, Toleration } from '../../kube/scheduling.js';
import { IsStringMap } from '../../schema/decorators.js';

export class CertConfig {
  @IsString()
  @IsOptional()
  duration?: string;
  @IsString()
  @IsOptional()
  renewBefore?: string;
}

export class NodePlacement {
  @ValidateNested()
  @Type(() => Affinity)
  @IsOptional()
  affinity?: Affinity;
  @IsStringMap()
  @IsOptional()
  nodeSelector?: Record<string, string>;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Toleration)
  @IsOptional()
  tolerations?: Toleration[];
}

export class ComponentConfig {
  @ValidateNested()
  @Type(() => NodePlacement)
  @IsOptional()
  nodePlacement?: NodePlacement;
  @IsInt()
  @IsOptional()
  replicas?: number;
}

export class Flags {
  @IsStringMap()
  @IsOptional()
  api?: Record<string, string>;
  @IsStringMap()
  @IsOptional()
  controller?: Record<string, string>;
  @IsStringMap()
  @IsOptional()
  handler?: Record<string, string>;
}

export class CustomizeComponentsPatch {
  /** The patch itself, as text. */
  @IsString()
  patch!: string;
  @IsString()
  @JSONSchema({ minLength: 1 })
  resourceName!: string;
  @IsString()
  @JSONSchema({ minLength: 1 })
  resourceType!: string;
  /** json, merge or strategic. */
  @IsString()
  type!: string;
}

export class CustomizeComponents {
  @ValidateNested()
  @Type(() => Flags)
  @IsOptional()
  flags?: Flags;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => CustomizeComponentsPatch)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  patches?: CustomizeComponentsPatch[];
}

export class GenerationStatus {
  @IsString()
  group!: string;
  @IsString()
  @IsOptional()
  hash?: string;
  @IsInt()
  @JSONSchema({ format: 'int64' })
  lastGeneration!: number;
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  namespace?: string;
  @IsString()
  resource!: string;
}

export class KubeVirtSelfSignConfiguration {
  @ValidateNested()
  @Type(() => CertConfig)
  @IsOptional()
  ca?: CertConfig;
  @IsString()
  @IsOptional()
  caOverlapInterval?: string;
  @IsString()
  @IsOptional()
  caRotateInterval?: string;
  @IsString()
  @IsOptional()
  certRotateInterval?: string;
  @ValidateNested()
  @Type(() => CertConfig)
  @IsOptional()
  server?: CertConfig;
}

export class KubeVirtCertificateRotateStrategy {
  @ValidateNested()
  @Type(() => KubeVirtSelfSignConfiguration)
  @IsOptional()
  selfSigned?: KubeVirtSelfSignConfiguration;
}

export class KubeVirtWorkloadUpdateStrategy {
  /** Time between two batches. */
  @IsString()
  @IsOptional()
  batchEvictionInterval?: string;
  /** How many at a time. */
  @IsInt()
  @IsOptional()
  batchEvictionSize?: number;
  /** LiveMigrate, Evict or both; none by default. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  workloadUpdateMethods?: string[];
}
