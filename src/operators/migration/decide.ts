// What becomes of a VirtualMachineInstanceMigration: this release moves no running guest, so each migration ends at once as failed, says
// why, and is let go. Without that it would wait for ever and, by its finalizer, could not even be deleted. Pure.
import { FINALIZER, isDeleting, type VirtualMachineInstanceMigration } from '../../api/index.js';

export interface MigrationPlan {
  /** Write phase Failed and say why. */
  readonly fail: boolean;
  readonly release: boolean;
}

const isOver = ({ status }: VirtualMachineInstanceMigration): boolean => status?.phase === 'Failed' || status?.phase === 'Succeeded';

export function decideMigration(migration: VirtualMachineInstanceMigration): MigrationPlan {
  const isHeld = migration.metadata.finalizers?.includes(FINALIZER.migration) === true;
  return { fail: !isOver(migration) && !isDeleting(migration), release: isHeld && (isOver(migration) || isDeleting(migration)) };
}

export const text = {
  notServed: (vmi: string) =>
    `Migration failed because this release cannot move a running guest: ${vmi} stays on its node; restart its VM to start it on another one`,
};
