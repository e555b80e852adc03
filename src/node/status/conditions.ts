// The conditions of a VMI that the node agent owns, from its domain and the last failure. Pure. Others' conditions pass through untouched.
import { type Condition, type ConditionValue, withConditions } from '../../api/conditions.js';
import type { DomainReport } from '../../api/domain-report.js';
import { text } from '../text.js';
import { liveMigratable, type MigrationFacts, storageLiveMigratable } from './migratable.js';

export interface Failure {
  readonly reason: string;
  readonly message: string;
}

export interface ConditionFacts extends MigrationFacts {
  readonly domain: DomainReport | undefined;
  readonly failure: Failure | undefined;
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
