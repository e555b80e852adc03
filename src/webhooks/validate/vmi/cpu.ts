// CPU topology, pinning, NUMA, realtime and CPU features of a VMI. Pure.

import { field } from '../../../api/field-path.js';
import type { VirtualMachineInstanceSpec } from '../../../api/index.js';
import { invalid, notSupported, type Rule, required } from '../rule.js';
import { bytes, cpuMilliOf, cpuOf, memoryOf, vcpusOf } from './amounts.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const FEATURE_POLICIES = ['', 'force', 'require', 'optional', 'disable', 'forbid'];
const isPinned = (spec: VirtualMachineInstanceSpec): boolean => spec.domain.cpu?.dedicatedCpuPlacement === true;

const hasMemory = (spec: VirtualMachineInstanceSpec): boolean =>
  memoryOf(spec, 'limits') !== 0n ||
  memoryOf(spec, 'requests') !== 0n ||
  spec.domain.memory?.hugepages !== undefined ||
  bytes(spec.domain.memory?.guest) !== 0n;

export const pinnedMemory: SpecRule = function* (spec, at) {
  if (!isPinned(spec)) return;
  const resources = field(at, 'domain', 'resources');
  if (!hasMemory(spec)) {
    const [request, limit] = [field(resources, 'requests', 'memory'), field(resources, 'limits', 'memory')];
    const memory = field(at, 'domain', 'memory');
    yield invalid(
      limit,
      `dedicated CPUs need memory of a known size: set ${field(memory, 'guest')}, ${field(memory, 'hugepages')}, ${request} or ${limit}`,
    );
  }
  const [request, limit] = [memoryOf(spec, 'requests'), memoryOf(spec, 'limits')];
  if (request > 0n && limit > 0n && request !== limit) {
    const path = field(resources, 'requests', 'memory');
    yield invalid(path, `${path} must be equal to ${field(resources, 'limits', 'memory')} when CPUs are dedicated: make them the same`);
  }
};

export const pinnedCpuAmounts: SpecRule = function* (spec, at) {
  if (!isPinned(spec)) return;
  for (const kind of ['requests', 'limits'] as const) {
    const whole = cpuOf(spec, kind);
    if (whole > 0n && whole * 1000n !== cpuMilliOf(spec, kind)) {
      yield invalid(
        field(at, 'domain', 'resources', kind, 'cpu'),
        `resources ${kind} of CPU must be a whole number when CPUs are dedicated: round it`,
      );
    }
  }
};

/** What is wrong between request, limit and topology, as the middle of a sentence about their paths. */
function* amountFaults(request: bigint, limit: bigint, vcpus: bigint): Iterable<'none' | 'unequal' | 'contradicting'> {
  const given = [request, limit].filter((amount) => amount > 0n);
  if (given.length === 0) {
    if (request === limit && vcpus === 0n) yield 'none';
    return;
  }
  if (new Set(given).size > 1) yield 'unequal';
  if (vcpus > 0n && !given.includes(vcpus)) yield 'contradicting';
}

export const pinnedCpuSource: SpecRule = function* (spec, at) {
  if (!isPinned(spec)) return;
  const path = field(at, 'domain', 'cpu', 'dedicatedCpuPlacement');
  const [request, limit] = [field(at, 'domain', 'resources', 'requests', 'cpu'), field(at, 'domain', 'resources', 'limits', 'cpu')];
  const cores = field(at, 'domain', 'cpu', 'cores');
  const messages = {
    none: `dedicatedCpuPlacement does not say how many CPUs: set ${cores}, ${request} or ${limit}`,
    unequal: `${request} and ${limit} must be equal when CPUs are dedicated: make them the same`,
    contradicting: `${request} and ${limit} contradict the topology: leave them out, or make them the product of cores, sockets and threads`,
  };
  for (const fault of amountFaults(cpuOf(spec, 'requests'), cpuOf(spec, 'limits'), vcpusOf(spec))) yield invalid(path, messages[fault]);
};

export const pinnedThreads: SpecRule = function* (spec, at, config) {
  const threads = spec.domain.cpu?.threads ?? 0;
  if (!isPinned(spec)) return;
  const path = field(at, 'domain', 'cpu', 'threads');
  if (threads > 1 && (spec.architecture || config.defaultArchitecture) === 'arm64') {
    const arch = field(at, 'architecture');
    yield invalid(arch, `${path} is ${threads}: CPUs of arm64 have one thread a core; use more cores`);
  }
  if (threads > 2) {
    yield invalid(
      field(at, 'domain', 'cpu', 'dedicatedCpuPlacement'),
      `${path} is ${threads}: dedicated CPUs have two threads a core at most; use more cores`,
    );
  }
};

export const numa: SpecRule = function* (spec, at) {
  if (!spec.domain.cpu?.numa?.guestMappingPassthrough) return;
  const path = field(at, 'domain', 'cpu', 'numa', 'guestMappingPassthrough');
  if (!isPinned(spec)) {
    const wanted = field(at, 'domain', 'cpu', 'dedicatedCpuPlacement');
    yield invalid(path, `${path} needs CPUs of its own: set ${wanted} to true`);
  }
  if (!spec.domain.memory?.hugepages) {
    yield invalid(path, `${path} needs huge pages: set ${field(at, 'domain', 'memory', 'hugepages')}`);
  }
};

export const isolatedEmulatorThread: SpecRule = function* (spec, at) {
  if (!spec.domain.cpu?.isolateEmulatorThread || isPinned(spec)) return;
  yield invalid(
    field(at, 'domain', 'cpu', 'isolateEmulatorThread'),
    'the emulator thread can be isolated from dedicated CPUs only: set dedicatedCpuPlacement to true, or leave isolateEmulatorThread out',
  );
};

export const featurePolicies: SpecRule = function* (spec, at) {
  for (const [i, { name, policy = '' }] of (spec.domain.cpu?.features ?? []).entries()) {
    if (FEATURE_POLICIES.includes(policy)) continue;
    yield notSupported(
      field(at, 'domain', 'cpu', 'features', i, 'policy'),
      `CPU feature ${name} has the policy "${policy}": use one of ${FEATURE_POLICIES.slice(1).join(', ')}`,
    );
  }
};

export const socketCeiling: SpecRule = function* (spec, at) {
  const { sockets = 0, maxSockets = 0 } = spec.domain.cpu ?? {};
  if (maxSockets !== 0 && sockets > maxSockets) {
    yield invalid(
      field(at, 'domain', 'cpu', 'sockets'),
      `${sockets} sockets are more than maxSockets ${maxSockets}: lower the first or raise the second`,
    );
  }
};

export const realtime: SpecRule = function* (spec, at) {
  const { cpu } = spec.domain;
  if (!cpu?.realtime) return;
  const used = field(at, 'domain', 'cpu', 'realtime');
  if (!cpu.dedicatedCpuPlacement) {
    const path = field(at, 'domain', 'cpu', 'dedicatedCpuPlacement');
    yield required(path, `${used} needs CPUs of its own: set ${path} to true`);
  }
  if (!cpu.numa?.guestMappingPassthrough) {
    const path = field(at, 'domain', 'cpu', 'numa', 'guestMappingPassthrough');
    yield required(path, `${used} needs memory near its CPUs: set ${path}`);
  }
};
