// Mutation of VirtualMachines: the defaults of the template that must stay the same for the VM's whole life. Pure: the caller has read the
// DataSources that the DataVolume templates refer to.
import { isDeleting, type VirtualMachine, type VirtualMachinePreferenceSpec } from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { allowsPower } from '../../core/config/cluster-lookups.js';
import { type DefaultsContext, defaultVm } from '../../core/defaults/index.js';
import { fixPreferred, matcherCauses } from './matchers.js';
import type { Mutation } from './mutation.js';

export interface DataSourceFacts {
  /** Labels of the DataSource (of the one it points to, if it points to one); undefined when there is none. */
  readonly labelsOf: (namespace: string, name: string) => Readonly<Record<string, string>> | undefined;
}

export interface VmMutationContext extends DefaultsContext, DataSourceFacts {
  readonly creating: boolean;
  readonly namespace: string;
  /** On updates. */
  readonly old?: VirtualMachine;
  /** The one that the VM names, if it was found. */
  readonly preference?: VirtualMachinePreferenceSpec;
}

const ARCHITECTURE_LABEL = 'template.kubevirt.io/architecture';
const ARCHITECTURES = ['amd64', 'arm64', 's390x'];

export interface DataSourceRef {
  readonly namespace: string;
  readonly name: string;
}

/** DataSources whose labels may decide the architecture; none when the template names it. */
export function dataSourcesOf(vm: VirtualMachine, namespace: string): DataSourceRef[] {
  if (vm.spec.template?.spec?.architecture) return [];
  return (vm.spec.dataVolumeTemplates ?? [])
    .map((t) => t.spec.sourceRef)
    .filter((ref) => ref !== undefined)
    .filter((ref) => ref.kind.toLowerCase() === 'datasource')
    .map((ref) => ({ namespace: ref.namespace || namespace, name: ref.name }));
}

function sourceArchitecture(vm: VirtualMachine, config: ClusterConfig, { labelsOf, namespace }: VmMutationContext): string | undefined {
  const known = allowsPower(config) ? [...ARCHITECTURES, 'ppc64le'] : ARCHITECTURES;
  for (const ref of dataSourcesOf(vm, namespace)) {
    const arch = labelsOf(ref.namespace, ref.name)?.[ARCHITECTURE_LABEL];
    if (arch !== undefined && known.includes(arch)) return arch;
  }
  return undefined;
}

export function mutateVm(given: VirtualMachine, config: ClusterConfig, context: VmMutationContext): Mutation<VirtualMachine> {
  if (isDeleting(given)) return { object: given, warnings: [] };
  const faults = matcherCauses(given, context.old);
  if (faults.length > 0) return { refusal: { allowed: false, causes: faults } };
  const preferred = context.preference ? structuredClone(given) : given;
  fixPreferred(preferred, context.preference);
  const arch = sourceArchitecture(preferred, config, context);
  const { creating, randomUuid } = context;
  const vm = defaultVm(preferred, config, { creating, randomUuid, ...(arch === undefined ? {} : { sourceArchitecture: arch }) });
  return { object: vm, warnings: [] };
}
