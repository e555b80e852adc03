// Admission of instance types, namespaced and cluster-wide: how far their memory may be overcommitted. Pure.
import { field } from '../../../api/field-path.js';
import type { VirtualMachineInstancetypeSpec } from '../../../api/index.js';
import { type Verdict, verdictOf } from '../../verdict.js';
import { type Causes, invalid } from '../rule.js';

const AT = field('spec', 'memory', 'overcommitPercent');
const LAUNCH_SECURITY_DEPRECATED = 'launchSecurity is deprecated and will be removed in a future release. Use preference instead.';

function* overcommit({ memory }: VirtualMachineInstancetypeSpec): Causes {
  const percent = memory?.overcommitPercent ?? 0;
  if (percent < 0 || percent > 100) yield invalid(AT, `${AT} is ${percent}: it must be in the range 0 to 100`);
  if (percent !== 0 && memory?.hugepages) {
    yield invalid(AT, `${AT} and spec.memory.hugepages should not be requested together: huge pages cannot be overcommitted`);
  }
}

export const admitInstancetype = (spec: VirtualMachineInstancetypeSpec): Verdict =>
  verdictOf(overcommit(spec), spec.launchSecurity ? [LAUNCH_SECURITY_DEPRECATED] : []);
