// What a launcher tells the node agent about its domain: libvirt's state in KubeVirt's words plus the few facts that end in VMI status.
// Travels as JSON in GetDomain and HandleDomainEvent.

/**
 * How much of what a guest says is told on: it ends in the status of the VMI, which the cluster does not keep when it is larger than some hundred
 * KiB, and then nothing can be written there any more, not even the end of the guest. An honest guest has less.
 */
export const REPORT_LIMITS = { interfaces: 256, addresses: 32, commands: 512, address: 64, word: 256, sentence: 4096 } as const;

export type DomainState = 'NoState' | 'Running' | 'Blocked' | 'Paused' | 'ShuttingDown' | 'Shutoff' | 'Crashed' | 'PMSuspended' | 'Unknown';

export interface DomainInterfaceReport {
  /** Name of the VMI interface (domain alias ua-<name>); absent for guest-only devices. */
  name?: string;
  mac: string;
  /** From the guest agent. */
  interfaceName?: string;
  ips?: string[];
}

export interface DomainDiskReport {
  /** Volume name (alias ua-<name>). */
  name: string;
  /** Target device: vda, sda, … */
  target: string;
  /** In bytes, of images that the launcher made of cloud-init data, config maps and the like. */
  size?: number;
}

/** The newest dump of the guest's memory. */
export interface MemoryDumpReport {
  fileName: string;
  startTimestamp: string;
  /** Absent while it is being written. */
  endTimestamp?: string;
  /** Why it failed. */
  failure?: string;
}

/** Whether the guest has the SSH keys and passwords of the VMI's access credentials. */
export interface CredentialsReport {
  succeeded: boolean;
  message?: string;
}

export type MigrationMode = 'PreCopy' | 'PostCopy' | 'Paused';

/** Of the live migration that this launcher is, or was, the source or the target of. */
export interface MigrationReport {
  uid: string;
  /** Absent on the target. */
  startTimestamp?: string;
  /** Absent while it is under way. */
  endTimestamp?: string;
  completed?: boolean;
  failed?: boolean;
  failureReason?: string;
  /** Of a migration that was asked to end: Aborting, Succeeded or Failed. */
  abortStatus?: string;
  mode?: MigrationMode;
}

export interface AgentReport {
  version: string;
  /** Names of the commands that it serves. */
  commands: string[];
}

export interface DomainReport {
  metadata: { name: string; namespace: string; uid: string; deletionTimestamp?: string };
  spec: {
    /** Machine type as libvirt resolved it, e.g. pc-q35-10.0. */
    machineType?: string;
    /** 'kvm' or 'qemu'. */
    type?: string;
    /** What the guest has now, plugged memory included. */
    memoryBytes?: number;
    /** vCPUs that are plugged in, once they were changed. */
    vcpus?: number;
    memoryDump?: MemoryDumpReport;
    accessCredentials?: CredentialsReport;
    migration?: MigrationReport;
    /** Of the guest agent, while it is connected. */
    agent?: AgentReport;
    gracePeriodSeconds?: number;
    /** Set by the first SIGTERM or shutdown: when the grace period started. */
    gracePeriodStartedAt?: string;
    /** The pod was told to go (kubelet's SIGTERM): the agent should shut the guest down. */
    markedForGracefulShutdown?: boolean;
    agentConnected?: boolean;
    disks: DomainDiskReport[];
    interfaces: DomainInterfaceReport[];
  };
  status: {
    status: DomainState;
    reason?: string;
    osInfo?: Record<string, string>;
    hostname?: string;
    fsFreezeStatus?: string;
  };
}

export type DomainEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'ERROR';
