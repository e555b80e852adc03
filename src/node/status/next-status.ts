// The status that a VMI on this node shall have, from one snapshot of everything the agent knows. Pure, called in the epilogue of every
// reconcile; equal to the old status when nothing changed. Fields of other writers are copied.
import type { DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance, VirtualMachineInstanceGuestOSInfo, VirtualMachineInstanceStatus, VmiPhase } from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import type { PodInterfaceCache } from '../../core/network/caches.js';
import type { PluggedVolumes } from '../disks/hotplug-disks.js';
import { type Failure, nextConditions } from './conditions.js';
import { nextInterfaces } from './interfaces.js';
import { type MigrationFacts, migrationMethod } from './migratable.js';
import { sourceState } from './migration.js';
import type { PhaseDecision } from './phase.js';
import { type DiskReport, hasPlugs, nextMemory, nextVolumeStatus } from './volumes.js';

export interface StatusFacts extends MigrationFacts {
  readonly domain: DomainReport | undefined;
  readonly decision: PhaseDecision;
  /** Why the last step failed, in the user's words. */
  readonly failure: Failure | undefined;
  readonly network: ReadonlyMap<string, PodInterfaceCache>;
  /** SELinux label of the launcher, 'none' without SELinux. */
  readonly selinuxContext: string | undefined;
  readonly agentVersions?: readonly string[];
  readonly resized?: { readonly cpus?: boolean; readonly memory?: boolean };
  readonly plugged?: PluggedVolumes;
  readonly now: number;
}

type Status = VirtualMachineInstanceStatus;

export function nextStatus(facts: StatusFacts): Status {
  const { vmi, domain, decision, now } = facts;
  const failure = decision.failure ?? facts.failure;
  const conditions = nextConditions({ ...facts, failure });
  const { fsFreezeStatus, ...kept } = vmi.status ?? {};
  return {
    ...kept,
    // Only a domain can say that a guest's file systems are thawed again: by no longer saying that they are frozen.
    ...(domain === undefined && fsFreezeStatus !== undefined ? { fsFreezeStatus } : {}),
    ...phaseFields(vmi, decision, now),
    ...migrationFields(facts),
    ...(domain === undefined ? fieldsBeforeStart(facts) : domainFields(facts, domain)),
    // No conditions before and none now must compare as equal.
    ...(conditions.length === 0 && vmi.status?.conditions === undefined ? {} : { conditions }),
  };
}

function phaseFields(vmi: VirtualMachineInstance, { phase, failure }: PhaseDecision, now: number): Partial<Status> {
  if (phase === vmi.status?.phase) return {};
  const transition = { phase: phase as VmiPhase, phaseTransitionTimestamp: metaTime(now) };
  return {
    phase,
    phaseTransitionTimestamps: [...(vmi.status?.phaseTransitionTimestamps ?? []), transition],
    ...(failure ? { reason: failure.reason } : {}),
  };
}

function migrationFields({ vmi, domain, node }: StatusFacts): Partial<Status> {
  const migrationState = sourceState(vmi, domain, node);
  return migrationState === undefined ? {} : { migrationState };
}

const NO_DISKS: DiskReport = { spec: { disks: [] } };

/** Volumes that come by a pod of their own need to be told what that pod needs to know, and are told how far they have come. */
function fieldsBeforeStart({ vmi, selinuxContext, plugged, now }: StatusFacts): Partial<Status> {
  if (!hasPlugs(vmi)) return {};
  return {
    volumeStatus: nextVolumeStatus(vmi, NO_DISKS, { now, ...(plugged ? { plugged } : {}) }),
    ...(selinuxContext === undefined ? {} : { selinuxContext }),
  };
}

function domainFields(facts: StatusFacts, domain: DomainReport): Partial<Status> {
  const { vmi, network, selinuxContext, plugged, now } = facts;
  const memory = nextMemory(vmi, domain);
  const osInfo = guestOsInfo(domain.status.osInfo);
  return {
    interfaces: nextInterfaces(vmi, domain, network),
    volumeStatus: nextVolumeStatus(vmi, domain, { now, ...(plugged ? { plugged } : {}) }),
    migrationMethod: migrationMethod(vmi),
    ...(domain.spec.machineType ? { machine: { type: domain.spec.machineType } } : {}),
    ...(memory ? { memory } : {}),
    ...sizes(facts, memory),
    ...(osInfo ? { guestOSInfo: osInfo } : {}),
    ...(domain.status.fsFreezeStatus === undefined ? {} : { fsFreezeStatus: domain.status.fsFreezeStatus }),
    ...(selinuxContext === undefined ? {} : { selinuxContext }),
  };
}

/** What the guest was asked to have, once it was asked. */
function sizes({ vmi, resized }: StatusFacts, memory: Status['memory']): Partial<Status> {
  const { cpu, memory: wanted } = vmi.spec.domain;
  const { sockets = 1, cores = 1, threads = 1 } = cpu ?? {};
  return {
    ...(resized?.cpus === true ? { currentCPUTopology: { sockets, cores, threads } } : {}),
    ...(resized?.memory === true && wanted?.guest !== undefined ? { memory: { ...memory, guestRequested: wanted.guest } } : {}),
  };
}

const OS_FIELDS = ['id', 'kernelRelease', 'kernelVersion', 'machine', 'name', 'prettyName', 'version', 'versionId'] as const;

function guestOsInfo(reported: Record<string, string> | undefined): VirtualMachineInstanceGuestOSInfo | undefined {
  if (reported === undefined) return undefined;
  return Object.fromEntries(OS_FIELDS.flatMap((field) => (reported[field] ? [[field, reported[field]]] : [])));
}
