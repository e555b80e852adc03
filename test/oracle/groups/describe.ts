// Recorded decisions of the controllers: run strategy, printable status, the VMI made from a VM, eviction and migration policy.
import type { KubeObject, PersistentVolumeClaim, VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { evictionStrategyOf, isMigrating, migratesOnEviction } from '../../../src/core/eviction/strategy.js';
import { clusterMigrationConfiguration, type MigrationPolicy, matchingPolicy, withPolicy } from '../../../src/core/migration/policy.js';
import type { DataVolume } from '../../../src/operators/data-volumes.js';
import {
  failedEarly,
  hasStartPausedRequest,
  hasStartRequest,
  hasStopRequestFor,
  isSetToStart,
  wasEverRunning,
} from '../../../src/operators/vm/predicates.js';
import { printableStatus } from '../../../src/operators/vm/printable-status.js';
import { decideRunStrategy, type StrategyAction } from '../../../src/operators/vm/run-strategy.js';
import { backoffLeftMs } from '../../../src/operators/vm/start-failure.js';
import { vmiFromVm } from '../../../src/operators/vm/vmi-from-vm.js';
import type { OracleCase } from '../oracle-case.js';
import { configOf, given } from './admission-case.js';

const vmOf = (c: OracleCase) => c.object as VirtualMachine;
const vmiOf = (c: OracleCase) => c.params?.vmi as VirtualMachineInstance | undefined;

const VERBS: Record<StrategyAction['do'], string> = {
  start: 'start',
  stop: 'stop',
  addStartRequest: 'addStartRequest',
  setRunning: 'update virtualmachines',
  setRunStrategy: 'update virtualmachines',
};

function runStrategy(c: OracleCase): unknown {
  const vm = vmOf(c);
  const vmi = vmiOf(c);
  const { actions, failure } = decideRunStrategy({ vm, vmi, backoffMs: backoffLeftMs(vm, Date.now()) });
  return {
    actions: actions.map((a) => VERBS[a.do]),
    flags: {
      hasStartPausedRequest: hasStartPausedRequest(vm),
      hasStartRequest: hasStartRequest(vm),
      isSetToStart: isSetToStart(vm, vmi),
      ...(vmi
        ? { hasStopRequestForVMI: hasStopRequestFor(vm, vmi), vmiFailedEarly: failedEarly(vmi), wasVMIInRunningPhase: wasEverRunning(vmi) }
        : {}),
    },
    runStrategyAfter: actions.find((a) => a.do === 'setRunStrategy')?.value ?? vm.spec.runStrategy ?? '',
    syncError: failure?.reason ?? '',
  };
}

function byName<T extends KubeObject>(c: OracleCase, kind: string): Map<string, T> {
  const objects = (c.env ?? []) as T[];
  return new Map(objects.filter((o) => o.kind === kind).map((o) => [o.metadata.name ?? '', o]));
}

function printable(c: OracleCase): unknown {
  const word = printableStatus({
    vm: vmOf(c),
    vmi: vmiOf(c),
    dataVolumes: byName<DataVolume>(c, 'DataVolume'),
    pvcs: byName<PersistentVolumeClaim>(c, 'PersistentVolumeClaim'),
    createPending: false,
    deletePending: false,
    now: Date.now(),
  });
  return { printableStatus: word };
}

function eviction(c: OracleCase): unknown {
  const vmi = vmiOf(c);
  if (!vmi) throw new Error('the case has no VMI');
  const config = configOf(c, given(c));
  return {
    strategy: evictionStrategyOf(vmi, config),
    migratableOnEviction: migratesOnEviction(vmi, config),
    isMigrating: isMigrating(vmi),
  };
}

function migrationPolicy(c: OracleCase): unknown {
  const vmi = vmiOf(c);
  if (!vmi) throw new Error('the case has no VMI');
  const cluster = clusterMigrationConfiguration(configOf(c, given(c)));
  const policy = matchingPolicy((c.params?.policies ?? []) as MigrationPolicy[], vmi, c.params?.namespace as KubeObject | undefined);
  return {
    clusterConfiguration: cluster,
    matched: policy?.metadata.name ?? null,
    ...(policy ? { configuration: withPolicy(cluster, policy) } : {}),
  };
}

const OPS: Record<string, (c: OracleCase) => unknown> = {
  'run-strategy': runStrategy,
  'printable-status': printable,
  eviction,
  'migration-policy': migrationPolicy,
  'vmi-from-vm': (c) => ({ vmi: vmiFromVm(vmOf(c)) }),
};

export function answer(c: OracleCase): unknown {
  const op = OPS[c.op ?? ''];
  if (!op) throw new Error(`describe/${c.op} is not answered yet`);
  return op(c);
}
