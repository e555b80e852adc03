// DataVolume templates of a VM: named, used by a volume, with one kind of storage and one way to be filled. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { DataVolumeTemplateSpec, VirtualMachineSpec } from '../../../api/index.js';
import { type Cause, type Causes, invalid, type Rule, required } from '../rule.js';

function sourceFault(template: DataVolumeTemplateSpec, at: FieldPath): Cause | undefined {
  const { pvc, storage, source, sourceRef } = template.spec;
  const claim = pvc ?? storage;
  const populated = claim?.dataSource !== undefined || claim?.dataSourceRef !== undefined;
  const filled = source !== undefined || sourceRef !== undefined;
  if (populated && filled) return invalid(field(at, 'source'), 'External population is incompatible with Source and SourceRef');
  if (!populated && !filled) {
    return invalid(field(at, 'source', 'sourceRef'), 'Data volume should have either Source, SourceRef, or be externally populated');
  }
  const sources = Object.values(source ?? {}).filter((v) => v !== undefined && v !== null).length;
  if (!source || sources === 1) return undefined;
  return invalid(field(at, 'source'), sources === 0 ? 'Missing dataVolume valid source' : 'Multiple dataVolume sources');
}

function templateFault(template: DataVolumeTemplateSpec, at: FieldPath): Cause | undefined {
  const { pvc, storage } = template.spec;
  if (!template.metadata?.name) {
    const path = field(at, 'name');
    return required(path, `'name' field must not be empty for DataVolumeTemplate entry ${path}.`);
  }
  if (!pvc && !storage) return invalid(field(at, 'PVC', 'Storage'), 'Missing Data volume PVC or Storage');
  if (pvc && storage) {
    return invalid(field(at, 'PVC', 'Storage'), 'Duplicate storage definition, both target storage and target pvc defined');
  }
  return sourceFault(template, at);
}

/** The paths say `dataVolumeTemplate`, as they always have. */
export const dataVolumeTemplates: Rule<VirtualMachineSpec> = function* (spec, at) {
  const volumes = spec.template?.spec?.volumes ?? [];
  for (const [i, template] of (spec.dataVolumeTemplates ?? []).entries()) {
    const path = field(at, 'dataVolumeTemplate', i);
    const fault = templateFault(template, path);
    const name = template.metadata?.name;
    if (fault) yield fault;
    else if (!volumes.some((v) => v.persistentVolumeClaim?.claimName === name || v.dataVolume?.name === name)) {
      yield required(path, `DataVolumeTemplate entry ${path} must be referenced in the VMI template's 'volumes' list`);
    }
  }
};

export function* templateNamespaces(spec: VirtualMachineSpec, namespace: string): Causes {
  for (const [i, { metadata }] of (spec.dataVolumeTemplates ?? []).entries()) {
    if (metadata?.namespace && metadata.namespace !== namespace) {
      const path = field('spec', 'dataVolumeTemplates', i);
      yield invalid(path, `Embedded DataVolume namespace ${metadata.namespace} differs from VM namespace ${namespace}`);
    }
  }
}
