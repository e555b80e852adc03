// What admission reads from the cluster, each by a single request when it is needed: the VMI of a VM, presets, DataSources. Kinds whose
// CRDs are not installed count as having no objects. Holds no informers, writes nothing.
import type { KubeObject, VirtualMachine, VirtualMachineInstance, VirtualMachinePreferenceSpec } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { hasCode, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import {
  type Chosen,
  type ControllerRevision,
  type Family,
  type Found,
  type Lookup,
  lookupOf,
  type Reference,
  specFrom,
} from '../core/instancetype/index.js';
import { VIRTUAL_MACHINE_INSTANCES } from '../runtime/resources.js';
import type { KubeClient, Resource } from '../runtime/types.js';
import type { VirtualMachineInstancePreset } from './mutate/preset.js';
import type { DataSourceRef } from './mutate/vm.js';

interface DataSource extends KubeObject {
  readonly spec: { readonly source?: { readonly dataSource?: DataSourceRef } };
}

export interface AdmissionFacts {
  vmi(namespace: string, name: string): Promise<VirtualMachineInstance | undefined>;
  /** The VM's instance type and preference; one that cannot be found is left out, with a log line. */
  chosen(vm: VirtualMachine, namespace: string): Promise<Chosen>;
  /** The preference alone, by the same rules. */
  preference(vm: VirtualMachine, namespace: string): Promise<VirtualMachinePreferenceSpec | undefined>;
  presets(namespace: string): Promise<readonly VirtualMachineInstancePreset[]>;
  /** Labels of each DataSource that exists, by `namespace/name`; a DataSource that points to another has that one's labels. */
  dataSourceLabels(refs: readonly DataSourceRef[]): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>>;
}

const PRESETS: Resource<VirtualMachineInstancePreset> = {
  group: 'kubevirt.io',
  version: 'v1',
  plural: 'virtualmachineinstancepresets',
  kind: 'VirtualMachineInstancePreset',
  namespaced: true,
};
const DATA_SOURCES: Resource<DataSource> = {
  group: 'cdi.kubevirt.io',
  version: 'v1beta1',
  plural: 'datasources',
  kind: 'DataSource',
  namespaced: true,
};
const REVISIONS: Resource<ControllerRevision> = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
  namespaced: true,
};
/** How long a kind that is not served is not asked for again. */
const ABSENT_MS = 30_000;

const instancetypeResource = ({ kind, namespace }: Reference): Resource<KubeObject & { spec?: unknown }> => ({
  group: 'instancetype.kubevirt.io',
  version: 'v1beta1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: namespace !== undefined,
});

async function readObject(client: KubeClient, lookup: Lookup): Promise<Found> {
  const reference = lookup.object.ok ? lookup.object.value : undefined;
  if (!reference?.name) return {};
  const key = reference.namespace ? `${reference.namespace}/${reference.name}` : reference.name;
  const object = await client.find(instancetypeResource(reference), key);
  return object ? { object } : {};
}

async function read(client: KubeClient, lookup: Lookup, namespace: string): Promise<Found> {
  const revision = lookup.revision && (await client.find(REVISIONS, `${namespace}/${lookup.revision.name}`));
  if (revision && lookup.revision?.onlyOf === undefined) return { revision };
  return { ...(revision ? { revision } : {}), ...(await readObject(client, lookup)) };
}

type SpecOf<F extends Family> = NonNullable<Chosen[F]>;

/** Whatever goes wrong here is not the VM's fault: the VM controller waits for the object and says so on the VM. */
async function specOf<F extends Family>(client: KubeClient, log: Logger, vm: VirtualMachine, family: F): Promise<SpecOf<F> | undefined> {
  const lookup = lookupOf(vm, family);
  if (!lookup) return undefined;
  const { name, namespace = '' } = vm.metadata;
  const result = await read(client, lookup, namespace)
    .then((found) => specFrom({ ...lookup, family }, found))
    .catch((err: unknown) => ({ ok: false, error: messageOf(err) }) as const);
  if (result.ok) return result.value as SpecOf<F>;
  log.warn({ kind: 'VirtualMachine', namespace, name, reason: result.error }, `Admitting without its ${family}`);
  return undefined;
}

const placed = (vm: VirtualMachine, namespace: string): VirtualMachine => ({ ...vm, metadata: { namespace, ...vm.metadata } });

export function createFacts(client: KubeClient, clock: Clock, log: Logger): AdmissionFacts {
  let presetsAbsentUntil = 0;
  const dataSource = ({ namespace, name }: DataSourceRef): Promise<DataSource | undefined> =>
    client.find(DATA_SOURCES, `${namespace}/${name}`);
  return {
    vmi: (namespace, name) => client.find(VIRTUAL_MACHINE_INSTANCES, `${namespace}/${name}`),
    async chosen(given, namespace) {
      const vm = placed(given, namespace);
      const [instancetype, preference] = await Promise.all([
        specOf(client, log, vm, 'instancetype'),
        specOf(client, log, vm, 'preference'),
      ]);
      return { instancetype, preference };
    },
    preference: (given, namespace) => specOf(client, log, placed(given, namespace), 'preference'),
    async presets(namespace) {
      if (clock.now() < presetsAbsentUntil) return [];
      try {
        return (await client.list(PRESETS, { namespace })).items;
      } catch (err) {
        if (!hasCode(err, 'NotFound')) throw err;
        presetsAbsentUntil = clock.now() + ABSENT_MS;
        return [];
      }
    },
    async dataSourceLabels(refs) {
      const labels = new Map<string, Readonly<Record<string, string>>>();
      for (const ref of refs) {
        const source = await dataSource(ref);
        const next = source?.spec.source?.dataSource;
        const target = next ? await dataSource(next) : source;
        if (target) labels.set(`${ref.namespace}/${ref.name}`, target.metadata.labels ?? {});
      }
      return labels;
    },
  };
}
