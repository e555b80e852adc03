// Kubernetes' rules for label selectors; whether one matches is core/label-selector's. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { LabelSelector } from '../../../api/index.js';
import { type Cause, type Causes, invalid } from '../rule.js';
import { labelKeyProblems, labelValueProblems } from './names.js';

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

function* requirementCauses(requirement: Requirement, at: FieldPath): Causes {
  const { key, operator, values = [] } = requirement;
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) yield invalid(field(at, 'values'), `operator ${operator} compares with values: give at least one`);
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) yield invalid(field(at, 'values'), `operator ${operator} looks at the key alone: take the values out`);
  } else {
    yield invalid(field(at, 'operator'), `operator ${operator} does not exist: use In, NotIn, Exists or DoesNotExist`);
  }
  yield* labelNameCauses(key, field(at, 'key'));
  for (const [i, value] of values.entries()) {
    for (const problem of labelValueProblems(value)) yield invalid(field(at, 'values', i), `label value "${value}" ${problem}`);
  }
}

export function* labelNameCauses(name: string, at: FieldPath): Iterable<Cause> {
  for (const problem of labelKeyProblems(name)) yield invalid(at, `label name "${name}" ${problem}`);
}

export function* labelSelectorCauses(selector: LabelSelector | undefined, at: FieldPath): Causes {
  if (!selector) return;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    yield* labelNameCauses(key, field(at, 'matchLabels'));
    for (const problem of labelValueProblems(value)) yield invalid(field(at, 'matchLabels'), `label value "${value}" ${problem}`);
  }
  for (const [i, requirement] of (selector.matchExpressions ?? []).entries()) {
    yield* requirementCauses(requirement, field(at, 'matchExpressions', i));
  }
}
