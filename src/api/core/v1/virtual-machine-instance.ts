// Virtual machine instance: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsIn, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ApiObject } from '../../kube/object.js';
import { ExecAction, HTTPGetAction, PodDNSConfig, TCPSocketAction } from '../../kube/pod.js';
import { Affinity, Toleration, TopologySpreadConstraint } from '../../kube/scheduling.js';
import { IsStringMap } from '../../schema/decorators.js';
import { AccessCredential } from './access-credentials.js';
import { CPU, Memory, ResourceRequirements } from './cpu.js';
import { Devices } from './devices.js';
import { DiskIOThreads } from './disk.js';
import { Clock, Features } from './features.js';
import { Chassis, Firmware, LaunchSecurity, Machine } from './firmware.js';
import { Network } from './interface.js';
import type { GuestAgentPing } from './kubevirt-configuration.js';
import { VirtualMachineInstanceStatus } from './virtual-machine-instance-status.js';
import { UtilityVolume, Volume } from './volume.js';

/** The virtual hardware of a machine. */
export class DomainSpec {
  /** What the guest reads about its case in the SMBIOS tables. */
  @ValidateNested()
  @Type(() => Chassis)
  @IsOptional()
  chassis?: Chassis;
  /** The guest's clock and timers. */
  @ValidateNested()
  @Type(() => Clock)
  @IsOptional()
  clock?: Clock;
  /** Number, model and features of the virtual CPUs. */
  @ValidateNested()
  @Type(() => CPU)
  @IsOptional()
  cpu?: CPU;
  /** Disks, interfaces and the like. */
  @ValidateNested()
  @Type(() => Devices)
  devices!: Devices;
  /** What the hypervisor offers to the guest. */
  @ValidateNested()
  @Type(() => Features)
  @IsOptional()
  features?: Features;
  /** How the machine boots and what identifies it. */
  @ValidateNested()
  @Type(() => Firmware)
  @IsOptional()
  firmware?: Firmware;
  /** How many threads serve the disks, for the policy supplementalPool. */
  @ValidateNested()
  @Type(() => DiskIOThreads)
  @IsOptional()
  ioThreads?: DiskIOThreads;
  /** Which threads serve the disks: shared, auto or supplementalPool. */
  @IsString()
  @IsOptional()
  ioThreadsPolicy?: string;
  /** Encrypts the guest's memory, where the CPU can. */
  @ValidateNested()
  @Type(() => LaunchSecurity)
  @IsOptional()
  launchSecurity?: LaunchSecurity;
  /** The board that is emulated. */
  @ValidateNested()
  @Type(() => Machine)
  @IsOptional()
  machine?: Machine;
  /** How much memory the guest sees. */
  @ValidateNested()
  @Type(() => Memory)
  @IsOptional()
  memory?: Memory;
  /** What a reboot from within the guest does: Reboot it in place, or Terminate the instance. */
  @IsIn(['Reboot', 'Terminate'])
  @IsOptional()
  rebootPolicy?: string;
  /** Requests and limits of the pod; by default they follow from cpu and memory. */
  @ValidateNested()
  @Type(() => ResourceRequirements)
  @IsOptional()
  resources?: ResourceRequirements;
}

export class Probe {
  /** A command that is run in the guest by its agent. */
  @ValidateNested()
  @Type(() => ExecAction)
  @IsOptional()
  exec?: ExecAction;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  failureThreshold?: number;
  /** Whether the guest agent answers. */
  @IsObject()
  @IsOptional()
  guestAgentPing?: GuestAgentPing;
  @ValidateNested()
  @Type(() => HTTPGetAction)
  @IsOptional()
  httpGet?: HTTPGetAction;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  initialDelaySeconds?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  periodSeconds?: number;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  successThreshold?: number;
  @ValidateNested()
  @Type(() => TCPSocketAction)
  @IsOptional()
  tcpSocket?: TCPSocketAction;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  timeoutSeconds?: number;
}

export class VirtualMachineInstanceResourceClaim {
  @IsString()
  name!: string;
  /** An existing claim. Not together with resourceClaimTemplateName. */
  @IsString()
  @IsOptional()
  resourceClaimName?: string;
  /** A template from which a claim is made for this instance. */
  @IsString()
  @IsOptional()
  resourceClaimTemplateName?: string;
}

