// Permitted host devices: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { IsStringMap } from '../../schema/decorators.js';

export class NodeMediatedDeviceTypesConfig {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mediatedDeviceTypes?: string[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mediatedDevicesTypes?: string[];
  @IsStringMap()
  nodeSelector!: Record<string, string>;
}

export class MediatedDevicesConfiguration {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mediatedDeviceTypes?: string[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mediatedDevicesTypes?: string[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => NodeMediatedDeviceTypesConfig)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  nodeMediatedDeviceTypes?: NodeMediatedDeviceTypesConfig[];
}

export class MediatedHostDevice {
  @IsBoolean()
  @IsOptional()
  externalResourceProvider?: boolean;
  @IsString()
  mdevNameSelector!: string;
  @IsString()
  resourceName!: string;
}

export class PciHostDevice {
  @IsBoolean()
  @IsOptional()
  externalResourceProvider?: boolean;
  @IsString()
  pciVendorSelector!: string;
  @IsString()
  resourceName!: string;
}

export class USBSelector {
  @IsString()
  product!: string;
  @IsString()
  vendor!: string;
}

export class USBHostDevice {
  @IsBoolean()
  @IsOptional()
  externalResourceProvider?: boolean;
  @IsString()
  resourceName!: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => USBSelector)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  selectors?: USBSelector[];
}

export class PermittedHostDevices {
  /** Mediated devices, by type. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => MediatedHostDevice)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  mediatedDevices?: MediatedHostDevice[];
  /** PCI devices, by vendor and product. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PciHostDevice)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  pciHostDevices?: PciHostDevice[];
  /** USB devices, by vendor and product. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => USBHostDevice)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  usb?: USBHostDevice[];
}
