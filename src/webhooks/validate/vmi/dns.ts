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
  if (searches.length > MOST_SEARCHES)
    yield invalid(path, `dnsConfig has ${searches.length} search domains: ${MOST_SEARCHES} are the most`);
  if (Buffer.byteLength(searches.join(' ')) > MOST_SEARCH_CHARACTERS) {
    yield invalid(
      path,
      `the search domains of dnsConfig are too long together: ${MOST_SEARCH_CHARACTERS} characters with spaces between are the most`,
    );
  }
  for (const search of searches) {
    for (const problem of dnsSubdomainProblems(search)) yield invalid(path, `search domain "${search}" ${problem}`);
  }
}

function* configCauses({ nameservers = [], searches = [], options = [] }: PodDNSConfig): Causes {
  if (nameservers.length > MOST_NAMESERVERS) {
    yield invalid('nameservers', `dnsConfig has ${nameservers.length} nameservers: ${MOST_NAMESERVERS} are the most`);
  }
  for (const server of nameservers) {
    if (isIP(server) === 0 || server.includes('%'))
      yield invalid('nameservers', `nameserver "${server}" is no IP address: write it in numbers`);
  }
  yield* searchCauses(searches);
  for (const { name } of options) {
    if (!name) yield invalid('options', 'an option of dnsConfig has no name: give it one, or remove it');
  }
}

export const dns: Rule<VirtualMachineInstanceSpec> = function* (spec, at) {
  const { dnsPolicy = '', dnsConfig } = spec;
  if (!POLICIES.includes(dnsPolicy)) {
    yield notSupported(field(at, 'dnsPolicy'), `dnsPolicy ${dnsPolicy} does not exist: use one of ${POLICIES.slice(0, -1).join(', ')}`);
  }
  if (dnsPolicy === 'None' && !dnsConfig) {
    yield required(field(at, 'dnsConfig'), 'dnsPolicy None leaves the guest without DNS: say in dnsConfig what it shall use');
  } else if (dnsPolicy === 'None' && !dnsConfig?.nameservers?.length) {
    yield required('nameservers', 'dnsPolicy None leaves the guest without DNS: give dnsConfig at least one nameserver');
  } else if (dnsConfig) {
    yield* configCauses(dnsConfig);
  }
};
