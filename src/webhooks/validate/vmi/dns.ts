// DNS policy and configuration, as Kubernetes checks them for pods. Some paths are bare words, as they always have been. Pure.
import { isIP } from 'node:net';
import { field } from '../../../api/field-path.js';
import type { PodDNSConfig, VirtualMachineInstanceSpec } from '../../../api/index.js';
import { dnsSubdomainProblems } from '../kubernetes/names.js';
import { type Causes, invalid, notSupported, type Rule, required } from '../rule.js';

const POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None', ''];
const MOST_NAMESERVERS = 3;
const MOST_SEARCHES = 6;
const MOST_SEARCH_CHARACTERS = 256;

function* searchCauses(searches: readonly string[]): Causes {
  const path = 'searchDomains';
  if (searches.length > MOST_SEARCHES) yield invalid(path, `must not have more than ${MOST_SEARCHES} search paths`);
  if (searches.join(' ').length > MOST_SEARCH_CHARACTERS) {
    yield invalid(path, `must not have more than ${MOST_SEARCH_CHARACTERS} characters (including spaces) in the search list`);
  }
  for (const search of searches) {
    for (const problem of dnsSubdomainProblems(search)) yield invalid(path, problem);
  }
}

function* configCauses({ nameservers = [], searches = [], options = [] }: PodDNSConfig): Causes {
  if (nameservers.length > MOST_NAMESERVERS) {
    yield invalid('nameservers', `must not have more than ${MOST_NAMESERVERS} nameservers: [${nameservers.join(' ')}]`);
  }
  for (const server of nameservers) {
    if (isIP(server) === 0) yield invalid('nameservers', `must be valid IP address: ${server}`);
  }
  yield* searchCauses(searches);
  for (const { name } of options) {
    if (!name) yield invalid('options', 'Option.Name must not be empty');
  }
}

export const dns: Rule<VirtualMachineInstanceSpec> = function* (spec, at) {
  const { dnsPolicy = '', dnsConfig } = spec;
  if (!POLICIES.includes(dnsPolicy)) {
    yield notSupported(field(at, 'dnsPolicy'), `DNSPolicy: ${dnsPolicy} is not supported, valid values: [${POLICIES.join(' ')}]`);
  }
  if (dnsPolicy === 'None' && !dnsConfig) {
    yield required(field(at, 'dnsConfig'), 'must provide `dnsConfig` when `dnsPolicy` is None');
  } else if (dnsPolicy === 'None' && !dnsConfig?.nameservers?.length) {
    yield required('nameservers', 'must provide at least one DNS nameserver when `dnsPolicy` is None');
  } else if (dnsConfig) {
    yield* configCauses(dnsConfig);
  }
};
