// Kubernetes' rules for affinity and topology spread, which end up in the launcher pod: what the API server would refuse there is refused
// where the user wrote it. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '../../../api/index.js';
import { type Causes, invalid } from '../rule.js';
import { labelNameCauses, labelSelectorCauses } from './label-selector.js';
import { dnsLabelProblems, dnsSubdomainProblems } from './names.js';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const NAME_FIELD = 'metadata.name';

function* weightCauses(weight: number, at: FieldPath): Causes {
  if (weight <= 0 || weight > 100) yield invalid(field(at, 'weight'), `weight ${weight} must be in the range 1-100`);
}

function* operatorCauses({ operator, values = [] }: NodeSelectorRequirement, at: FieldPath): Causes {
  const given = values.length;
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (given === 0) yield invalid(field(at, 'values'), `operator ${operator} compares with values: give at least one`);
      return;
    case 'Exists':
    case 'DoesNotExist':
      if (given > 0) yield invalid(field(at, 'values'), `operator ${operator} looks at the key alone: take the values out`);
      return;
    case 'Gt':
    case 'Lt':
      if (given !== 1) yield invalid(field(at, 'values'), `operator ${operator} compares with one number: give exactly one value`);
      return;
    default:
      yield invalid(field(at, 'operator'), `operator ${operator} does not exist: use In, NotIn, Exists, DoesNotExist, Gt or Lt`);
  }
}

function* fieldRequirementCauses({ key, operator, values = [] }: NodeSelectorRequirement, at: FieldPath): Causes {
  if (operator !== 'In' && operator !== 'NotIn')
    yield invalid(field(at, 'operator'), `operator ${operator} does not work on fields: use In or NotIn`);
  else if (values.length !== 1) yield invalid(field(at, 'values'), 'a field of a node is compared with one value: give exactly one');
  if (key !== NAME_FIELD) {
    yield invalid(field(at, 'key'), `nodes cannot be selected by the field ${key}: use ${NAME_FIELD}`);
    return;
  }
  for (const [i, value] of values.entries()) {
    for (const problem of dnsSubdomainProblems(value)) yield invalid(field(at, 'values', i), `node name "${value}" ${problem}`);
  }
}

function* termCauses(term: NodeSelectorTerm, at: FieldPath): Causes {
  for (const [i, requirement] of (term.matchExpressions ?? []).entries()) {
    const path = field(at, 'matchExpressions', i);
    yield* operatorCauses(requirement, path);
    yield* labelNameCauses(requirement.key, field(path, 'key'));
  }
  for (const [i, requirement] of (term.matchFields ?? []).entries()) {
    yield* fieldRequirementCauses(requirement, field(at, 'matchFields', i));
  }
}

function* nodeSelectorCauses(selector: NodeSelector, at: FieldPath): Causes {
  const terms = selector.nodeSelectorTerms ?? [];
  const path = field(at, 'nodeSelectorTerms');
  if (terms.length === 0) yield invalid(path, 'there is no term, so that no node would do: add one, or take the selector out');
  for (const [i, term] of terms.entries()) yield* termCauses(term, field(path, i));
}

function* podTermCauses(term: PodAffinityTerm, at: FieldPath): Causes {
  yield* labelSelectorCauses(term.labelSelector, field(at, 'labelSelector'));
  yield* labelSelectorCauses(term.namespaceSelector, field(at, 'namespaceSelector'));
  for (const name of term.namespaces ?? []) {
    for (const problem of dnsLabelProblems(name)) yield invalid(field(at, 'namespace'), `namespace "${name}" ${problem}`);
  }
  if (!term.topologyKey)
    yield invalid(field(at, 'topologyKey'), 'the term has no topologyKey: name a node label, such as kubernetes.io/hostname');
  yield* labelNameCauses(term.topologyKey ?? '', field(at, 'topologyKey'));
}

function* podAffinityCauses(affinity: PodAffinity | undefined, at: FieldPath): Causes {
  for (const [i, term] of (affinity?.[REQUIRED] ?? []).entries()) yield* podTermCauses(term, field(at, REQUIRED, i));
  for (const [i, weighted] of (affinity?.[PREFERRED] ?? []).entries()) {
    const path = field(at, PREFERRED, i);
    yield* weightCauses(weighted.weight, path);
    yield* podTermCauses(weighted.podAffinityTerm, field(path, 'podAffinityTerm'));
  }
}

/** The paths leave out `affinity` itself, as they always have. */
export function* affinityCauses(affinity: Affinity | undefined, at: FieldPath): Causes {
  if (!affinity) return;
  const node = affinity.nodeAffinity;
  const nodePath = field(at, 'nodeAffinity');
  if (node?.[REQUIRED]) yield* nodeSelectorCauses(node[REQUIRED], field(nodePath, REQUIRED));
  for (const [i, preferred] of (node?.[PREFERRED] ?? []).entries()) {
    const path = field(nodePath, PREFERRED, i);
    yield* weightCauses(preferred.weight, path);
    yield* termCauses(preferred.preference, field(path, 'preference'));
  }
  yield* podAffinityCauses(affinity.podAffinity, field(at, 'podAffinity'));
  yield* podAffinityCauses(affinity.podAntiAffinity, field(at, 'podAntiAffinity'));
}

function* spreadCauses(constraint: TopologySpreadConstraint, at: FieldPath): Causes {
  if (constraint.maxSkew <= 0)
    yield invalid(field(at, 'maxSkew'), `maxSkew ${constraint.maxSkew} must be greater than zero: 1 spreads evenly`);
  if (!constraint.topologyKey) yield invalid(field(at, 'topologyKey'), 'the constraint has no topologyKey: name a node label');
  else yield* labelNameCauses(constraint.topologyKey, field(at, 'topologyKey'));
  if (!['DoNotSchedule', 'ScheduleAnyway'].includes(constraint.whenUnsatisfiable)) {
    yield invalid(
      field(at, 'whenUnsatisfiable'),
      `whenUnsatisfiable ${constraint.whenUnsatisfiable} does not exist: use DoNotSchedule or ScheduleAnyway`,
    );
  }
}

export function* topologySpreadCauses(constraints: readonly TopologySpreadConstraint[], at: FieldPath): Causes {
  for (const [i, constraint] of constraints.entries()) {
    const path = field(at, i);
    yield* spreadCauses(constraint, path);
    yield* labelSelectorCauses(constraint.labelSelector, field(at, 'labelSelector'));
    const { topologyKey, whenUnsatisfiable } = constraint;
    const again = constraints.slice(i + 1).some((c) => c.topologyKey === topologyKey && c.whenUnsatisfiable === whenUnsatisfiable);
    if (again)
      yield invalid(
        field(path, '{topologyKey, whenUnsatisfiable}'),
        `topologyKey ${topologyKey} with ${whenUnsatisfiable} is given twice: keep one constraint`,
      );
  }
}
