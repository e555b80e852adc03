// Interface: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

export class ClaimRequest {
  @IsString()
  @IsOptional()
  claimName?: string;
  @IsString()
  @IsOptional()
  requestName?: string;
}

export class DHCPPrivateOptions {
  @IsInt()
  option!: number;
  @IsString()
  value!: string;
}

export class DHCPOptions {
  @IsString()
  @IsOptional()
  bootFileName?: string;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  ntpServers?: string[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => DHCPPrivateOptions)
  @IsOptional()
  privateOptions?: DHCPPrivateOptions[];
  @IsString()
  @IsOptional()
  tftpServerName?: string;
}

export type DeprecatedInterfaceMacvtap = Record<string, never>;

export type DeprecatedInterfacePasst = Record<string, never>;

export type DeprecatedInterfaceSlirp = Record<string, never>;

export class PluginBinding {
  @IsString()
  name!: string;
}

export type InterfaceBridge = Record<string, never>;

export type InterfaceMasquerade = Record<string, never>;

export type InterfacePasstBinding = Record<string, never>;

export class PortRange {
  @IsInt()
  @JSONSchema({ format: 'int32' })
  end!: number;
  @IsString()
  protocol!: string;
  @IsInt()
  @JSONSchema({ format: 'int32' })
  start!: number;
}

export class Port {
  @IsString()
  @IsOptional()
  name?: string;
  @IsInt()
  @JSONSchema({ format: 'int32' })
  port!: number;
  @IsString()
  @IsOptional()
  protocol?: string;
}

export type InterfaceSRIOV = Record<string, never>;

export class Interface {
  @IsInt()
  @IsOptional()
  acpiIndex?: number;
  @ValidateNested()
  @Type(() => PluginBinding)
  @IsOptional()
  binding?: PluginBinding;
  @IsInt()
  @IsOptional()
  bootOrder?: number;
  @IsObject()
  @IsOptional()
  bridge?: InterfaceBridge;
  @ValidateNested()
  @Type(() => DHCPOptions)
  @IsOptional()
  dhcpOptions?: DHCPOptions;
  @IsString()
  @IsOptional()
  macAddress?: string;
  @IsObject()
  @IsOptional()
  macvtap?: DeprecatedInterfaceMacvtap;
  @IsObject()
  @IsOptional()
  masquerade?: InterfaceMasquerade;
  @IsString()
  @IsOptional()
  model?: string;
  @IsString()
  name!: string;
  @IsObject()
  @IsOptional()
  passt?: DeprecatedInterfacePasst;
  @IsObject()
  @IsOptional()
  passtBinding?: InterfacePasstBinding;
  @IsString()
  @IsOptional()
  pciAddress?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PortRange)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  portRanges?: PortRange[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Port)
  @IsOptional()
  ports?: Port[];
  @IsObject()
  @IsOptional()
  slirp?: DeprecatedInterfaceSlirp;
  @IsObject()
  @IsOptional()
  sriov?: InterfaceSRIOV;
  @IsString()
  @IsOptional()
  state?: string;
  @IsString()
  @IsOptional()
  tag?: string;
}

export class MultusNetwork {
  @IsBoolean()
  @IsOptional()
  default?: boolean;
  @IsString()
  networkName!: string;
}

export class PodNetwork {
  @IsString()
  @IsOptional()
  vmIPv6NetworkCIDR?: string;
  @IsString()
  @IsOptional()
  vmNetworkCIDR?: string;
}

export class Network {
  @ValidateNested()
  @Type(() => MultusNetwork)
  @IsOptional()
  multus?: MultusNetwork;
  @IsString()
  name!: string;
  @ValidateNested()
  @Type(() => PodNetwork)
  @IsOptional()
  pod?: PodNetwork;
  @ValidateNested()
  @Type(() => ClaimRequest)
  @IsOptional()
  resourceClaim?: ClaimRequest;
}
