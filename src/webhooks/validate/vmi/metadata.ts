// Labels and annotations that a VMI or a template may carry: some labels belong to KubeVirt itself, some annotations need a gate. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import { ANNOTATION, LABEL, type ObjectMeta } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { type Causes, invalid, notSupported } from '../rule.js';

const RESERVED_LABELS: readonly string[] = [
  LABEL.createdBy,
  'kubevirt.io/migrationJobUID',
  LABEL.nodeName,
  LABEL.migrationTargetNodeName,
  LABEL.schedulable,
  'kubevirt.io/install-strategy',
];

/** The labels that only KubeVirt's own service accounts may set. */
export function reservedLabels(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => RESERVED_LABELS.includes(name)));
}

export function* metadataCauses(metadata: ObjectMeta | undefined, at: FieldPath, config: ClusterConfig, isOwnAccount: boolean): Causes {
  const { labels, annotations } = metadata ?? {};
  if (!isOwnAccount && Object.keys(reservedLabels(labels)).length > 0) {
    const names = Object.keys(reservedLabels(labels)).join(', ');
    yield notSupported(field(at, 'labels'), `the labels ${names} are reserved for KubeVirt's own components: take them out`);
  }
  const path = field(at, 'annotations');
  if (annotations?.[ANNOTATION.ignition] && !config.isEnabled('ExperimentalIgnitionSupport')) {
    yield invalid(path, gateOff('ExperimentalIgnitionSupport', field(path, ANNOTATION.ignition)));
  }
  if (annotations?.[ANNOTATION.hookSidecars] && !config.isEnabled('Sidecar')) {
    yield invalid(path, gateOff('Sidecar', field(path, ANNOTATION.hookSidecars)));
  }
}
