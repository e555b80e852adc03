// Plugins: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ApiObject } from '../../kube/object.js';

export class PluginCELHook {
  @IsString()
  @JSONSchema({ minLength: 1 })
  expression!: string;
}

export class PluginSidecarHook {
  @IsString()
  @JSONSchema({ minLength: 1 })
  socketPath!: string;
}

/** Changes the domain before libvirt sees it: by an expression, or by a sidecar that is asked over its socket. */
export class PluginDomainHook {
  @ValidateNested()
  @Type(() => PluginCELHook)
  @IsOptional()
  cel?: PluginCELHook;
  @IsString()
  @IsOptional()
  condition?: string;
  @IsString()
  @IsOptional()
  failureStrategy?: string;
  @ValidateNested()
  @Type(() => PluginSidecarHook)
  @IsOptional()
  sidecar?: PluginSidecarHook;
  /** How long it may take. */
  @IsString()
  @IsOptional()
  timeout?: string;
}

/** Called on the node, around the events that `permittedHooks` names. */
export class PluginNodeHook {
  @IsString()
  @IsOptional()
  condition?: string;
  @IsString()
  @IsOptional()
  failureStrategy?: string;
  /** PreVMStart, PostVMStart, PreVMStop, PostVMStop, PreMigrationSource, PreMigrationTarget or PostMigrationTarget. */
  @IsArray()
  @IsString({ each: true })
  @JSONSchema({ minItems: 1, 'x-kubernetes-list-type': 'atomic' })
  permittedHooks!: string[];
  /** Unix socket on the node on which the plugin listens. */
  @IsString()
  @JSONSchema({ minLength: 1 })
  socket!: string;
  @IsString()
  @IsOptional()
  timeout?: string;
}

/** Names a cluster object that the plugin brings along. */
export class PluginReference {
  @IsString()
  @JSONSchema({ minLength: 1 })
  name!: string;
}

export class PluginSpec {
  /** CEL expression over the machine: whether the plugin is for it. */
  @IsString()
  @IsOptional()
  condition?: string;
  /** Change the domain, in order. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PluginDomainHook)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  domainHooks?: PluginDomainHook[];
  /** What a failing hook means for the machine: Fail or Ignore. */
  @IsString()
  @IsOptional()
  failureStrategy?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PluginReference)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mutatingAdmissionPolicies?: PluginReference[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PluginReference)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mutatingAdmissionWebhooks?: PluginReference[];
  /** Called on the node. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PluginNodeHook)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  nodeHooks?: PluginNodeHook[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PluginReference)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  validatingAdmissionPolicies?: PluginReference[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PluginReference)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  validatingAdmissionWebhooks?: PluginReference[];
}

export type PluginStatus = Record<string, never>;

/** Extends how machines are made and run: changes their domains, and is called at events of their lives. */
export class Plugin extends ApiObject {
  /** What it hooks into. */
  @ValidateNested()
  @Type(() => PluginSpec)
  spec!: PluginSpec;
  @IsObject()
  @IsOptional()
  status?: PluginStatus;
}
