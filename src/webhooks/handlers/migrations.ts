// The handlers of migrations and of the policies that rule them.
import type { VirtualMachineInstanceMigration } from '../../api/index.js';
import type { MigrationPolicy } from '../../core/migration/policy.js';
import { mutateMigration } from '../mutate/migration.js';
import { listed, MIGRATION_OBJECTS } from '../related.js';
import { mutationResponse, responseOf } from '../review.js';
import { isController } from '../service-accounts.js';
import { admitMigrationCreate, admitMigrationUpdate } from '../validate/migration/admit.js';
import { admitMigrationPolicy } from '../validate/migration/policy.js';
import { refuse } from '../verdict.js';
import { type Admitter, about, type Kind, namespaceOf, oldOf } from './context.js';

const MIGRATION: Kind = {
  group: 'kubevirt.io',
  versions: ['v1', 'v1alpha3'],
  resource: 'virtualmachineinstancemigrations',
  kind: 'VirtualMachineInstanceMigration',
};
const POLICY: Kind = { group: 'migrations.kubevirt.io', versions: ['v1alpha1'], resource: 'migrationpolicies', kind: 'MigrationPolicy' };

const validateCreate = about(MIGRATION, async (object, request, { client, facts, config, installNamespace }) => {
  const migration = object as VirtualMachineInstanceMigration;
  const namespace = namespaceOf(migration, request);
  const { vmiName } = migration.spec;
  const [vmi, others] = vmiName
    ? await Promise.all([facts.vmi(namespace, vmiName), listed(client, MIGRATION_OBJECTS, { namespace })])
    : [undefined, []];
  const who = { isController: isController(request.userInfo.username, installNamespace) };
  return responseOf(admitMigrationCreate({ migration, ...(vmi ? { vmi } : {}), others, namespace, ...who }, config()));
});

const validateUpdate = about(MIGRATION, (object, request) => {
  const old = oldOf<VirtualMachineInstanceMigration>(request);
  if (!old) return responseOf(refuse(`${request.operation} requests are not judged here: only UPDATE`));
  return responseOf(admitMigrationUpdate(object as VirtualMachineInstanceMigration, old));
});

const mutateCreate = about(MIGRATION, (object, request) =>
  mutationResponse(mutateMigration(object as VirtualMachineInstanceMigration), request.object ?? object),
);

const validatePolicy = about(POLICY, (object, request, { config }) =>
  responseOf(admitMigrationPolicy(object as MigrationPolicy, oldOf<MigrationPolicy>(request), config())),
);

export const MIGRATIONS: Readonly<Record<string, Admitter>> = {
  '/migration-mutate-create': mutateCreate,
  '/migration-validate-create': validateCreate,
  '/migration-validate-update': validateUpdate,
  '/migration-policy-validate-create': validatePolicy,
};
