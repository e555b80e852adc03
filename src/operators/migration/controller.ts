// The migration controller's shell: observe, decide, perform. All rules are in decide.ts.
import { FINALIZER, keyOf, type VirtualMachineInstanceMigration } from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import { dropFinalizers } from '../../runtime/finalizers.js';
import { VIRTUAL_MACHINE_INSTANCE_MIGRATIONS } from '../../runtime/resources.js';
import { StaleGuard } from '../../runtime/stale-guard.js';
import type { Controller, EventRecorder, KubeClient, Manager, Reconcile, Store } from '../../runtime/types.js';
import { decideMigration, text } from './decide.js';

interface MigrationDeps {
  readonly migrations: Store<VirtualMachineInstanceMigration>;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly stale: StaleGuard;
}

async function fail(d: MigrationDeps, migration: VirtualMachineInstanceMigration, now: number): Promise<void> {
  const transition = { phase: 'Failed', phaseTransitionTimestamp: metaTime(now) };
  const phaseTransitionTimestamps = [...(migration.status?.phaseTransitionTimestamps ?? []), transition];
  const failed = { ...migration, status: { ...migration.status, phase: 'Failed', phaseTransitionTimestamps } };
  const stored = await d.client.update(VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, failed, { subresource: 'status' });
  d.stale.written(keyOf(migration), migration, stored);
  d.events.event(migration, 'Warning', 'FailedMigration', text.notServed(migration.spec.vmiName ?? ''));
}

const reconcileMigration =
  (d: MigrationDeps): Reconcile =>
  async (key, ctx) => {
    const migration = d.migrations.get(key);
    if (!migration) {
      d.stale.forget(key);
      return undefined;
    }
    if (d.stale.isStale(key, migration)) return undefined;
    const plan = decideMigration(migration);
    if (plan.fail) await fail(d, migration, ctx.now());
    if (plan.release) await dropFinalizers(d.client, VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, migration, FINALIZER.migration);
    return undefined;
  };

export function startMigrationController(manager: Manager, { workers = 2 }: { workers?: number } = {}): Controller {
  const migrations = manager.informer(VIRTUAL_MACHINE_INSTANCE_MIGRATIONS);
  return manager.controller({
    name: 'virt-controller-migration',
    workers,
    reconcile: reconcileMigration({
      migrations: migrations.store,
      client: manager.client,
      events: manager.events('virtualmachine-controller'),
      stale: new StaleGuard(),
    }),
    sources: [{ informer: migrations, keys: (migration) => [keyOf(migration)] }],
  });
}
