// What admission reads from the cluster, each by a single request when it is needed: the VMI of a VM, presets, DataSources, instance types
// and what they are inferred from. Kinds whose CRDs are not installed count as having no objects. Holds no informers, writes nothing.
import type { KubeObject, VirtualMachine, VirtualMachineInstance, VirtualMachinePreferenceSpec } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { hasCode, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { fail, type Result } from '../base/result.js';
import { type Chosen, type Family, findSpec, inferMatchers, type VolumeSource } from '../core/instancetype/index.js';
import { instancetypeSource } from '../runtime/instancetypes.js';
import { DATA_SOURCES, DATA_VOLUMES, PERSISTENT_VOLUME_CLAIMS, VIRTUAL_MACHINE_INSTANCES, VOLUME_SNAPSHOTS } from '../runtime/resources.js';
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
  /** The VM with what its volumes say about instance type and preference filled in, or why that is impossible. */
  inferred(vm: VirtualMachine, namespace: string): Promise<Result<VirtualMachine, string>>;
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
/** How long a kind that is not served is not asked for again. */
const ABSENT_MS = 30_000;

const SOURCES = {
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIMS,
  DataVolume: DATA_VOLUMES,
  DataSource: DATA_SOURCES,
  VolumeSnapshot: VOLUME_SNAPSHOTS,
} as const satisfies Readonly<Record<VolumeSource['kind'], Resource<KubeObject>>>;

/** A read that is not allowed is something that the user can do without: the answer says so. */
async function inferredBy(client: KubeClient, vm: VirtualMachine, namespace: string): Promise<Result<VirtualMachine, string>> {
  const readSource = (source: VolumeSource): Promise<KubeObject | undefined> =>
    client.find<KubeObject>(SOURCES[source.kind], `${source.namespace}/${source.name}`);
  try {
    return await inferMatchers(vm, namespace, readSource);
  } catch (err) {
    if (!hasCode(err, 'Forbidden')) throw err;
    return fail(`unable to infer defaults: ${messageOf(err)}; name the instance type and the preference in the VM instead`);
  }
}

type SpecOf<F extends Family> = NonNullable<Chosen[F]>;

/** Whatever goes wrong here is not the VM's fault: the VM controller waits for the object and says so on the VM. */
async function specOf<F extends Family>(client: KubeClient, log: Logger, vm: VirtualMachine, family: F): Promise<SpecOf<F> | undefined> {
  const { name, namespace = '' } = vm.metadata;
  const result = await findSpec(vm, family, instancetypeSource(client)).catch((err: unknown) => fail(messageOf(err)));
  if (!result) return undefined;
  if (result.ok) return result.value as SpecOf<F>;
  log.warn({ kind: 'VirtualMachine', namespace, name, reason: result.error }, `Admitting without its ${family}`);
  return undefined;
}

const placed = (vm: VirtualMachine, namespace: string): VirtualMachine => ({ ...vm, metadata: { namespace, ...vm.metadata } });

export function createFacts(client: KubeClient, clock: Clock, log: Logger): AdmissionFacts {
  let presetsAbsentUntil = 0;
  const dataSource = ({ namespace, name }: DataSourceRef): Promise<DataSource | undefined> =>
    client.find(DATA_SOURCES as Resource<DataSource>, `${namespace}/${name}`);
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
    inferred: (vm, namespace) => inferredBy(client, vm, namespace),
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
