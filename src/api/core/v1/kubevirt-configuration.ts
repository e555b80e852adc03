// Kubevirt configuration: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsInt, IsNumber, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { LabelSelector } from '../../kube/storage.js';
import type { Quantity } from '../../meta.js';
import { IsIntMap, IsMapOf, IsQuantity, IsQuantityMap, IsStringMap } from '../../schema/decorators.js';

export class ArchSpecificConfiguration {
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  emulatedMachines?: string[];
  @IsString()
  @IsOptional()
  machineType?: string;
  @IsString()
  @IsOptional()
  ovmfPath?: string;
}

export class ArchConfiguration {
  @ValidateNested()
  @Type(() => ArchSpecificConfiguration)
  @IsOptional()
  amd64?: ArchSpecificConfiguration;
  @ValidateNested()
  @Type(() => ArchSpecificConfiguration)
  @IsOptional()
  arm64?: ArchSpecificConfiguration;
  @IsString()
  @IsOptional()
  defaultArchitecture?: string;
  @ValidateNested()
  @Type(() => ArchSpecificConfiguration)
  @IsOptional()
  ppc64le?: ArchSpecificConfiguration;
  @ValidateNested()
  @Type(() => ArchSpecificConfiguration)
  @IsOptional()
  s390x?: ArchSpecificConfiguration;
}

@JSONSchema({ nullable: true })
export class ChangedBlockTrackingSelectors {
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  namespaceLabelSelector?: LabelSelector;
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  virtualMachineLabelSelector?: LabelSelector;
}

@JSONSchema({ nullable: true })
export class CommonInstancetypesDeployment {
  @IsBoolean()
  @IsOptional()
  @JSONSchema({ nullable: true })
  enabled?: boolean;
}

export class TDXAttestationConfiguration {
  @IsBoolean()
  @IsOptional()
  @JSONSchema({ default: false })
  enforced?: boolean;
  @IsString()
  @IsOptional()
  @JSONSchema({ default: '/var/run/tdx-qgs/qgs.socket' })
  qgsSocketPath?: string;
}

@JSONSchema({ nullable: true })
export class TDXConfiguration {
  @ValidateNested()
  @Type(() => TDXAttestationConfiguration)
  @IsOptional()
  attestation?: TDXAttestationConfiguration;
}

@JSONSchema({ nullable: true })
export class ConfidentialComputeConfiguration {
  @ValidateNested()
  @Type(() => TDXConfiguration)
  @IsOptional()
  tdx?: TDXConfiguration;
}

export class CustomProfile {
  @IsString()
  @IsOptional()
  localhostProfile?: string;
  @IsBoolean()
  @IsOptional()
  runtimeDefaultProfile?: boolean;
}

export class DiskVerification {
  @IsQuantity()
  memoryLimit!: Quantity;
}

export class LogVerbosity {
  @IsIntMap()
  @IsOptional()
  nodeVerbosity?: Record<string, number>;
  @IsInt()
  @IsOptional()
  virtAPI?: number;
  @IsInt()
  @IsOptional()
  virtController?: number;
  @IsInt()
  @IsOptional()
  virtHandler?: number;
  @IsInt()
  @IsOptional()
  virtLauncher?: number;
  @IsInt()
  @IsOptional()
  virtOperator?: number;
  @IsInt()
  @IsOptional()
  virtSynchronizationController?: number;
}

export class DeveloperConfiguration {
  @IsBoolean()
  @IsOptional()
  clusterProfiler?: boolean;
  /** Virtual CPUs a CPU of the node, for machines without dedicated ones. 10 by default. */
  @IsInt()
  @IsOptional()
  cpuAllocationRatio?: number;
  /** Gates that are on by default and shall be off. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  disabledFeatureGates?: string[];
  @ValidateNested()
  @Type(() => DiskVerification)
  @IsOptional()
  diskVerification?: DiskVerification;
  /** Gates that are off by default and shall be on. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  featureGates?: string[];
  @ValidateNested()
  @Type(() => LogVerbosity)
  @IsOptional()
  logVerbosity?: LogVerbosity;
  /** Guest memory in percent of what the pod asks for. 100 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ minimum: 10 })
  memoryOvercommit?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  minimumClusterTSCFrequency?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  minimumReservePVCBytes?: number;
  /** Labels that nodes of machines must have. */
  @IsStringMap()
  @IsOptional()
  nodeSelectors?: Record<string, string>;
  /** By how much a claim may turn out smaller than the disk in it. */
  @IsInt()
  @IsOptional()
  pvcTolerateLessSpaceUpToPercent?: number;
  /** Runs guests without hardware virtualization where there is none: slow. */
  @IsBoolean()
  @IsOptional()
  useEmulation?: boolean;
}

export type DisableFreePageReporting = Record<string, never>;

