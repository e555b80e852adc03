// A pod's /etc/resolv.conf as data. Its name servers and search domains are what the guest gets by DHCP.
export interface ResolvConf {
  readonly nameservers: readonly string[];
  readonly search: readonly string[];
}

/** What KubeVirt tells guests where the pod is told nothing. */
const DEFAULT_NAMESERVERS = ['8.8.8.8'];
const DEFAULT_SEARCH = ['cluster.local'];

/** Names of domains mean the same in either case, and DHCP's are lower-case. */
export function parseResolvConf(text: string): ResolvConf {
  const nameservers: string[] = [];
  let search: string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && words[0]) nameservers.push(words[0]);
    // The last `search` or `domain` line counts, as in the C library.
    if (keyword === 'search' || keyword === 'domain') search = words.map((word) => word.toLowerCase());
  }
  return {
    nameservers: nameservers.length > 0 ? nameservers : DEFAULT_NAMESERVERS,
    search: search.length > 0 ? search : DEFAULT_SEARCH,
  };
}
