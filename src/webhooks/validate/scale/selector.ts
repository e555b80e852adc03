// The selector of a set of VMs or VMIs: sound, and matching the set's own template. Pure.
import { type FieldPath, field } from '../../../api/field-path.js';
import type { LabelSelector, ObjectMeta } from '../../../api/index.js';
import { selectorMatches } from '../../../core/label-selector.js';
import { labelSelectorCauses } from '../kubernetes/label-selector.js';
import { type Causes, invalid } from '../rule.js';

export function* ownSelector(selector: LabelSelector | undefined, template: ObjectMeta | undefined, at: FieldPath): Causes {
  const path = field(at, 'selector');
  const [fault] = labelSelectorCauses(selector, path);
  if (fault) yield invalid(path, `${fault.field}: ${fault.message}`);
  else if (!selectorMatches(selector, template?.labels)) {
    yield invalid(path, 'selector does not match labels: give the template the labels that the selector asks for');
  }
}
