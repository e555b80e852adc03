// Names and amounts of a VMI: host name, memory and CPU requests and limits, huge pages. Pure.

import { field } from '../../../api/field-path.js';
import type { VirtualMachineInstanceSpec } from '../../../api/index.js';
import { isQuantity } from '../../../api/quantity.js';
import { isLiveUpdate } from '../../../core/config/cluster-lookups.js';
import { dnsLabelProblems, dnsSubdomainProblems } from '../kubernetes/names.js';
import { invalid, type Rule } from '../rule.js';
import { bytes, cpuMilliOf, memoryOf, written } from './amounts.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const LEAST_MEMORY_BYTES = 1_000_000n;
const atLeastZero = (path: string, amount: string): string => `${path} is ${amount}: an amount must be greater than or equal to 0`;

export const hostName: SpecRule = function* (spec, at) {
  if (spec.hostname) {
    const problems = dnsLabelProblems(spec.hostname);
    const path = field(at, 'hostname');
    if (problems.length > 0) yield invalid(path, `${path} "${spec.hostname}" ${problems.join(', ')}`);
  }
  if (spec.subdomain) {
    const problems = dnsSubdomainProblems(spec.subdomain);
    const path = field(at, 'subdomain');
    if (problems.length > 0) yield invalid(path, `${path} "${spec.subdomain}" ${problems.join(', ')}`);
  }
};

export const memoryRequest: SpecRule = function* (spec, at) {
  const request = memoryOf(spec, 'requests');
  const path = field(at, 'domain', 'resources', 'requests', 'memory');
  const text = written(spec, 'requests', 'memory');
  if (request < 0n) yield invalid(path, atLeastZero(path, text));
  else if (request > 0n && request < LEAST_MEMORY_BYTES)
    yield invalid(path, `${path} is ${text}: it must be greater than or equal to 1M; was a unit forgotten, as in 1Gi?`);
};

export const memoryLimit: SpecRule = function* (spec, at) {
  const limit = memoryOf(spec, 'limits');
  const limitPath = field(at, 'domain', 'resources', 'limits', 'memory');
  const path = field(at, 'domain', 'resources', 'requests', 'memory');
  const text = written(spec, 'limits', 'memory');
  if (limit < 0n) yield invalid(limitPath, atLeastZero(limitPath, text));
  if (limit > 0n && memoryOf(spec, 'requests') > limit) {
    yield invalid(
      path,
      `${path} ${written(spec, 'requests', 'memory')} is greater than ${limitPath} ${text}: lower the request or raise the limit`,
    );
  }
};

export const hugepages: SpecRule = function* (spec, at) {
  const pages = spec.domain.memory?.hugepages;
  if (!pages) return;
  const sizePath = field(at, 'domain', 'memory', 'hugepages', 'pageSize');
  if (!isQuantity(pages.pageSize)) {
    yield invalid(sizePath, `${sizePath} "${pages.pageSize ?? ''}" is not a quantity: write 2Mi or 1Gi`);
    return;
  }
  const size = bytes(pages.pageSize);
  const memory = memoryOf(spec, 'requests') || bytes(spec.domain.memory?.guest) || memoryOf(spec, 'limits');
  const path = field(at, 'domain', 'resources', 'requests', 'memory');
  if (memory !== 0n && memory < size) {
    yield invalid(
      path,
      `the memory is less than one page of ${sizePath} ${pages.pageSize}: ask for more in ${path} or memory.guest, or for smaller pages`,
    );
  } else if (size === 0n || memory % size !== 0n) {
    yield invalid(path, `the memory is not a multiple of the page size ${sizePath} ${pages.pageSize}: round ${path} or memory.guest`);
  }
};

/** With live update guest memory may grow past the limit, which then follows. */
export const guestMemoryWithinLimit: SpecRule = function* (spec, at, config) {
  const guest = spec.domain.memory?.guest;
  const limit = memoryOf(spec, 'limits');
  if (isLiveUpdate(config) || guest === undefined || limit === 0n || limit >= bytes(guest)) return;
  const path = field(at, 'domain', 'memory', 'guest');
  const limitPath = field(at, 'domain', 'resources', 'limits', 'memory');
  const text = written(spec, 'limits', 'memory');
  yield invalid(path, `${path} ${guest} must be equal to or less than the memory limit ${limitPath} ${text}: lower it, or raise the limit`);
};

export const cpuAmounts: SpecRule = function* (spec, at) {
  const request = cpuMilliOf(spec, 'requests');
  const limit = cpuMilliOf(spec, 'limits');
  const path = field(at, 'domain', 'resources', 'requests', 'cpu');
  const limitPath = field(at, 'domain', 'resources', 'limits', 'cpu');
  const [requestText, limitText] = [written(spec, 'requests', 'cpu'), written(spec, 'limits', 'cpu')];
  if (request < 0n) yield invalid(path, atLeastZero(path, requestText));
  if (limit < 0n) yield invalid(limitPath, atLeastZero(limitPath, limitText));
  if (limit > 0n && request > limit)
    yield invalid(path, `${path} ${requestText} is greater than ${limitPath} ${limitText}: lower the request or raise the limit`);
};
