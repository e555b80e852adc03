// Every sentence of the node agent that users see on a VMI: events, conditions, errors that end there. Those that scripts match are
// worded as KubeVirt words them.

export const text = {
  started: 'VirtualMachineInstance started.',
  stopped: 'The VirtualMachineInstance was shut down.',
  crashed: 'The VirtualMachineInstance crashed.',
  shuttingDown: 'Signaled Graceful Shutdown',
  stopping: 'VirtualMachineInstance stopping',
  deletion: 'Signaled Deletion',
  syncFailedReason: 'Synchronizing with the Domain failed.',

  pausedByUser: 'VMI was paused by user',
  pausedByIoError: 'VMI was paused, low-level IO error detected',
  pausedByMigration: 'VMI was paused by the migration monitor',

  postCopyFailed: 'VMI is irrecoverable due to failed post-copy migration',
  guestCrashed: 'the guest crashed: its virtual CPUs stopped with an error; look at the log of the launcher pod',
  guestPanicked: 'the operating system of the guest panicked',
  guestKilled: 'the guest did not shut down within its grace period of its own accord and was killed',
  podStopped:
    'the launcher pod was told to end although nobody had deleted it: the kubelet evicted it, or its node is being shut down; the guest was shut down first',
  domainVanished: 'the guest is gone although nobody stopped it: libvirt no longer knows it; look at the log of the launcher pod',
  launcherUnresponsive: (node: string): string =>
    `virt-launcher on node ${node} no longer answers and its guest is given up; look at the log of the launcher pod`,
  hookIgnored: (failure: string): string => `${failure}. Nothing waits for it: the hook’s failureStrategy is Ignore`,
  relativeSocket: (path: string): string => `socket ${path} is no absolute path`,
  noHookSocket: (path: string): string =>
    `there is no socket ${path} on the node: the plugin’s service does not run there (see the pods of its DaemonSet)`,
  deletedBeforeStart: 'The VirtualMachineInstance was deleted before its guest had started.',
  launcherNeverStarted: (node: string): string =>
    `virt-launcher on node ${node} did not open its command socket in time; look at the log of the launcher pod`,
  noHypervisor: (node: string, device: string): string =>
    `node ${node} has no ${device} and emulation is not allowed: enable hardware virtualization on the node, or set ` +
    'spec.configuration.developerConfiguration.useEmulation in the KubeVirt CR',
  cannotLock: (vm: string, process: string, bytes: bigint): string =>
    `cannot let ${process} of VM ${vm} lock ${bytes} B of memory, which its devices need: virt-handler must run with CAP_SYS_RESOURCE on this node`,
  diskNotReady: (volume: string): string =>
    `containerdisk ${volume} still not ready after one minute: check that the container volume${volume} of the launcher pod runs`,
  diskIsNoFile: (volume: string, path: string): string => `${path} in the image of volume ${volume} is no plain file`,
  noSuchFile: (volume: string, path: string): string => `there is no ${path} in the image of volume ${volume}`,
  imagesHang: (vm: string): string =>
    `the volumes of ${vm} do not answer when their disk images are looked at: is the storage of one of its claims away? It is waited for`,
  volumeNotMounted: (volume: string, where: string): string => `volume ${volume} (${where}) is not mounted in the launcher pod yet`,
  imageMissing: (volume: string, file: string, where: string): string =>
    `there is no ${file} on ${where} for volume ${volume}: put a disk image there, or wait until its import has finished`,
  imageIsLink: (volume: string, file: string, where: string): string =>
    `${file} on ${where} of volume ${volume} is a symbolic link: a disk image must be a file of its volume`,
  imageIsQcow2: (volume: string, file: string, where: string): string =>
    `${file} on ${where} of volume ${volume} is a qcow2 image, and the guest sees it byte for byte: convert it with "qemu-img convert -O raw" if it was meant as a disk`,
  imageTooLarge: (image: string, bytes: bigint, room: bigint): string =>
    `${image} is ${bytes} B large, and its claim holds ${room} B: when the guest has written more than there is room for, it is paused with an I/O error; make the claim larger`,
  imageIsNoFile: (volume: string, file: string, where: string): string => `${file} on ${where} of volume ${volume} is no plain file`,
  imageNotOurs: (volume: string, file: string, where: string): string =>
    `${file} on ${where} of volume ${volume} cannot be handed to the user that the guest runs as: make user 107 its owner`,
  imageUnreadable: (volume: string, file: string, where: string, code: string): string =>
    `cannot use ${file} on ${where} for volume ${volume}: ${code}`,
  manySockets: (podUids: readonly string[]): string =>
    `Found multiple sockets for this VMI on the node: pods ${podUids.join(' and ')}; delete the pod that is not its launcher`,

  agentBasics: "This guest agent doesn't support required basic commands",
  agentKeys: "This guest agent doesn't support required public key commands",
  agentPasswords: "This guest agent doesn't support required password commands",
  agentVersion: (version: string): string => `Guest agent version '${version}' is not supported`,
  credentialsSynced: 'Access credentials sync successful.',
  credentialsFailed: (reason: string): string => `Access credentials sync failed: ${reason}`,
  memoryFailed: 'memory hotplug failed, the VM configuration is not supported',

  noPlugFile: (volume: string, path: string): string =>
    `volume ${volume} has no ${path} in its attachment pod: the claim holds no disk image`,
  plugIsNoFile: (volume: string, path: string): string =>
    `${path} of volume ${volume} in its attachment pod is no plain file, and so no disk image`,
  plugBlocked: (volume: string): string =>
    `something that is no disk bears the name of volume ${volume} among the launcher's disks; a migration or a restart of the VM takes it away`,
  awaitingPlugs: (names: string): string =>
    `the guest starts once its hotpluggable volumes have come: waiting for ${names}; status.volumeStatus says what each waits for`,
  noPlugDevice: (volume: string, folder: string): string =>
    `volume ${volume} has no block device in ${folder} of its attachment pod: see kubectl describe of that pod`,
  plugExchanged: (volume: string): string =>
    `the device of volume ${volume} was exchanged among the launcher's disks while it was being plugged; it is made anew`,
  volumeReady: (volume: string): string => `Successfully attach hotplugged volume ${volume} to VM`,
  volumeMounted: (volume: string): string => `Volume ${volume} has been mounted in virt-launcher pod`,
  volumeUnmounted: (volume: string): string => `Volume ${volume} has been unmounted from virt-launcher pod`,
  volumeUnplugged: (volume: string): string => `Volume ${volume} has been unplugged`,
  dumpBegins: (volume: string): string => `Memory dump Volume ${volume} is attached, getting memory dump`,
  dumpCompleted: (volume: string): string => `Memory dump to Volume ${volume} has completed successfully`,
  dumpFailed: (volume: string, reason: string): string => `Memory dump to pvc ${volume} failed: ${reason}`,

  notMigratable: {
    bridge:
      'cannot migrate VMI which does not use masquerade, bridge with kubevirt.io/allow-pod-bridge-network-live-migration annotation or a migratable plugin to connect to the pod network',
    hostModel: (node: string): string => `the node "${node}" does not allow migration with host-model`,
    hostDevice: 'VMI specifies non-migratable generic PCI host device',
    gpu: 'VMI specifies non-migratable GPU device',
    sev: 'VMI uses SEV',
    tdx: 'VMI uses TDX',
    secureExecution: 'VMI uses Secure Execution',
    passthrough: 'VMI uses hyperv passthrough',
    claim: (claim: string): string =>
      `cannot migrate VMI: PVC ${claim} is not shared, live migration requires that all PVCs must be shared (using ReadWriteMany access mode)`,
    hostDisk: 'cannot migrate VMI with non-shared HostDisk',
    reservation: 'VMI uses SCSI persistent reservation',
  },
} as const;
