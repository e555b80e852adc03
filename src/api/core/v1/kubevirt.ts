// Kubevirt: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsIn, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ObjectCondition } from '../../kube/condition.js';
import { ApiObject } from '../../kube/object.js';
import { LocalObjectReference } from '../../kube/pod.js';
import { LabelSelector } from '../../kube/storage.js';
import type { Quantity } from '../../meta.js';
import { IsBooleanMap, IsQuantity } from '../../schema/decorators.js';
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
  /** Factor on the memory that is computed around each guest. */
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
  /** CPU model of machines that name none. */
  @IsString()
  @IsOptional()
  cpuModel?: string;
  /** Requested a virtual CPU. 100m by default. */
  @IsQuantity()
  @IsOptional()
  cpuRequest?: Quantity;
  /** Runtime class of launchers. */
  @IsString()
  @IsOptional()
  defaultRuntimeClass?: string;
  /** Feature gates, log levels and such. */
  @ValidateNested()
  @Type(() => DeveloperConfiguration)
  @IsOptional()
  developerConfiguration?: DeveloperConfiguration;
  @IsArray()
  @IsString({ each: true })
  @IsOptional()
  emulatedMachines?: string[];
  /** Of machines that name none. */
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
  /** How VMs refer to instance types. */
  @ValidateNested()
  @Type(() => InstancetypeConfiguration)
  @IsOptional()
  instancetype?: InstancetypeConfiguration;
  @ValidateNested()
  @Type(() => KSMConfiguration)
  @IsOptional()
  ksmConfiguration?: KSMConfiguration;
  /** How far CPUs and memory can grow while a machine runs. */
  @ValidateNested()
  @Type(() => LiveUpdateConfiguration)
  @IsOptional()
  liveUpdateConfiguration?: LiveUpdateConfiguration;
  @IsString()
  @IsOptional()
  machineType?: string;
  /** Mediated devices that nodes make. */
  @ValidateNested()
  @Type(() => MediatedDevicesConfiguration)
  @IsOptional()
  mediatedDevicesConfiguration?: MediatedDevicesConfiguration;
  /** Seconds between two measurements of the guests' memory; 0 for none. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  memBalloonStatsPeriod?: number;
  /** Limits of live migrations. */
  @ValidateNested()
  @Type(() => MigrationConfiguration)
  @IsOptional()
  migrations?: MigrationConfiguration;
  @IsString()
  @IsOptional()
  minCPUModel?: string;
  /** Networks of machines. */
  @ValidateNested()
  @Type(() => NetworkConfiguration)
  @IsOptional()
  network?: NetworkConfiguration;
  /** CPU models that nodes do not offer. */
  @IsBooleanMap()
  @IsOptional()
  obsoleteCPUModels?: Record<string, boolean>;
  @IsString()
  @IsOptional()
  ovmfPath?: string;
  /** Devices of nodes that machines may use. */
  @ValidateNested()
  @Type(() => PermittedHostDevices)
  @IsOptional()
  permittedHostDevices?: PermittedHostDevices;
  @ValidateNested()
  @Type(() => PersistentReservationConfiguration)
  @IsOptional()
  persistentReservationConfiguration?: PersistentReservationConfiguration;
  /** Whether users with Kubernetes' default roles get those of this API too. */
  @IsIn(['AggregateToDefault', 'Manual'])
  @IsOptional()
  roleAggregationStrategy?: string;
  /** System calls that launchers may make. */
  @ValidateNested()
  @Type(() => SeccompConfiguration)
  @IsOptional()
  seccompConfiguration?: SeccompConfiguration;
  /** SELinux type of launchers. */
  @IsString()
  @IsOptional()
  selinuxLauncherType?: string;
  /** What guests read about the maker of the machine. */
  @ValidateNested()
  @Type(() => SMBiosConfiguration)
  @IsOptional()
  smbios?: SMBiosConfiguration;
  /** Resources of the containers beside the guest's. */
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
  /** TLS of all components. */
  @ValidateNested()
  @Type(() => TLSConfiguration)
  @IsOptional()
  tlsConfiguration?: TLSConfiguration;
  @ValidateNested()
  @Type(() => VirtTemplateDeployment)
  @IsOptional()
  virtTemplateDeployment?: VirtTemplateDeployment;
  /** How many machines a node takes. 110 by default. */
  @IsInt()
  @IsOptional()
  virtualMachineInstancesPerNode?: number;
  @ValidateNested()
  @Type(() => VirtualMachineOptions)
  @IsOptional()
  virtualMachineOptions?: VirtualMachineOptions;
  /** When changes of a VM reach the running instance: LiveUpdate at once where possible, or Stage at the next restart. */
  @IsIn(['Stage', 'LiveUpdate'])
  @IsOptional()
  @JSONSchema({ nullable: true })
  vmRolloutStrategy?: string;
  /** Storage class of what machines keep: TPM and EFI variables. */
  @IsString()
  @IsOptional()
  vmStateStorageClass?: string;
  @ValidateNested()
  @Type(() => ReloadableComponentConfiguration)
  @IsOptional()
  webhookConfiguration?: ReloadableComponentConfiguration;
}

