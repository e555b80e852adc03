// How a VMI starts, is probed, moved and rebooted, and as whom it runs. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { Probe, VirtualMachineInstanceSpec } from '../../../api/index.js';
import { gateOff } from '../gate-off.js';
import { dnsSubdomainProblems } from '../kubernetes/names.js';
import { affinityCauses, topologySpreadCauses } from '../kubernetes/scheduling.js';
import { type Causes, invalid, type Rule, required } from '../rule.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const EVICTION_STRATEGIES = ['None', 'LiveMigrate', 'LiveMigrateIfPossible', 'External'];

export const startStrategy: SpecRule = function* (spec, at) {
  const { startStrategy: strategy } = spec;
  if (strategy === undefined) return;
  const path = field(at, 'startStrategy');
  if (strategy !== 'Paused')
    yield invalid(path, `${path} is "${strategy}": the only start strategy is Paused; leave it out to start at once`);
  else if (spec.livenessProbe) {
    const probe = field(at, 'livenessProbe');
    yield invalid(path, `a guest that starts paused would fail its liveness probe: leave out ${path} or ${probe}`);
  }
};

export const evictionStrategy: SpecRule = function* (spec, at, config) {
  const strategy = spec.evictionStrategy ?? config.spec.evictionStrategy;
  if (strategy === undefined || EVICTION_STRATEGIES.includes(strategy)) return;
  const path = field(at, 'evictionStrategy');
  yield invalid(path, `${path} is "${strategy}": use one of ${EVICTION_STRATEGIES.join(', ')}`);
};

function* probeCauses(probe: Probe, at: FieldPath): Causes {
  const handlers = [probe.httpGet, probe.tcpSocket, probe.exec, probe.guestAgentPing].filter(Boolean).length;
  if (handlers > 1)
    yield invalid(at, `${at} must have exactly one probe type set: keep one of httpGet, tcpSocket, exec and guestAgentPing`);
  if (handlers < 1) {
    const [tcp, exec, http] = [field(at, 'tcpSocket'), field(at, 'exec'), field(at, 'httpGet')];
    yield required(at, `${at} says nothing to probe: set ${tcp}, ${exec}, ${http} or guestAgentPing, or leave the probe out`);
  }
}

function* networkProbeCauses(probe: Probe, at: FieldPath): Causes {
  for (const handler of ['httpGet', 'tcpSocket'] as const) {
    const path = field(at, handler);
    if (probe[handler])
      yield invalid(path, `${path} reaches the guest through the pod network: attach it, or probe with exec or guestAgentPing`);
  }
}

export const probes: SpecRule = function* (spec, at) {
  const hasPodNetwork = (spec.networks ?? []).some((n) => n.pod);
  for (const name of ['readinessProbe', 'livenessProbe'] as const) {
    const probe = spec[name];
    if (!probe) continue;
    yield* probeCauses(probe, field(at, name));
    if (!hasPodNetwork) yield* networkProbeCauses(probe, field(at, name));
  }
};

export const scheduling: SpecRule = function* (spec, at) {
  yield* affinityCauses(spec.affinity, at);
  yield* topologySpreadCauses(spec.topologySpreadConstraints ?? [], field(at, 'topologySpreadConstraints'));
};

export const rebootPolicy: SpecRule = function* (spec, at, config) {
  if (spec.domain.rebootPolicy === undefined || config.isEnabled('RebootPolicy')) return;
  yield invalid(field(at, 'domain', 'rebootPolicy'), gateOff('RebootPolicy', field(at, 'domain', 'rebootPolicy')));
};

export const reservedOverhead: SpecRule = function* (spec, at, config) {
  if (spec.domain.memory?.reservedOverhead === undefined || config.isEnabled('ReservedOverheadMemlock')) return;
  const path = field(at, 'domain', 'memory', 'reservedOverhead');
  yield invalid(path, gateOff('ReservedOverheadMemlock', path));
};

export const serviceAccount: SpecRule = function* (spec, at) {
  const name = spec.serviceAccountName;
  if (!name) return;
  const path = field(at, 'serviceAccountName');
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) yield invalid(path, `${path} "${name}" is no name of a service account: it ${problems.join('; ')}`);
  const other = (spec.volumes ?? []).find((v) => v.serviceAccount && v.serviceAccount.serviceAccountName !== name);
  if (other) {
    const theirs = other.serviceAccount?.serviceAccountName ?? '';
    yield invalid(path, `a pod runs as one service account: make ${path} "${name}" and the serviceAccount volume's "${theirs}" the same`);
  }
};
