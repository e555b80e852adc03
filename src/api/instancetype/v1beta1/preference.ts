// Preferences: fields, types and required-ness of the API objects. Read by core/instancetype and the webhooks. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { CPUFeature } from '../../core/v1/cpu.js';
import { type Rng, TPMDevice, VGPUOptions } from '../../core/v1/devices.js';
import { BlockSize } from '../../core/v1/disk.js';
import { ClockOffsetUTC, FeatureAPIC, FeatureHyperv, FeatureKVM, FeatureState, Timer } from '../../core/v1/features.js';
import { EFI, LaunchSecurity } from '../../core/v1/firmware.js';
import type { InterfaceMasquerade } from '../../core/v1/interface.js';
import { ApiObject } from '../../kube/object.js';
import type { Quantity } from '../../meta.js';
import { IsQuantity, IsStringMap } from '../../schema/decorators.js';

export class SpreadOptions {
  /** SocketsCores (default), SocketsCoresThreads or CoresThreads. */
  @IsString()
  @IsOptional()
  across?: string;
  /** Cores a socket, or threads a core. 2 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  ratio?: number;
}

export class CPUPreferences {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => CPUFeature)
  @IsOptional()
  preferredCPUFeatures?: CPUFeature[];
  /** What the virtual CPUs are to the guest: sockets (default), cores, threads, spread or any. */
  @IsString()
  @IsOptional()
  preferredCPUTopology?: string;
  /** How spread spreads. */
  @ValidateNested()
  @Type(() => SpreadOptions)
  @IsOptional()
  spreadOptions?: SpreadOptions;
}

export class ClockOffset {
  @IsString()
  @IsOptional()
  timezone?: string;
  @ValidateNested()
  @Type(() => ClockOffsetUTC)
  @IsOptional()
  utc?: ClockOffsetUTC;
}

export class ClockPreferences {
  @ValidateNested()
  @Type(() => ClockOffset)
  @IsOptional()
  preferredClockOffset?: ClockOffset;
  @ValidateNested()
  @Type(() => Timer)
  @IsOptional()
  preferredTimer?: Timer;
}

export class DevicePreferences {
  @IsBoolean()
  @IsOptional()
  preferredAutoattachGraphicsDevice?: boolean;
  @IsBoolean()
  @IsOptional()
  preferredAutoattachInputDevice?: boolean;
  @IsBoolean()
  @IsOptional()
  preferredAutoattachMemBalloon?: boolean;
  @IsBoolean()
  @IsOptional()
  preferredAutoattachPodInterface?: boolean;
  @IsBoolean()
  @IsOptional()
  preferredAutoattachSerialConsole?: boolean;
  @IsBoolean()
  @IsOptional()
  preferredBlockMultiQueue?: boolean;
  @IsString()
  @IsOptional()
  preferredCdromBus?: string;
  @IsBoolean()
  @IsOptional()
  preferredDisableHotplug?: boolean;
  @ValidateNested()
  @Type(() => BlockSize)
  @IsOptional()
  preferredDiskBlockSize?: BlockSize;
  @IsString()
  @IsOptional()
  preferredDiskBus?: string;
  @IsString()
  @IsOptional()
  preferredDiskCache?: string;
  @IsBoolean()
  @IsOptional()
  preferredDiskDedicatedIoThread?: boolean;
  @IsString()
  @IsOptional()
  preferredDiskIO?: string;
  @IsString()
  @IsOptional()
  preferredInputBus?: string;
  @IsString()
  @IsOptional()
  preferredInputType?: string;
  @IsObject()
  @IsOptional()
  preferredInterfaceMasquerade?: InterfaceMasquerade;
  @IsString()
  @IsOptional()
  preferredInterfaceModel?: string;
  @IsString()
  @IsOptional()
  preferredLunBus?: string;
  @IsBoolean()
  @IsOptional()
  preferredNetworkInterfaceMultiQueue?: boolean;
  @IsString()
  @IsOptional()
  preferredPanicDeviceModel?: string;
  @IsObject()
  @IsOptional()
  preferredRng?: Rng;
  @IsString()
  @IsOptional()
  preferredSoundModel?: string;
  @ValidateNested()
  @Type(() => TPMDevice)
  @IsOptional()
  preferredTPM?: TPMDevice;
  @IsBoolean()
  @IsOptional()
  preferredUseVirtioTransitional?: boolean;
  @IsString()
  @IsOptional()
  preferredVideoType?: string;
  @ValidateNested()
  @Type(() => VGPUOptions)
  @IsOptional()
  preferredVirtualGPUOptions?: VGPUOptions;
}

