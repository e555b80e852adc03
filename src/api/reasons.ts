// Phases, condition types and reasons: every word that a user may see in `kubectl get` or match in a script.

export type VmiPhase = '' | 'Pending' | 'Scheduling' | 'Scheduled' | 'Running' | 'Succeeded' | 'Failed' | 'WaitingForSync' | 'Unknown';

/** Of a VMI, a migration or a pod: it is over, and stays so. */
export const isFinalPhase = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** A launcher's exit code when its guest did not end by itself but with the pod; as a shell counts a process that SIGTERM ended. */
export const TOLD_TO_END = 143;

/** Reason of a VMI's Ready condition while its pod is being deleted. */
export const POD_TERMINATING = 'PodTerminating';

/** Reason of conditions and events when a hook of a Plugin failed. */
export const PLUGIN_FAILED = 'PluginFailed';

export type RunStrategy = 'Always' | 'Halted' | 'Manual' | 'RerunOnFailure' | 'Once' | 'WaitAsReceiver';

export type PrintableStatus =
  | 'Stopped'
  | 'Provisioning'
  | 'Starting'
  | 'Running'
  | 'Paused'
  | 'Stopping'
  | 'Terminating'
  | 'CrashLoopBackOff'
  | 'Migrating'
  | 'Unknown'
  | 'ErrorUnschedulable'
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrorPvcNotFound'
  | 'DataVolumeError'
  | 'WaitingForVolumeBinding'
  | 'WaitingForReceiver';

export const CONDITION = {
  ready: 'Ready',
  failure: 'Failure',
  paused: 'Paused',
  synchronized: 'Synchronized',
  podScheduled: 'PodScheduled',
  agentConnected: 'AgentConnected',
  liveMigratable: 'LiveMigratable',
  storageLiveMigratable: 'StorageLiveMigratable',
  restartRequired: 'RestartRequired',
  provisioning: 'Provisioning',
  dataVolumesReady: 'DataVolumesReady',
  evictionRequested: 'EvictionRequested',
} as const;
