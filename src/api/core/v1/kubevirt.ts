// Kubevirt: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsIn, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { LocalObjectReference } from '../../kube/pod.js';
import { LabelSelector } from '../../kube/storage.js';
import type { ObjectMeta, Quantity, Time } from '../../meta.js';
import { IsBooleanMap, IsQuantity, IsTime } from '../../schema/decorators.js';
import {
  ArchConfiguration,
  ChangedBlockTrackingSelectors,
  CommonInstancetypesDeployment,
  ConfidentialComputeConfiguration,
  DeveloperConfiguration,
  HypervisorConfiguration,
  KSMConfiguration,
  LiveUpdateConfiguration,
  NetworkConfiguration,
  PersistentReservationConfiguration,
  ReloadableComponentConfiguration,
  SeccompConfiguration,
  SMBiosConfiguration,
  SupportContainerResources,
  TLSConfiguration,
  VirtTemplateDeployment,
  VirtualMachineOptions,
} from './kubevirt-configuration.js';
import {
  ComponentConfig,
  CustomizeComponents,
  GenerationStatus,
  KubeVirtCertificateRotateStrategy,
  KubeVirtWorkloadUpdateStrategy,
} from './kubevirt-deployment.js';
import { MigrationConfiguration } from './migration-configuration.js';
import { MediatedDevicesConfiguration, PermittedHostDevices } from './permitted-host-devices.js';

@JSONSchema({ nullable: true })
export class InstancetypeConfiguration {
  @IsIn(['reference', 'expand', 'expandAll'])
  @IsOptional()
  @JSONSchema({ nullable: true })
  referencePolicy?: string;
}

export class KubeVirtConfiguration {
  @IsString()
  @IsOptional()
  additionalGuestMemoryOverheadRatio?: string;
  @ValidateNested()
  @Type(() => ReloadableComponentConfiguration)
  @IsOptional()
  apiConfiguration?: ReloadableComponentConfiguration;
  @ValidateNested()
  @Type(() => ArchConfiguration)
  @IsOptional()
  architectureConfiguration?: ArchConfiguration;
  @ValidateNested()
  @Type(() => LabelSelector)
  @IsOptional()
  autoCPULimitNamespaceLabelSelector?: LabelSelector;
  @ValidateNested()
  @Type(() => ChangedBlockTrackingSelectors)
  @IsOptional()
  changedBlockTrackingLabelSelectors?: ChangedBlockTrackingSelectors;
  @ValidateNested()
  @Type(() => CommonInstancetypesDeployment)
  @IsOptional()
  commonInstancetypesDeployment?: CommonInstancetypesDeployment;
  @ValidateNested()
  @Type(() => ConfidentialComputeConfiguration)
  @IsOptional()
  confidentialCompute?: ConfidentialComputeConfiguration;
  @ValidateNested()
  @Type(() => ReloadableComponentConfiguration)
  @IsOptional()
  controllerConfiguration?: ReloadableComponentConfiguration;
  @IsString()
  @IsOptional()
  cpuModel?: string;
  @IsQuantity()
  @IsOptional()
  cpuRequest?: Quantity;
  @IsString()
  @IsOptional()
  defaultRuntimeClass?: string;
  @ValidateNested()
  @Type(() => DeveloperConfiguration)
  @IsOptional()
  developerConfiguration?: DeveloperConfiguration;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  emulatedMachines?: string[];
  @IsString()
  @IsOptional()
  evictionStrategy?: string;
  @ValidateNested()
  @Type(() => ReloadableComponentConfiguration)
  @IsOptional()
  handlerConfiguration?: ReloadableComponentConfiguration;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => HypervisorConfiguration)
  @IsOptional()
  @JSONSchema({ maxItems: 1, 'x-kubernetes-list-type': 'atomic' })
  hypervisors?: HypervisorConfiguration[];
  @IsString()
  @IsOptional()
  imagePullPolicy?: string;
  @ValidateNested()
  @Type(() => InstancetypeConfiguration)
  @IsOptional()
  instancetype?: InstancetypeConfiguration;
  @ValidateNested()
  @Type(() => KSMConfiguration)
  @IsOptional()
  ksmConfiguration?: KSMConfiguration;
  @ValidateNested()
  @Type(() => LiveUpdateConfiguration)
  @IsOptional()
  liveUpdateConfiguration?: LiveUpdateConfiguration;
  @IsString()
  @IsOptional()
  machineType?: string;
  @ValidateNested()
  @Type(() => MediatedDevicesConfiguration)
  @IsOptional()
  mediatedDevicesConfiguration?: MediatedDevicesConfiguration;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  memBalloonStatsPeriod?: number;
  @ValidateNested()
  @Type(() => MigrationConfiguration)
  @IsOptional()
  migrations?: MigrationConfiguration;
  @IsString()
  @IsOptional()
  minCPUModel?: string;
  @ValidateNested()
  @Type(() => NetworkConfiguration)
  @IsOptional()
  network?: NetworkConfiguration;
  @IsBooleanMap()
  @IsOptional()
  obsoleteCPUModels?: Record<string, boolean>;
  @IsString()
  @IsOptional()
  ovmfPath?: string;
  @ValidateNested()
  @Type(() => PermittedHostDevices)
  @IsOptional()
  permittedHostDevices?: PermittedHostDevices;
  @ValidateNested()
  @Type(() => PersistentReservationConfiguration)
  @IsOptional()
  persistentReservationConfiguration?: PersistentReservationConfiguration;
  @IsIn(['AggregateToDefault', 'Manual'])
  @IsOptional()
  roleAggregationStrategy?: string;
  @ValidateNested()
  @Type(() => SeccompConfiguration)
  @IsOptional()
  seccompConfiguration?: SeccompConfiguration;
  @IsString()
  @IsOptional()
  selinuxLauncherType?: string;
  @ValidateNested()
  @Type(() => SMBiosConfiguration)
  @IsOptional()
  smbios?: SMBiosConfiguration;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => SupportContainerResources)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['type'], 'x-kubernetes-list-type': 'map' })
  supportContainerResources?: SupportContainerResources[];
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  supportedGuestAgentVersions?: string[];
  @ValidateNested()
  @Type(() => TLSConfiguration)
  @IsOptional()
  tlsConfiguration?: TLSConfiguration;
  @ValidateNested()
  @Type(() => VirtTemplateDeployment)
  @IsOptional()
  virtTemplateDeployment?: VirtTemplateDeployment;
  @IsInt()
  @IsOptional()
  virtualMachineInstancesPerNode?: number;
  @ValidateNested()
  @Type(() => VirtualMachineOptions)
  @IsOptional()
  virtualMachineOptions?: VirtualMachineOptions;
  @IsIn(['Stage', 'LiveUpdate'])
  @IsOptional()
  @JSONSchema({ nullable: true })
  vmRolloutStrategy?: string;
  @IsString()
  @IsOptional()
  vmStateStorageClass?: string;
  @ValidateNested()
  @Type(() => ReloadableComponentConfiguration)
  @IsOptional()
  webhookConfiguration?: ReloadableComponentConfiguration;
}

