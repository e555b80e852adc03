// Labels, annotations, finalizers and resource names: the words by which the parts find each other's objects.

export const LABEL = {
  app: 'kubevirt.io',
  createdBy: 'kubevirt.io/created-by',
  nodeName: 'kubevirt.io/nodeName',
  migrationTargetNodeName: 'kubevirt.io/migrationTargetNodeName',
  outdatedLauncherImage: 'kubevirt.io/outdatedLauncherImage',
  schedulable: 'kubevirt.io/schedulable',
  vmName: 'vm.kubevirt.io/name',
  vmiId: 'vmi.kubevirt.io/id',
  vmiName: 'kubevirt.io/vmi-name',
  cpuManager: 'kubevirt.io/cpumanager',
  stateOf: 'persistent-state-for',
  managedBy: 'app.kubernetes.io/managed-by',
} as const;

export const LAUNCHER_POD = 'virt-launcher';
export const HOTPLUG_POD = 'hotplug-disk';

export const ANNOTATION = {
  domain: 'kubevirt.io/domain',
  heartbeat: 'kubevirt.io/heartbeat',
  vmGeneration: 'kubevirt.io/vm-generation',
  latestObservedApiVersion: 'kubevirt.io/latest-observed-api-version',
  storageObservedApiVersion: 'kubevirt.io/storage-observed-api-version',
  createMigrationTarget: 'kubevirt.io/create-migration-target',
  ephemeralProvisioning: 'kubevirt.io/ephemeral-provisioning',
  migrationTransportUnix: 'kubevirt.io/migrationTransportUnix',
  memoryOverheadBytes: 'kubevirt.io/memory-overhead-bytes',
  pauseAgentProbes: 'kubevirt.io/pause-guest-agent-probes',
  ignition: 'kubevirt.io/ignitiondata',
  hookSidecars: 'hooks.kubevirt.io/hookSidecars',
} as const;

/** What a VM or VMI carries once a controller of this version has seen it. */
export const OBSERVED_API_VERSION = { [ANNOTATION.latestObservedApiVersion]: 'v1', [ANNOTATION.storageObservedApiVersion]: 'v1' } as const;

export const FINALIZER = {
  vmi: 'kubevirt.io/foregroundDeleteVirtualMachine',
  vmController: 'kubevirt.io/virtualMachineControllerFinalize',
  migration: 'kubevirt.io/migrationJobFinalize',
  kubevirt: 'kubevirt.io/foregroundDeleteKubeVirt',
  crd: 'kubevirt.io/virtOperatorFinalizer',
} as const;

/** Extended resources that the node agent's device plugins offer. */
export const DEVICE = {
  kvm: 'devices.kubevirt.io/kvm',
  tun: 'devices.kubevirt.io/tun',
  vhostNet: 'devices.kubevirt.io/vhost-net',
  vhostVsock: 'devices.kubevirt.io/vhost-vsock',
  /** In place of kvm, where the hypervisor hyperv-direct is configured. */
  mshv: 'devices.kubevirt.io/mshv',
  /** The socket of the node's helper for SCSI persistent reservations. */
  prHelper: 'devices.kubevirt.io/pr-helper',
  /** Encrypted guests of AMD and Intel. */
  sev: 'devices.kubevirt.io/sev',
  tdx: 'devices.kubevirt.io/tdx',
  iommufd: 'devices.kubevirt.io/iommufd',
} as const;

export const POD_UNPAUSED_CONDITION = 'kubevirt.io/virtual-machine-unpaused';
export const API_VERSION = 'kubevirt.io/v1';
