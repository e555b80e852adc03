// Features: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsBoolean, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

export class HPETTimer {
  @IsBoolean()
  @IsOptional()
  present?: boolean;
  @IsString()
  @IsOptional()
  tickPolicy?: string;
}

export class HypervTimer {
  @IsBoolean()
  @IsOptional()
  present?: boolean;
}

export class KVMTimer {
  @IsBoolean()
  @IsOptional()
  present?: boolean;
}

export class PITTimer {
  @IsBoolean()
  @IsOptional()
  present?: boolean;
  @IsString()
  @IsOptional()
  tickPolicy?: string;
}

export class RTCTimer {
  @IsBoolean()
  @IsOptional()
  present?: boolean;
  @IsString()
  @IsOptional()
  tickPolicy?: string;
  @IsString()
  @IsOptional()
  track?: string;
}

export class Timer {
  @ValidateNested()
  @Type(() => HPETTimer)
  @IsOptional()
  hpet?: HPETTimer;
  @ValidateNested()
  @Type(() => HypervTimer)
  @IsOptional()
  hyperv?: HypervTimer;
  @ValidateNested()
  @Type(() => KVMTimer)
  @IsOptional()
  kvm?: KVMTimer;
  @ValidateNested()
  @Type(() => PITTimer)
  @IsOptional()
  pit?: PITTimer;
  @ValidateNested()
  @Type(() => RTCTimer)
  @IsOptional()
  rtc?: RTCTimer;
}

export class ClockOffsetUTC {
  @IsInt()
  @IsOptional()
  offsetSeconds?: number;
}

@JSONSchema({ 'x-kubernetes-preserve-unknown-fields': true })
export class Clock {
  @ValidateNested()
  @Type(() => Timer)
  @IsOptional()
  timer?: Timer;
  /** Time zone of the guest's hardware clock. */
  @IsString()
  @IsOptional()
  timezone?: string;
  /** The hardware clock shows UTC, with an offset. */
  @ValidateNested()
  @Type(() => ClockOffsetUTC)
  @IsOptional()
  utc?: ClockOffsetUTC;
}

export class FeatureAPIC {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  @IsBoolean()
  @IsOptional()
  endOfInterrupt?: boolean;
}

export class FeatureState {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
}

export class FeatureSpinlocks {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  spinlocks?: number;
}

export class SyNICTimer {
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  direct?: FeatureState;
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
}

export class TLBFlush {
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  direct?: FeatureState;
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  extended?: FeatureState;
}

export class FeatureVendorID {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
  @IsString()
  @IsOptional()
  vendorid?: string;
}

export class FeatureHyperv {
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  evmcs?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  frequencies?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  ipi?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  reenlightenment?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  relaxed?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  reset?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  runtime?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureSpinlocks)
  @IsOptional()
  spinlocks?: FeatureSpinlocks;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  synic?: FeatureState;
  @ValidateNested()
  @Type(() => SyNICTimer)
  @IsOptional()
  synictimer?: SyNICTimer;
  @ValidateNested()
  @Type(() => TLBFlush)
  @IsOptional()
  tlbflush?: TLBFlush;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  vapic?: FeatureState;
  @ValidateNested()
  @Type(() => FeatureVendorID)
  @IsOptional()
  vendorid?: FeatureVendorID;
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  vpindex?: FeatureState;
}

export class FeatureKVM {
  /** Whether the guest is not told that it runs on KVM. */
  @IsBoolean()
  @IsOptional()
  hidden?: boolean;
}

export class HyperVPassthrough {
  @IsBoolean()
  @IsOptional()
  enabled?: boolean;
}

export class Features {
  /** Power management tables; on by default. */
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  acpi?: FeatureState;
  /** Interrupt controller. */
  @ValidateNested()
  @Type(() => FeatureAPIC)
  @IsOptional()
  apic?: FeatureAPIC;
  /** What Windows expects of its own hypervisor; makes it quicker. */
  @ValidateNested()
  @Type(() => FeatureHyperv)
  @IsOptional()
  hyperv?: FeatureHyperv;
  /** All of hyperv that the node can. */
  @ValidateNested()
  @Type(() => HyperVPassthrough)
  @IsOptional()
  hypervPassthrough?: HyperVPassthrough;
  /** How the guest sees KVM. */
  @ValidateNested()
  @Type(() => FeatureKVM)
  @IsOptional()
  kvm?: FeatureKVM;
  /** Locks that tell the hypervisor that they wait. */
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  pvspinlock?: FeatureState;
  /** System management mode, which secure boot needs. */
  @ValidateNested()
  @Type(() => FeatureState)
  @IsOptional()
  smm?: FeatureState;
}
