// Devices: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { Disk, Filesystem } from './disk.js';
import { FeatureState } from './features.js';
import { Interface } from './interface.js';

export type ClientPassthroughDevices = Record<string, never>;

export type DownwardMetrics = Record<string, never>;

export class VGPUDisplayOptions {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  ramFB?: FeatureState;
}

export class VGPUOptions {
  @ValidateNested()
  @Type(() => VGPUDisplayOptions)
  @IsOptional()
  display?: VGPUDisplayOptions;
}

export class GPU {
  @IsString()
  @IsOptional()
  claimName?: string;
  @IsString()
  @IsOptional()
  deviceName?: string;
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  requestName?: string;
  @IsString()
  @IsOptional()
  tag?: string;
  @ValidateNested()
  @Type(() => VGPUOptions)
  @IsOptional()
  virtualGPUOptions?: VGPUOptions;
}

export class HostDevice {
  @IsString()
  @IsOptional()
  claimName?: string;
  @IsString()
  @IsOptional()
  deviceName?: string;
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  requestName?: string;
  @IsString()
  @IsOptional()
  tag?: string;
}

export class Input {
  @IsString()
  @IsOptional()
  bus?: string;
  @IsString()
  name!: string;
  @IsString()
  type!: string;
}

export class PanicDevice {
  @IsString()
  @IsOptional()
  model?: string;
}

export type Rng = Record<string, never>;

export class SoundDevice {
  @IsString()
  @IsOptional()
  model?: string;
  @IsString()
  name!: string;
}

export class TPMDevice {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  @IsBoolean()
  @IsOptional()
  persistent?: boolean;
}

export class VideoDevice {
  @IsString()
  @IsOptional()
  type?: string;
}

export class Diag288Watchdog {
  @IsString()
  @IsOptional()
  action?: string;
}

export class I6300ESBWatchdog {
  @IsString()
  @IsOptional()
  action?: string;
}

export class Watchdog {
  @ValidateNested()
  @Type(() => Diag288Watchdog)
  @IsOptional()
  diag288?: Diag288Watchdog;
  @ValidateNested()
  @Type(() => I6300ESBWatchdog)
  @IsOptional()
  i6300esb?: I6300ESBWatchdog;
  @IsString()
  name!: string;
}

export class Devices {
  @IsBoolean()
  @IsOptional()
  autoattachGraphicsDevice?: boolean;
  @IsBoolean()
  @IsOptional()
  autoattachInputDevice?: boolean;
  @IsBoolean()
  @IsOptional()
  autoattachMemBalloon?: boolean;
  @IsBoolean()
  @IsOptional()
  autoattachPodInterface?: boolean;
  @IsBoolean()
  @IsOptional()
  autoattachSerialConsole?: boolean;
  @IsBoolean()
  @IsOptional()
  autoattachVSOCK?: boolean;
  @IsBoolean()
  @IsOptional()
  blockMultiQueue?: boolean;
  @IsObject()
  @IsOptional()
  clientPassthrough?: ClientPassthroughDevices;
  @IsBoolean()
  @IsOptional()
  disableHotplug?: boolean;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Disk)
  @IsOptional()
  @JSONSchema({ maxItems: 256 })
  disks?: Disk[];
  @IsObject()
  @IsOptional()
  downwardMetrics?: DownwardMetrics;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Filesystem)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  filesystems?: Filesystem[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => GPU)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  gpus?: GPU[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => HostDevice)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  hostDevices?: HostDevice[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Input)
  @IsOptional()
  inputs?: Input[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Interface)
  @IsOptional()
  @JSONSchema({ maxItems: 256 })
  interfaces?: Interface[];
  @IsBoolean()
  @IsOptional()
  logSerialConsole?: boolean;
  @IsBoolean()
  @IsOptional()
  networkInterfaceMultiqueue?: boolean;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PanicDevice)
  @IsOptional()
  panicDevices?: PanicDevice[];
  @IsObject()
  @IsOptional()
  rng?: Rng;
  @ValidateNested()
  @Type(() => SoundDevice)
  @IsOptional()
  sound?: SoundDevice;
  @ValidateNested()
  @Type(() => TPMDevice)
  @IsOptional()
  tpm?: TPMDevice;
  @IsBoolean()
  @IsOptional()
  useVirtioTransitional?: boolean;
  @ValidateNested()
  @Type(() => VideoDevice)
  @IsOptional()
  video?: VideoDevice;
  @ValidateNested()
  @Type(() => Watchdog)
  @IsOptional()
  watchdog?: Watchdog;
}
