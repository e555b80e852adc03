// Mutation of new migrations: the label by which the migrations of a VMI are found, and the finalizer that keeps a migration until
// virt-controller has cleaned up after it. Pure.
import { FINALIZER, LABEL, type VirtualMachineInstanceMigration } from '../../api/index.js';

import type { Mutation } from './mutation.js';

export function mutateMigration(migration: VirtualMachineInstanceMigration): Mutation<VirtualMachineInstanceMigration> {
  const { metadata, spec } = migration;
  const labels = { ...metadata.labels, [LABEL.vmiName]: spec.vmiName ?? '' };
  const finalizers = [...new Set([...(metadata.finalizers ?? []), FINALIZER.migration])];
  return { object: { ...migration, metadata: { ...metadata, labels, finalizers } }, warnings: [] };
}
