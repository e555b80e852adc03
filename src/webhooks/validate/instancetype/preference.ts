// Admission of preferences, namespaced and cluster-wide: a known CPU topology, and a way to spread that exists. Pure.
import { field } from '../../../api/field-path.js';
import type { VirtualMachinePreferenceSpec } from '../../../api/index.js';
import { spreadOptions, topologyNamed } from '../../../core/instancetype/index.js';
import { type Verdict, verdictOf } from '../../verdict.js';
import { type Causes, invalid } from '../rule.js';

const ACROSS = ['CoresThreads', 'SocketsCores', 'SocketsCoresThreads'];
const CPU = field('spec', 'cpu');

function* topology({ cpu }: VirtualMachinePreferenceSpec): Causes {
  const word = cpu?.preferredCPUTopology;
  if (word === undefined || topologyNamed(word) !== undefined) return;
  yield invalid(field(CPU, 'preferredCPUTopology'), `unknown preferredCPUTopology ${word}: use sockets, cores, threads, spread or any`);
}

function* spread(spec: VirtualMachinePreferenceSpec): Causes {
  const word = spec.cpu?.preferredCPUTopology;
  if (word === undefined || topologyNamed(word) !== 'spread') return;
  const { across, ratio } = spreadOptions(spec);
  const at = field(CPU, 'spreadOptions');
  if (!ACROSS.includes(across)) yield invalid(field(at, 'across'), `across ${across} is not supported: use one of ${ACROSS.join(', ')}`);
  else if (across === 'CoresThreads' && ratio !== 2) {
    yield invalid(field(at, 'ratio'), `a core has 2 threads: spreading over cores and threads needs the ratio 2, not ${ratio}`);
  }
}

function warnings({ cpu }: VirtualMachinePreferenceSpec): string[] {
  const word = cpu?.preferredCPUTopology ?? '';
  if (!word.startsWith('prefer')) return [];
  return [`PreferredCPUTopology ${word} is deprecated for removal in a future release, please use ${topologyNamed(word)} instead`];
}

export function admitPreference(spec: VirtualMachinePreferenceSpec): Verdict {
  return verdictOf([...topology(spec), ...spread(spec)], warnings(spec));
}
