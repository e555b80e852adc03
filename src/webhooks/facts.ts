// What admission reads from the cluster, each by a single request when it is needed: the VMI of a VM, presets, DataSources. Kinds whose
// CRDs are not installed count as having no objects. Holds no informers, writes nothing.
import type { KubeObject, VirtualMachineInstance } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { hasCode } from '../base/errors.js';
import { VIRTUAL_MACHINE_INSTANCES } from '../runtime/resources.js';
import type { KubeClient, Resource } from '../runtime/types.js';
import type { VirtualMachineInstancePreset } from './mutate/preset.js';
import type { DataSourceRef } from './mutate/vm.js';

interface DataSource extends KubeObject {
  readonly spec: { readonly source?: { readonly dataSource?: DataSourceRef } };
}

export interface AdmissionFacts {
  vmi(namespace: string, name: string): Promise<VirtualMachineInstance | undefined>;
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
/** How long a kind that is not served is not asked for again. */
const ABSENT_MS = 30_000;

export function createFacts(client: KubeClient, clock: Clock): AdmissionFacts {
  let presetsAbsentUntil = 0;
  const dataSource = ({ namespace, name }: DataSourceRef): Promise<DataSource | undefined> =>
    client.find(DATA_SOURCES, `${namespace}/${name}`);
  return {
    vmi: (namespace, name) => client.find(VIRTUAL_MACHINE_INSTANCES, `${namespace}/${name}`),
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