export class KubeVirtSpec {
  @ValidateNested()
  @Type(() => KubeVirtCertificateRotateStrategy)
  @IsOptional()
  certificateRotateStrategy?: KubeVirtCertificateRotateStrategy;
  @ValidateNested()
  @Type(() => KubeVirtConfiguration)
  @IsOptional()
  configuration?: KubeVirtConfiguration;
  @ValidateNested()
  @Type(() => CustomizeComponents)
  @IsOptional()
  customizeComponents?: CustomizeComponents;
  @IsString()
  @IsOptional()
  imagePullPolicy?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => LocalObjectReference)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  imagePullSecrets?: LocalObjectReference[];
  @IsString()
  @IsOptional()
  imageRegistry?: string;
  @IsString()
  @IsOptional()
  imageTag?: string;
  @ValidateNested()
  @Type(() => ComponentConfig)
  @IsOptional()
  infra?: ComponentConfig;
  @IsString()
  @IsOptional()
  monitorAccount?: string;
  @IsString()
  @IsOptional()
  monitorNamespace?: string;
  @IsString()
  @IsOptional()
  productComponent?: string;
  @IsString()
  @IsOptional()
  productName?: string;
  @IsString()
  @IsOptional()
  productVersion?: string;
  @IsString()
  @IsOptional()
  serviceMonitorNamespace?: string;
  @IsString()
  @IsOptional()
  synchronizationPort?: string;
  @IsString()
  @IsOptional()
  uninstallStrategy?: string;
  @ValidateNested()
  @Type(() => KubeVirtWorkloadUpdateStrategy)
  @IsOptional()
  workloadUpdateStrategy?: KubeVirtWorkloadUpdateStrategy;
  @ValidateNested()
  @Type(() => ComponentConfig)
  @IsOptional()
  workloads?: ComponentConfig;
}

export class KubeVirtCondition {
  @IsTime({ nullable: true })
  @IsOptional()
  lastProbeTime?: Time;
  @IsTime({ nullable: true })
  @IsOptional()
  lastTransitionTime?: Time;
  @IsString()
  @IsOptional()
  message?: string;
  @IsString()
  @IsOptional()
  reason?: string;
  @IsString()
  status!: string;
  @IsString()
  type!: string;
}

export class KubeVirtStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => KubeVirtCondition)
  @IsOptional()
  conditions?: KubeVirtCondition[];
  @IsString()
  @IsOptional()
  defaultArchitecture?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => GenerationStatus)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  generations?: GenerationStatus[];
  @IsString()
  @IsOptional()
  observedDeploymentConfig?: string;
  @IsString()
  @IsOptional()
  observedDeploymentID?: string;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  observedGeneration?: number;
  @IsString()
  @IsOptional()
  observedKubeVirtRegistry?: string;
  @IsString()
  @IsOptional()
  observedKubeVirtVersion?: string;
  @IsString()
  @IsOptional()
  operatorVersion?: string;
  @IsInt()
  @IsOptional()
  outdatedVirtualMachineInstanceWorkloads?: number;
  @IsString()
  @IsOptional()
  phase?: string;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  synchronizationAddresses?: string[];
  @IsString()
  @IsOptional()
  targetDeploymentConfig?: string;
  @IsString()
  @IsOptional()
  targetDeploymentID?: string;
  @IsString()
  @IsOptional()
  targetKubeVirtRegistry?: string;
  @IsString()
  @IsOptional()
  targetKubeVirtVersion?: string;
}

export class KubeVirt {
  @IsString()
  @IsOptional()
  apiVersion?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsObject()
  @IsOptional()
  metadata!: ObjectMeta;
  @ValidateNested()
  @Type(() => KubeVirtSpec)
  spec!: KubeVirtSpec;
  @ValidateNested()
  @Type(() => KubeVirtStatus)
  @IsOptional()
  status?: KubeVirtStatus;
}
