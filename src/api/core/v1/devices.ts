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
  /** A resource claim of the spec that brings it, in place of deviceName. */
  @IsString()
  @IsOptional()
  claimName?: string;
  /** Resource name by which the node offers it. */
  @IsString()
  @IsOptional()
  deviceName?: string;
  @IsString()
  name!: string;
  /** Which request of the claim. */
  @IsString()
  @IsOptional()
  requestName?: string;
  /** Role that the guest reads in its metadata. */
  @IsString()
  @IsOptional()
  tag?: string;
  @ValidateNested()
  @Type(() => VGPUOptions)
  @IsOptional()
  virtualGPUOptions?: VGPUOptions;
}

export class HostDevice {
  /** A resource claim of the spec that brings it, in place of deviceName. */
  @IsString()
  @IsOptional()
  claimName?: string;
  /** Resource name by which the node offers it. */
  @IsString()
  @IsOptional()
  deviceName?: string;
  @IsString()
  name!: string;
  /** Which request of the claim. */
  @IsString()
  @IsOptional()
  requestName?: string;
  /** Role that the guest reads in its metadata. */
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
  /** True by default. */
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  /** Whether its content outlives the instance. */
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
  /** Whether there is a graphics card and a VNC console. True by default. */
  @IsBoolean()
  @IsOptional()
  autoattachGraphicsDevice?: boolean;
  /** Whether a tablet is added that follows the pointer of the VNC console. */
  @IsBoolean()
  @IsOptional()
  autoattachInputDevice?: boolean;
  /** Whether there is a memory balloon, which also measures memory. True by default. */
  @IsBoolean()
  @IsOptional()
  autoattachMemBalloon?: boolean;
  /** Whether an interface on the pod network is added to a machine without interfaces. True by default. */
  @IsBoolean()
  @IsOptional()
  autoattachPodInterface?: boolean;
  /** Whether there is a serial console. True by default. */
  @IsBoolean()
  @IsOptional()
  autoattachSerialConsole?: boolean;
  /** Whether there is a VSOCK device and a context id for it. */
  @IsBoolean()
  @IsOptional()
  autoattachVSOCK?: boolean;
  /** Whether virtio disks have one queue a virtual CPU. */
  @IsBoolean()
  @IsOptional()
  blockMultiQueue?: boolean;
  /** Lets a client hand USB devices of its own to the guest. */
  @IsObject()
  @IsOptional()
  clientPassthrough?: ClientPassthroughDevices;
  /** Leaves out the controllers that hotplug needs. */
  @IsBoolean()
  @IsOptional()
  disableHotplug?: boolean;
  /** Disks; each names the volume of the same name. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Disk)
  @IsOptional()
  @JSONSchema({ maxItems: 256 })
  disks?: Disk[];
  /** Gives figures of the node to the guest over a serial device. */
  @IsObject()
  @IsOptional()
  downwardMetrics?: DownwardMetrics;
  /** Volumes that the guest sees as directories. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Filesystem)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  filesystems?: Filesystem[];
  /** Graphics cards of the node. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => GPU)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  gpus?: GPU[];
  /** Other devices of the node. */
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
  /** Network interfaces; each names the network of the same name. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Interface)
  @IsOptional()
  @JSONSchema({ maxItems: 256 })
  interfaces?: Interface[];
  /** Whether the serial console is also written to the pod's log. */
  @IsBoolean()
  @IsOptional()
  logSerialConsole?: boolean;
  /** Whether virtio interfaces have one queue a virtual CPU. */
  @IsBoolean()
  @IsOptional()
  networkInterfaceMultiqueue?: boolean;
  /** Tell the hypervisor that the guest has crashed. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PanicDevice)
  @IsOptional()
  panicDevices?: PanicDevice[];
  /** A source of random numbers. */
  @IsObject()
  @IsOptional()
  rng?: Rng;
  @ValidateNested()
  @Type(() => SoundDevice)
  @IsOptional()
  sound?: SoundDevice;
  /** A trusted platform module. */
  @ValidateNested()
  @Type(() => TPMDevice)
  @IsOptional()
  tpm?: TPMDevice;
  /** Virtio devices of the older kind, for old guests. */
  @IsBoolean()
  @IsOptional()
  useVirtioTransitional?: boolean;
  /** Model of the graphics card. */
  @ValidateNested()
  @Type(() => VideoDevice)
  @IsOptional()
  video?: VideoDevice;
  /** Resets or ends a guest that hangs. */
  @ValidateNested()
  @Type(() => Watchdog)
  @IsOptional()
  watchdog?: Watchdog;
}