export class FeaturePreferences {
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  preferredAcpi?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureAPIC)
  @IsOptional()
  preferredApic?: FeatureAPIC;
  @ValidateNested()
  @Type(() => FeatureHyperv)
  @IsOptional()
  preferredHyperv?: FeatureHyperv;
  @ValidateNested()
  @Type(() => FeatureKVM)
  @IsOptional()
  preferredKvm?: FeatureKVM;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  preferredPvspinlock?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  preferredSmm?: FeatureState;
}

export class FirmwarePreferences {
  @ValidateNested()
  @Type(() => EFI)
  @IsOptional()
  preferredEfi?: EFI;
  @IsBoolean()
  @IsOptional()
  preferredUseBios?: boolean;
  @IsBoolean()
  @IsOptional()
  preferredUseBiosSerial?: boolean;
  /** Deprecated: use preferredEfi. */
  @IsBoolean()
  @IsOptional()
  preferredUseEfi?: boolean;
  /** Deprecated: use preferredEfi. */
  @IsBoolean()
  @IsOptional()
  preferredUseSecureBoot?: boolean;
}

export class MachinePreferences {
  @IsString()
  @IsOptional()
  preferredMachineType?: string;
}

export class VolumePreferences {
  @IsString()
  @IsOptional()
  preferredStorageClassName?: string;
}

export class CPUPreferenceRequirement {
  @IsInt()
  @JSONSchema({ format: 'int32' })
  guest!: number;
}

export class MemoryPreferenceRequirement {
  @IsQuantity()
  guest!: Quantity;
}

export class PreferenceRequirements {
  @IsString()
  @IsOptional()
  architecture?: string;
  @ValidateNested()
  @Type(() => CPUPreferenceRequirement)
  @IsOptional()
  cpu?: CPUPreferenceRequirement;
  @ValidateNested()
  @Type(() => MemoryPreferenceRequirement)
  @IsOptional()
  memory?: MemoryPreferenceRequirement;
}

export class VirtualMachinePreferenceSpec {
  @IsStringMap()
  @IsOptional()
  annotations?: Record<string, string>;
  @ValidateNested()
  @Type(() => ClockPreferences)
  @IsOptional()
  clock?: ClockPreferences;
  @ValidateNested()
  @Type(() => CPUPreferences)
  @IsOptional()
  cpu?: CPUPreferences;
  @ValidateNested()
  @Type(() => DevicePreferences)
  @IsOptional()
  devices?: DevicePreferences;
  @ValidateNested()
  @Type(() => FeaturePreferences)
  @IsOptional()
  features?: FeaturePreferences;
  @ValidateNested()
  @Type(() => FirmwarePreferences)
  @IsOptional()
  firmware?: FirmwarePreferences;
  @ValidateNested()
  @Type(() => MachinePreferences)
  @IsOptional()
  machine?: MachinePreferences;
  /** Deprecated: use cpu.spreadOptions.ratio. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  preferSpreadSocketToCoreRatio?: number;
  @IsString()
  @IsOptional()
  preferredArchitecture?: string;
  @ValidateNested()
  @Type(() => LaunchSecurity)
  @IsOptional()
  preferredLaunchSecurity?: LaunchSecurity;
  @IsString()
  @IsOptional()
  preferredSubdomain?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  preferredTerminationGracePeriodSeconds?: number;
  /** What a machine must have at least to use it. */
  @ValidateNested()
  @Type(() => PreferenceRequirements)
  @IsOptional()
  requirements?: PreferenceRequirements;
  @ValidateNested()
  @Type(() => VolumePreferences)
  @IsOptional()
  volumes?: VolumePreferences;
}

/** Defaults of devices and features under one name, for the machines of its namespace. A machine may set something else. */
export class VirtualMachinePreference extends ApiObject {
  /** What it prefers. */
  @ValidateNested()
  @Type(() => VirtualMachinePreferenceSpec)
  spec!: VirtualMachinePreferenceSpec;
}

/** Defaults of devices and features under one name, for the machines of all namespaces. A machine may set something else. */
export class VirtualMachineClusterPreference extends ApiObject {
  /** What it prefers. */
  @ValidateNested()
  @Type(() => VirtualMachinePreferenceSpec)
  spec!: VirtualMachinePreferenceSpec;
}
