// Virtual machine instance: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsIn, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ExecAction, HTTPGetAction, PodDNSConfig, TCPSocketAction } from '../../kube/pod.js';
import { Affinity, Toleration, TopologySpreadConstraint } from '../../kube/scheduling.js';
import type { ObjectMeta } from '../../meta.js';
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

export class DomainSpec {
  @ValidateNested()
  @Type(() => Chassis)
  @IsOptional()
  chassis?: Chassis;
  @ValidateNested()
  @Type(() => Clock)
  @IsOptional()
  clock?: Clock;
  @ValidateNested()
  @Type(() => CPU)
  @IsOptional()
  cpu?: CPU;
  @ValidateNested()
  @Type(() => Devices)
  devices!: Devices;
  @ValidateNested()
  @Type(() => Features)
  @IsOptional()
  features?: Features;
  @ValidateNested()
  @Type(() => Firmware)
  @IsOptional()
  firmware?: Firmware;
  @ValidateNested()
  @Type(() => DiskIOThreads)
  @IsOptional()
  ioThreads?: DiskIOThreads;
  @IsString()
  @IsOptional()
  ioThreadsPolicy?: string;
  @ValidateNested()
  @Type(() => LaunchSecurity)
  @IsOptional()
  launchSecurity?: LaunchSecurity;
  @ValidateNested()
  @Type(() => Machine)
  @IsOptional()
  machine?: Machine;
  @ValidateNested()
  @Type(() => Memory)
  @IsOptional()
  memory?: Memory;
  @IsIn(['Reboot', 'Terminate'])
  @IsOptional()
  rebootPolicy?: string;
  @ValidateNested()
  @Type(() => ResourceRequirements)
  @IsOptional()
  resources?: ResourceRequirements;
}

export class Probe {
  @ValidateNested()
  @Type(() => ExecAction)
  @IsOptional()
  exec?: ExecAction;
  @IsInt()
  @IsOptional()
  @JSONSchema({ format: 'int32' })
  failureThreshold?: number;
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
  @IsString()
  @IsOptional()
  resourceClaimName?: string;
  @IsString()
  @IsOptional()
  resourceClaimTemplateName?: string;
}

export class VirtualMachineInstanceSpec {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => AccessCredential)
  @IsOptional()
  @JSONSchema({ maxItems: 256, 'x-kubernetes-list-type': 'atomic' })
  accessCredentials?: AccessCredential[];
  @ValidateNested()
  @Type(() => Affinity)
  @IsOptional()
  affinity?: Affinity;
  @IsString()
  @IsOptional()
  architecture?: string;
  @ValidateNested()
  @Type(() => PodDNSConfig)
  @IsOptional()
  dnsConfig?: PodDNSConfig;
  @IsString()
  @IsOptional()
  dnsPolicy?: string;
  @ValidateNested()
  @Type(() => DomainSpec)
  domain!: DomainSpec;
  @IsString()
  @IsOptional()
  evictionStrategy?: string;
  @IsString()
  @IsOptional()
  hostname?: string;
  @ValidateNested()
  @Type(() => Probe)
  @IsOptional()
  livenessProbe?: Probe;
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
  @ValidateNested()
  @Type(() => Probe)
  @IsOptional()
  readinessProbe?: Probe;
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
  @IsString()
  @IsOptional()
  startStrategy?: string;
  @IsString()
  @IsOptional()
  subdomain?: string;
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
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => UtilityVolume)
  @IsOptional()
  @JSONSchema({ maxItems: 256, 'x-kubernetes-list-map-keys': ['name'], 'x-kubernetes-list-type': 'map' })
  utilityVolumes?: UtilityVolume[];
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Volume)
  @IsOptional()
  @JSONSchema({ maxItems: 256 })
  volumes?: Volume[];
}

export class VirtualMachineInstance {
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
  @Type(() => VirtualMachineInstanceSpec)
  spec!: VirtualMachineInstanceSpec;
  @ValidateNested()
  @Type(() => VirtualMachineInstanceStatus)
  @IsOptional()
  status?: VirtualMachineInstanceStatus;
}
