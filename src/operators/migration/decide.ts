// What becomes of a VirtualMachineInstanceMigration: this release moves no running guest, so each migration ends at once as failed, says
// why, and is let go. Without that it would wait for ever and, by its finalizer, could not even be deleted. Pure.
import { FINALIZER, isDeleting, isFinalPhase, type VirtualMachineInstanceMigration } from '../../api/index.js';

export interface MigrationPlan {
  /** Write phase Failed and say why. */
  readonly fail: boolean;
  readonly release: boolean;
}

export function decideMigration(migration: VirtualMachineInstanceMigration): MigrationPlan {
  const isHeld = migration.metadata.finalizers?.includes(FINALIZER.migration) === true;
  const isOver = isFinalPhase(migration.status?.phase) || isDeleting(migration);
  return { fail: !isOver, release: isHeld && isOver };
}

export const text = {
  notServed: (vmi: string) =>
    `Migration failed because this release cannot move a running guest: ${vmi} stays on its node; restart its VM to start it on another one`,
};
