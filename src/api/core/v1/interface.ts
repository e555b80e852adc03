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
  /** From which the guest makes a stable name. */
  @IsInt()
  @IsOptional()
  acpiIndex?: number;
  /** A network plugin that is registered in the KubeVirt object. */
  @ValidateNested()
  @Type(() => PluginBinding)
  @IsOptional()
  binding?: PluginBinding;
  /** Position among the devices to boot from, beginning with 1. */
  @IsInt()
  @IsOptional()
  bootOrder?: number;
  /** Connects the guest by a bridge; it gets the address of the pod. */
  @IsObject()
  @IsOptional()
  bridge?: InterfaceBridge;
  /** Further options that the guest gets by DHCP. */
  @ValidateNested()
  @Type(() => DHCPOptions)
  @IsOptional()
  dhcpOptions?: DHCPOptions;
  /** Ethernet address; by default a random one. */
  @IsString()
  @IsOptional()
  macAddress?: string;
  @IsObject()
  @IsOptional()
  macvtap?: DeprecatedInterfaceMacvtap;
  /** Puts the guest behind network address translation in the pod. */
  @IsObject()
  @IsOptional()
  masquerade?: InterfaceMasquerade;
  /** virtio by default. */
  @IsString()
  @IsOptional()
  model?: string;
  /** The network of the same name is what it connects to. */
  @IsString()
  name!: string;
  @IsObject()
  @IsOptional()
  passt?: DeprecatedInterfacePasst;
  /** Connects the guest by passt, without privileges. */
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
  /** Ports of the guest that are open; all by default. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Port)
  @IsOptional()
  ports?: Port[];
  @IsObject()
  @IsOptional()
  slirp?: DeprecatedInterfaceSlirp;
  /** Hands a virtual function of a network card to the guest. */
  @IsObject()
  @IsOptional()
  sriov?: InterfaceSRIOV;
  /** up, down (no link) or absent (taken out). */
  @IsString()
  @IsOptional()
  state?: string;
  /** Role that the guest reads in its metadata. */
  @IsString()
  @IsOptional()
  tag?: string;
}

export class MultusNetwork {
  /** Whether it takes the place of the pod network. */
  @IsBoolean()
  @IsOptional()
  default?: boolean;
  /** Name of the NetworkAttachmentDefinition, or namespace/name. */
  @IsString()
  networkName!: string;
}

export class PodNetwork {
  @IsString()
  @IsOptional()
  vmIPv6NetworkCIDR?: string;
  /** Range of the guest's address behind masquerade. 10.0.2.0/24 by default. */
  @IsString()
  @IsOptional()
  vmNetworkCIDR?: string;
}

export class Network {
  /** A network that a NetworkAttachmentDefinition describes. */
  @ValidateNested()
  @Type(() => MultusNetwork)
  @IsOptional()
  multus?: MultusNetwork;
  @IsString()
  name!: string;
  /** The network that every pod has. */
  @ValidateNested()
  @Type(() => PodNetwork)
  @IsOptional()
  pod?: PodNetwork;
  /** A network device of a resource claim. */
  @ValidateNested()
  @Type(() => ClaimRequest)
  @IsOptional()
  resourceClaim?: ClaimRequest;
}
