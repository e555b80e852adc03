// Every sentence that the VMI controller shows to users: what is wrong, which object it waits for, what to do.

export const text = {
  podCreated: (pod: string) => `Created virtual machine pod ${pod}`,
  podCreateFailed: (why: string) => `Error creating pod: ${why}`,
  podDeleted: (pod: string) => `Deleted virtual machine pod ${pod}`,
  podDeleteFailed: (pod: string, why: string) => `Error deleting pod ${pod}: ${why}`,
  privilegedNamespace: (vmi: string, why: string) =>
    `failed to render launch manifest: failed to create pod for vmi ${vmi}, it needs a privileged namespace to run: ${why}`,
  pvcMissing: (pvc: string) => `PVC ${pvc} does not exist, waiting for it to appear`,
  stateFailed: (why: string) => `Error creating the claim that keeps the firmware variables and the TPM of this VM: ${why}`,
  statePending: (pvc: string) =>
    `PVC pending: ${pvc}, which keeps the firmware variables and the TPM of this VM, is not bound yet; see kubectl describe pvc ${pvc.slice(pvc.indexOf('/') + 1)}`,
  noStateClass: (vmi: string) =>
    `no storage class for the claim that keeps the firmware variables and the TPM of ${vmi}: mark one as the default, or set spec.configuration.vmStateStorageClass in the KubeVirt CR`,
  importFailed: (name: string) => `DataVolume ${name} failed to import disk image; see kubectl describe datavolume ${name}`,
  importExceedsQuota: (name: string, namespace: string) =>
    `DataVolume ${name} exceeds quota limits; see kubectl describe resourcequota -n ${namespace}`,
  provisioningFailed: (pod: string, why: string | undefined) =>
    `pod ${pod}, which makes the claims of this VMI be bound, failed${why ? `: ${why}` : ''}; see kubectl describe pod ${pod}`,
  dataVolumesReady: "All of the VMI's DVs are bound and ready",
  dataVolumesNotReady: (states: string) => `Not all of the VMI's DVs are ready: ${states}`,
  fillingClaim: (state: string) => `DataVolume ${state}, waiting for it to be filled`,
  attached: (pod: string, volume: string) => `Created hotplug attachment pod ${pod}, for volume ${volume}`,
  attachFailed: (why: string) => `Error creating hotplug attachment pod: ${why}`,
  attachmentStarts: (pod: string) => `waiting for the hotplug attachment pod ${pod} to start`,
  attachmentWaits: (pod: string, why: string) => `the hotplug attachment pod ${pod} does not start: ${why}`,
  attachmentLater: (pvc: string) => `PVC ${pvc} is bound; it is attached once the guest runs`,
  pvcPhase: (pvc: string, phase: string) =>
    `PVC ${pvc} is in phase ${phase}, waiting for it to be bound; see kubectl describe pvc ${pvc.slice(pvc.indexOf('/') + 1)}`,
  unplugged: (volume: string) => `Volume ${volume} has been unplugged`,
  notScheduledYet: 'virt-launcher pod has not yet been scheduled',
  podTerminating: 'virt-launcher pod is terminating',
  guestNotRunning: 'Guest VM is not reported as running',
  podConditionMissing: 'virt-launcher pod is missing the Ready condition',
  paused: 'the virtual machine is paused',
  notPaused: 'the virtual machine is not paused',
  noHypervisor: (device: string): string =>
    `no node offers hardware virtualisation (${device}): enable it on a node, or set spec.configuration.developerConfiguration.useEmulation in the KubeVirt CR to run guests in software, slowly`,
  mounting: (pod: string, names: string) =>
    `the kubelet cannot mount the volumes of pod ${pod} yet, which needs ${names}: create what is missing; kubectl describe pod ${pod} names it`,
  launcherEnded: (pod: string, code: number | undefined, lastLine: string) =>
    `the virt-launcher pod ${pod} ended${code === undefined ? '' : ` with exit code ${code}`}${lastLine ? `: ${lastLine}` : ''}; see kubectl logs ${pod} -c compute`,
  evicted: (pod: string, why: string) => `the kubelet evicted pod ${pod}: ${why}`,
  endedByKubelet: (pod: string, why: string) => `the kubelet ended pod ${pod}: ${why}`,
  diskInPod: (volume: string, kind: string) => `${volume} (${kind})`,
  storageOfPod: (volumes: string) =>
    `what the guest writes to ${volumes} lies in the pod: raise spec.domain.resources.limits["ephemeral-storage"], or the default of the LimitRange that set it, or put the data on a PersistentVolumeClaim`,
  outOfMemory: (pod: string, lastLine: string) =>
    `the kernel ended a process of pod ${pod}, which had reached its memory limit${lastLine ? `: ${lastLine}` : ''}; raise spec.domain.resources.limits.memory or leave it out, or add to the overhead by additionalGuestMemoryOverheadRatio in the KubeVirt CR`,
  daemonEnded: (pod: string, volume: string) =>
    `the guest was not started and cannot be in pod ${pod} any more: the daemon that shares volume ${volume} served one attempt and ended; the event SyncFailed before this one says what went wrong`,
  launcherGone: (pod: string) => `the virt-launcher pod ${pod} was removed while the guest was starting or running`,
  image: (volume: string, why: string) => `${why} (needed by ${volume}); check the image name, its registry and the pull secret`,
  waiting: (container: string, why: string) => `container ${container} cannot start: ${why}`,
} as const;
