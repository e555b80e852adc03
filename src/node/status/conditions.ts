// The conditions of a VMI that the node agent owns, from its domain and the last failure. Pure. Others' conditions pass through untouched.
import { type Condition, type ConditionValue, withConditions } from '../../api/conditions.js';
import type { DomainReport } from '../../api/domain-report.js';
import { text } from '../text.js';
import { unsupportedAgent } from './agent-support.js';
import { liveMigratable, type MigrationFacts, storageLiveMigratable } from './migratable.js';

export interface Failure {
  readonly reason: string;
  readonly message: string;
}

export interface ConditionFacts extends MigrationFacts {
  readonly domain: DomainReport | undefined;
  readonly failure: Failure | undefined;
  /** Patterns of agent versions that do; for agents that do not tell what they can. */
  readonly agentVersions?: readonly string[];
  /** The guest's sizes were changed in this pass: true, or false when that failed. */
  readonly resized?: { readonly cpus?: boolean; readonly memory?: boolean };
  readonly now: number;
}

export function nextConditions(facts: ConditionFacts): Condition[] {
  const { vmi, domain, failure, now } = facts;
  const old = vmi.status?.conditions as Condition[] | undefined;
  return withConditions(
    old,
    {
      Synchronized: failure ? { status: 'False', ...failure } : undefined,
      ...(domain === undefined
        ? {}
        : {
            Paused: pausedOf(domain),
            AgentConnected: domain.spec.agentConnected === true ? { status: 'True' as const } : undefined,
            AgentVersionNotSupported: unsupportedAgent(vmi, domain.spec.agent, facts.agentVersions ?? []),
            ...credentials(domain),
            ...resizes(facts),
            LiveMigratable: liveMigratable(facts),
            StorageLiveMigratable: storageLiveMigratable(facts),
          }),
    },
    now,
  );
}

const PAUSES: Readonly<Record<string, ConditionValue>> = {
  User: { status: 'True', reason: 'PausedByUser', message: text.pausedByUser },
  IOError: { status: 'True', reason: 'PausedIOError', message: text.pausedByIoError },
};

function pausedOf(domain: DomainReport): ConditionValue | undefined {
  return domain.status.status === 'Paused' ? PAUSES[domain.status.reason ?? ''] : undefined;
}

/** What was told before stays while the launcher has nothing new. */
function credentials({ spec }: DomainReport): Record<string, ConditionValue> {
  const { accessCredentials: told } = spec;
  if (told === undefined) return {};
  const condition = { status: told.succeeded ? 'True' : 'False', ...(told.message ? { message: told.message } : {}) } as const;
  return { AccessCredentialsSynchronized: condition };
}

/** A change that was asked for is over once the guest has it. */
function resizes({ resized }: ConditionFacts): Record<string, ConditionValue | undefined> {
  return {
    ...(resized?.cpus === true ? { HotVCPUChange: undefined } : {}),
    ...(resized?.memory === true ? { HotMemoryChange: undefined } : {}),
    ...(resized?.memory === false
      ? { HotMemoryChange: { status: 'False' as const, reason: 'Memory Hotplug Failed', message: text.memoryFailed } }
      : {}),
  };
}