export class KubeVirtSpec {
  /** How long certificates are valid. */
  @ValidateNested()
  @Type(() => KubeVirtCertificateRotateStrategy)
  @IsOptional()
  certificateRotateStrategy?: KubeVirtCertificateRotateStrategy;
  /** How machines and components behave. */
  @ValidateNested()
  @Type(() => KubeVirtConfiguration)
  @IsOptional()
  configuration?: KubeVirtConfiguration;
  /** Patches and flags of the components. */
  @ValidateNested()
  @Type(() => CustomizeComponents)
  @IsOptional()
  customizeComponents?: CustomizeComponents;
  /** Of the components' images. */
  @IsString()
  @IsOptional()
  imagePullPolicy?: string;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => LocalObjectReference)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-type': 'atomic' })
  imagePullSecrets?: LocalObjectReference[];
  /** Registry to take images from, in place of the operator's own. */
  @IsString()
  @IsOptional()
  imageRegistry?: string;
  /** Version to install, in place of the operator's own. */
  @IsString()
  @IsOptional()
  imageTag?: string;
  /** Where virt-api and virt-controller run, and how often. */
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
  /**
   * Whether the deletion of this object takes machines with it (RemoveWorkloads) or waits for their end (BlockUninstallIfWorkloadsExist).
   */
  @IsString()
  @IsOptional()
  uninstallStrategy?: string;
  /** How running machines get to a new version of the launcher. */
  @ValidateNested()
  @Type(() => KubeVirtWorkloadUpdateStrategy)
  @IsOptional()
  workloadUpdateStrategy?: KubeVirtWorkloadUpdateStrategy;
  /** Where machines and virt-handler run. */
  @ValidateNested()
  @Type(() => ComponentConfig)
  @IsOptional()
  workloads?: ComponentConfig;
}

export class KubeVirtStatus {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ObjectCondition)
  @IsOptional()
  conditions?: ObjectCondition[];
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
  /** The version that is installed. */
  @IsString()
  @IsOptional()
  observedKubeVirtVersion?: string;
  @IsString()
  @IsOptional()
  operatorVersion?: string;
  /** How many machines run in a launcher of an older version. */
  @IsInt()
  @IsOptional()
  outdatedVirtualMachineInstanceWorkloads?: number;
  /** Deploying, Deployed, Deleting or Deleted. */
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
  /** The version that is being installed. */
  @IsString()
  @IsOptional()
  targetKubeVirtVersion?: string;
}

/** The installation: its operator installs, updates and removes everything else by what stands here. One a cluster. */
export class KubeVirt extends ApiObject {
  /** What to install and how it behaves. */
  @ValidateNested()
  @Type(() => KubeVirtSpec)
  spec!: KubeVirtSpec;
  /** What is installed. */
  @ValidateNested()
  @Type(() => KubeVirtStatus)
  @IsOptional()
  status?: KubeVirtStatus;
}