export class VirtualMachineInstanceSpec {
  /** Keys and passwords that are put into the guest, and kept up to date there. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => AccessCredential)
  @IsOptional()
  @JSONSchema({ maxItems: 256, 'x-kubernetes-list-type': 'atomic' })
  accessCredentials?: AccessCredential[];
  /** Where the pod may run, as for any pod. */
  @ValidateNested()
  @Type(() => Affinity)
  @IsOptional()
  affinity?: Affinity;
  /** CPU architecture of the guest: amd64, arm64 or s390x. By default that of the cluster. */
  @IsString()
  @IsOptional()
  architecture?: string;
  /** DNS settings of the pod, which the guest gets by DHCP. */
  @ValidateNested()
  @Type(() => PodDNSConfig)
  @IsOptional()
  dnsConfig?: PodDNSConfig;
  @IsString()
  @IsOptional()
  dnsPolicy?: string;
  /** The virtual hardware. */
  @ValidateNested()
  @Type(() => DomainSpec)
  domain!: DomainSpec;
  /** What happens when the node is drained: None, LiveMigrate, LiveMigrateIfPossible or External. */
  @IsString()
  @IsOptional()
  evictionStrategy?: string;
  /** Name of the guest; by default that of the object. */
  @IsString()
  @IsOptional()
  hostname?: string;
  /** Ends the instance when it fails. */
  @ValidateNested()
  @Type(() => Probe)
  @IsOptional()
  livenessProbe?: Probe;
  /** What the interfaces are connected to, by name. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Network)
  @IsOptional()
  @JSONSchema({ maxItems: 256 })
  networks?: Network[];
  @IsStringMap()
  @IsOptional()
  nodeSelector?: Record<string, string>;
  @IsString()
  @IsOptional()
  priorityClassName?: string;
  /** Decides whether the instance is ready. */
  @ValidateNested()
  @Type(() => Probe)
  @IsOptional()
  readinessProbe?: Probe;
  /** Devices from Kubernetes' dynamic resource allocation, for use by name in the domain. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => VirtualMachineInstanceResourceClaim)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['name'], 'x-kubernetes-list-type': 'map' })
  resourceClaims?: VirtualMachineInstanceResourceClaim[];
  @IsString()
  @IsOptional()
  schedulerName?: string;
  @IsString()
  @IsOptional()
  serviceAccountName?: string;
  /** Paused: the guest does not begin before it is unpaused. */
  @IsString()
  @IsOptional()
  startStrategy?: string;
  /** With hostname: the name of the guest in the cluster's DNS. */
  @IsString()
  @IsOptional()
  subdomain?: string;
  /** How long the guest may take to shut down before it is switched off. 30 by default. */
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int64' })
  terminationGracePeriodSeconds?: number;
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Toleration)
  @IsOptional()
  tolerations?: Toleration[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => TopologySpreadConstraint)
  @IsOptional()
  @JSONSchema({ 'x-kubernetes-list-map-keys': ['topologyKey', 'whenUnsatisfiable'], 'x-kubernetes-list-type': 'map' })
  topologySpreadConstraints?: TopologySpreadConstraint[];
  /** Volumes for the machinery around the guest, which the guest does not see. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => UtilityVolume)
  @IsOptional()
  @JSONSchema({ maxItems: 256, 'x-kubernetes-list-map-keys': ['name'], 'x-kubernetes-list-type': 'map' })
  utilityVolumes?: UtilityVolume[];
  /** Where the content of the disks comes from, by name. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Volume)
  @IsOptional()
  @JSONSchema({ maxItems: 256 })
  volumes?: Volume[];
}

/** One run of a virtual machine: it is scheduled to a node, runs there and ends. Usually made and kept by a VirtualMachine. */
export class VirtualMachineInstance extends ApiObject {
  /** What runs. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceSpec)
  spec!: VirtualMachineInstanceSpec;
  /** What the controllers and the node see; written by them only. */
  @ValidateNested()
  @Type(() => VirtualMachineInstanceStatus)
  @IsOptional()
  status?: VirtualMachineInstanceStatus;
}
