// Admission of VirtualMachineClones: filters, source and target, MAC addresses and patches of the copy. Pure.
import { type FieldPath, field } from '../../../api/field-path.js';
import type { VirtualMachineClone } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { refuse, type Verdict, verdictOf } from '../../verdict.js';
import { gateOff } from '../gate-off.js';
import { type Causes, invalid } from '../rule.js';
import { macFault } from '../vmi/interfaces.js';

type CloneRule = (spec: VirtualMachineClone['spec']) => Causes;

const VM = 'VirtualMachine';
const SOURCES = [VM, 'VirtualMachineSnapshot'];
/** These two paths are spelled in capitals, as they always have been. */
const SOURCE = field('spec', 'Source');
const TARGET = field('spec', 'Target');

function* filterCauses(filters: readonly string[] | undefined, at: FieldPath): Causes {
  for (const filter of filters ?? []) {
    if (filter === '!') yield invalid(at, 'a negation character alone is not a valid filter: write what is to be left out after it');
    if (filter.slice(1).includes('!')) yield invalid(at, `${at} filter ${filter} is invalid: ! is allowed only at its beginning`);
    if (filter.slice(0, -1).includes('*')) yield invalid(at, `${at} filter ${filter} is invalid: * is allowed only at its end`);
  }
}

const filters: CloneRule = function* ({ annotationFilters, labelFilters, template }) {
  yield* filterCauses(annotationFilters, 'spec.annotations');
  yield* filterCauses(labelFilters, 'spec.labels');
  yield* filterCauses(template?.annotationFilters, 'spec.template.annotations');
  yield* filterCauses(template?.labelFilters, 'spec.template.labels');
};

const kinds: CloneRule = function* ({ source, target }) {
  if (!SOURCES.includes(source?.kind ?? '')) {
    yield invalid(field(SOURCE, 'Kind'), `Source kind is not supported: use one of ${SOURCES.join(', ')}`);
  }
  if (target && target.kind !== VM) yield invalid(field(TARGET, 'Kind'), `Target kind is not supported: use ${VM}`);
};

const source: CloneRule = function* (spec) {
  const { apiGroup, kind, name } = spec.source ?? {};
  if (!apiGroup) yield invalid(field(SOURCE, 'APIGroup'), "Source's APIGroup cannot be empty: set it to the group of the source's kind");
  if (!kind) yield invalid(SOURCE, `Source's Kind cannot be empty: use one of ${SOURCES.join(', ')}`);
  if (!name) yield invalid(field(SOURCE, 'Name'), "Source's name cannot be empty: say what to clone");
};

const otherName: CloneRule = function* (spec) {
  const { source: from, target } = spec;
  if (from?.kind !== VM || target?.kind !== VM || target.name !== from.name) return;
  yield invalid(
    'spec.target.name',
    'Target name cannot be equal to source name when both are VirtualMachines: choose another, or leave it out',
  );
};

const macAddresses: CloneRule = function* ({ newMacAddresses = {} }) {
  for (const [name, mac] of Object.entries(newMacAddresses)) {
    const fault = mac === '' ? undefined : macFault(mac);
    if (fault)
      yield invalid(
        field('spec', 'newMacAddresses', name),
        `interface ${name} has the ${fault} MAC address ${mac}: write six bytes, as 02:00:00:12:34:56`,
      );
  }
};

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The question is only whether it parses.
    return false;
  }
}

const patches: CloneRule = function* (spec) {
  for (const [i, patch] of (spec.patches ?? []).entries()) {
    if (!isJson(patch))
      yield invalid(field('spec', 'patches', i), `patch is not valid JSON (${patch}): write one JSON patch operation a list entry`);
  }
};

const RULES: readonly CloneRule[] = [filters, kinds, source, otherName, macAddresses, patches];

const causes = ({ spec }: VirtualMachineClone): Causes => RULES.flatMap((rule) => [...rule(spec)]);

export function admitCloneCreate(clone: VirtualMachineClone, config: ClusterConfig): Verdict {
  if (!config.isEnabled('Snapshot')) {
    return refuse(gateOff('Snapshot', 'a clone, which goes through a snapshot,'));
  }
  return verdictOf(causes(clone));
}

export const admitCloneUpdate = (clone: VirtualMachineClone): Verdict => verdictOf(causes(clone));
