// Admission of VirtualMachineExports: a source of a kind that can be exported, in its own API group, and unchanged once made. Pure.
import { field } from '../../../api/field-path.js';
import type { VirtualMachineExport } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { type Verdict, verdictOf } from '../../verdict.js';
import { type ObjectReference, unchangedSpec } from '../reference.js';
import { type Causes, invalid } from '../rule.js';

const AT = field('spec', 'source');
const TEMPLATE = 'VirtualMachineTemplate';

/** The API group of each kind; claims are of the core group, which has no name. */
const GROUPS: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: '',
  VirtualMachineSnapshot: 'snapshot.kubevirt.io',
  VirtualMachine: 'kubevirt.io',
  VirtualMachineBackup: 'backup.kubevirt.io',
  [TEMPLATE]: 'template.kubevirt.io',
};

const exportsTemplates = (config: ClusterConfig): boolean =>
  config.isEnabled('OCIExport') && config.isEnabled('Template') && config.spec.virtTemplateDeployment?.enabled !== false;

function* source({ apiGroup = '', kind, name }: ObjectReference, config: ClusterConfig): Causes {
  const group = GROUPS[kind];
  if (group === undefined) {
    yield invalid(field(AT, 'kind'), `invalid kind ${kind}: one of ${Object.keys(GROUPS).join(', ')} can be exported`);
    return;
  }
  if (kind === TEMPLATE && !exportsTemplates(config)) {
    yield invalid(
      field(AT, 'kind'),
      `${TEMPLATE} source requires the feature gates OCIExport and Template and the template deployment: enable them in the KubeVirt resource`,
    );
    return;
  }
  if (!name) yield invalid(field(AT, 'name'), `the name of the ${kind} must not be empty: say which one to export`);
  if (apiGroup !== group) {
    yield invalid(
      field(AT, 'APIGroup'),
      `the API group of a ${kind} must be ${group === '' ? 'left out' : group}, not ${apiGroup || 'empty'}`,
    );
  }
}

export const admitExportCreate = ({ spec }: VirtualMachineExport, config: ClusterConfig): Verdict =>
  verdictOf(source(spec?.source ?? { kind: '', name: '' }, config));

export const admitExportUpdate = (next: VirtualMachineExport, old: VirtualMachineExport): Verdict => verdictOf(unchangedSpec(next, old));