export type DisableSerialConsoleLog = Record<string, never>;

export type GuestAgentPing = Record<string, never>;

export class HypervisorConfiguration {
  @IsIn(['kvm', 'hyperv-direct'])
  @IsOptional()
  name?: string;
}

export class InterfaceBindingMigration {
  @IsString()
  @IsOptional()
  method?: string;
}

export class ResourceRequirementsWithoutClaims {
  @IsQuantityMap()
  @IsOptional()
  limits?: Record<string, Quantity>;
  @IsQuantityMap()
  @IsOptional()
  requests?: Record<string, Quantity>;
}

export class InterfaceBindingPlugin {
  @ValidateNested()
  @Type(() => ResourceRequirementsWithoutClaims)
  @IsOptional()
  computeResourceOverhead?: ResourceRequirementsWithoutClaims;
  @IsString()
  @IsOptional()
  domainAttachmentType?: string;
  @IsString()
  @IsOptional()
  downwardAPI?: string;
  @ValidateNested()
  @Type(() => InterfaceBindingMigration)
  @IsOptional()
  migration?: InterfaceBindingMigration;
  @IsString()
  @IsOptional()
  networkAttachmentDefinition?: string;
  @IsString()
  @IsOptional()
  sidecarImage?: string;
}

export class KSMConfiguration {
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  nodeLabelSelector?: LabelSelector;
}

export class LiveUpdateConfiguration {
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  maxCpuSockets?: number;
  @IsQuantity()
  @IsOptional()
  maxGuest?: Quantity;
  /** How many times its CPUs and memory a machine can grow to. 4 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  maxHotplugRatio?: number;
}

export class NetworkConfiguration {
  /** Network plugins by name, for use in interfaces. */
  @IsMapOf(() => InterfaceBindingPlugin)
  @IsOptional()
  binding?: Record<string, InterfaceBindingPlugin>;
  /** Of machines that name none: masquerade, bridge or such. */
  @IsString()
  @IsOptional()
  defaultNetworkInterface?: string;
  /** Whether the bridge binding may be used on the pod network. True by default. */
  @IsBoolean()
  @IsOptional()
  permitBridgeInterfaceOnPodNetwork?: boolean;
  @IsBoolean()
  @IsOptional()
  permitSlirpInterface?: boolean;
}

@JSONSchema({ nullable: true })
export class PersistentReservationConfiguration {
  @IsBoolean()
  @IsOptional()
  @JSONSchema({ nullable: true })
  enabled?: boolean;
}

export class TokenBucketRateLimiter {
  @IsInt()
  burst!: number;
  @IsNumber()
  qps!: number;
}

export class RateLimiter {
  @ValidateNested()
  @Type(() => TokenBucketRateLimiter)
  @IsOptional()
  tokenBucketRateLimiter?: TokenBucketRateLimiter;
}

export class RESTClientConfiguration {
  @ValidateNested()
  @Type(() => RateLimiter)
  @IsOptional()
  rateLimiter?: RateLimiter;
}

export class ReloadableComponentConfiguration {
  @ValidateNested()
  @Type(() => RESTClientConfiguration)
  @IsOptional()
  restClient?: RESTClientConfiguration;
}

export class SMBiosConfiguration {
  @IsString()
  @IsOptional()
  family?: string;
  @IsString()
  @IsOptional()
  manufacturer?: string;
  @IsString()
  @IsOptional()
  product?: string;
  @IsString()
  @IsOptional()
  sku?: string;
  @IsString()
  @IsOptional()
  version?: string;
}

export class VirtualMachineInstanceProfile {
  @ValidateNested()
  @Type(() => CustomProfile)
  @IsOptional()
  customProfile?: CustomProfile;
}

export class SeccompConfiguration {
  @ValidateNested()
  @Type(() => VirtualMachineInstanceProfile)
  @IsOptional()
  virtualMachineInstanceProfile?: VirtualMachineInstanceProfile;
}

export class SupportContainerResources {
  @ValidateNested()
  @Type(() => ResourceRequirementsWithoutClaims)
  resources!: ResourceRequirementsWithoutClaims;
  @IsString()
  type!: string;
}

export class TLSConfiguration {
  /** Names of the cipher suites for TLS 1.2 and older. */
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'set' })
  ciphers?: string[];
  /** VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. */
  @IsIn(['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'])
  @IsOptional()
  minTLSVersion?: string;
}

@JSONSchema({ nullable: true })
export class VirtTemplateDeployment {
  @IsBoolean()
  @IsOptional()
  @JSONSchema({ nullable: true })
  enabled?: boolean;
}

export class VirtualMachineOptions {
  @IsObject()
  @IsOptional()
  disableFreePageReporting?: DisableFreePageReporting;
  @IsObject()
  @IsOptional()
  disableSerialConsoleLog?: DisableSerialConsoleLog;
}
