// DataVolume templates of a VM: named, used by a volume, with one kind of storage and one way to be filled. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { DataVolumeTemplateSpec, VirtualMachineSpec } from '../../../api/index.js';
import { type Cause, type Causes, invalid, type Rule, required } from '../rule.js';

function sourceFault(template: DataVolumeTemplateSpec, at: FieldPath): Cause | undefined {
  const { pvc, storage, source, sourceRef } = template.spec;
  const claim = pvc ?? storage;
  const populated = claim?.dataSource !== undefined || claim?.dataSourceRef !== undefined;
  const filled = source !== undefined || sourceRef !== undefined;
  if (populated && filled)
    return invalid(
      field(at, 'source'),
      'the claim is populated by its dataSource, so that source and sourceRef have no place: keep one of them',
    );
  if (!populated && !filled) {
    return invalid(field(at, 'source', 'sourceRef'), 'nothing fills the volume: set source, sourceRef, or the dataSource of its claim');
  }
  const sources = Object.values(source ?? {}).filter((v) => v !== undefined && v !== null).length;
  if (!source || sources === 1) return undefined;
  return invalid(
    field(at, 'source'),
    sources === 0 ? 'source is empty: name one, such as blank, http or registry' : 'source has several kinds: keep one',
  );
}

function templateFault(template: DataVolumeTemplateSpec, at: FieldPath): Cause | undefined {
  const { pvc, storage } = template.spec;
  if (!template.metadata?.name) {
    const path = field(at, 'name');
    return required(path, `${path} is missing: the volume of the template refers to the DataVolume by its name`);
  }
  if (!pvc && !storage) return invalid(field(at, 'PVC', 'Storage'), 'the volume has no size: set storage (or pvc)');
  if (pvc && storage) {
    return invalid(field(at, 'PVC', 'Storage'), 'pvc and storage exclude each other: keep storage');
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
      yield required(path, `DataVolumeTemplate "${name}" is not used: refer to it by a dataVolume in the template's volumes, or remove it`);
    }
  }
};

export function* templateNamespaces(spec: VirtualMachineSpec, namespace: string): Causes {
  for (const [i, { metadata }] of (spec.dataVolumeTemplates ?? []).entries()) {
    if (metadata?.namespace && metadata.namespace !== namespace) {
      const path = field('spec', 'dataVolumeTemplates', i);
      yield invalid(path, `Embedded DataVolume namespace ${metadata.namespace} differs from VM namespace ${namespace}: leave it out`);
    }
  }
}
