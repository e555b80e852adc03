// Pod: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { IsIntOrString } from '../schema/decorators.js';

export class ExecAction {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  command?: string[];
}

export class HTTPHeader {
  @IsString()
  name!: string;
  @IsString()
  value!: string;
}

export class HTTPGetAction {
  @IsString()
  @IsOptional()
  host?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => HTTPHeader)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  httpHeaders?: HTTPHeader[];
  @IsString()
  @IsOptional()
  path?: string;
  @IsIntOrString()
  port!: number | string;
  @IsString()
  @IsOptional()
  scheme?: string;
}

@JSONSchema({ 'x-kubernetes-map-type': 'atomic' })
export class LocalObjectReference {
  @IsString()
  @IsOptional()
  @JSONSchema({ default: '' })
  name?: string;
}

export class PodDNSConfigOption {
  @IsString()
  @IsOptional()
  name?: string;
  @IsString()
  @IsOptional()
  value?: string;
}

export class PodDNSConfig {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  nameservers?: string[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PodDNSConfigOption)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  options?: PodDNSConfigOption[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  searches?: string[];
}

export class TCPSocketAction {
  @IsString()
  @IsOptional()
  host?: string;
  @IsIntOrString()
  port!: number | string;
}
