// Phase 1 of a VMI's networks as one decision: from the VMI's interfaces, the journal of networks already set up and the links found in
// the launcher's namespace to the links, switches, nft commands and files that shall be there. The node agent calls it before a VMI
// starts and on every NIC hotplug, journals `configure` as started, applies, journals them as finished. Touches nothing itself.
import type { Interface, Network } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { type Attachment, isAbsent, type PlanOptions, podLinkOf } from './bindings/attachment.js';
import { type BindingKind, bindingOf, changesPodLink, planOf, type RegisteredBindings } from './bindings/index.js';
import { type MasqueradeSettings, natOf } from './bindings/masquerade/plan.js';
import type { LauncherInterface, NetworkState, PodInterfaceCache } from './caches.js';
import type { Family } from './ip.js';
import { launcherInterface, podInterfaceCache } from './launcher-interface.js';
import { type DesiredLink, type LinkPlan, mergePlans, noLinks, type Sysctl, sysctlsOf } from './link-plan.js';
import type { PodNamespace } from './link-status.js';
import { bridgeName, schemeOf } from './names.js';

export interface PodNetworkRequest {
  readonly interfaces: readonly Interface[];
  readonly networks: readonly Network[];
  readonly now: PodNamespace;
  /** Journal: network name → state. A network without entry is pending. */
  readonly states: ReadonlyMap<string, NetworkState>;
  readonly bindings?: RegisteredBindings;
  /** Name of the primary link where it is not eth0 (status.interfaces[].podInterfaceName). */
  readonly primaryName?: string;
  /** MACs that the VMI's status already shows, by network. */
  readonly statusMacs?: ReadonlyMap<string, string>;
  readonly ownerId: number;
  readonly queues: number;
  /** Queues of interfaces that the running guest has already, by network. */
  readonly queueCounts?: ReadonlyMap<string, number>;
  /** Family of the pod's primary address. */
  readonly preferredFamily?: Family;
  readonly nat: MasqueradeSettings;
  readonly options: PlanOptions;
}

export interface NatSetup {
  readonly network: string;
  readonly podInterface: string;
  readonly bridge: string;
  /** One `nft` command each. */
  readonly commands: readonly string[];
}

export interface PodNetworkPlan {
  /** Networks to be journalled as started, then as finished. */
  readonly configure: readonly string[];
  /** Networks whose journal and launcher files are to be removed. */
  readonly remove: readonly string[];
  /** Links to create, change or delete now, in this order: those of `configure` and `remove`. */
  readonly links: readonly DesiredLink[];
  /** Kernel switches to write once the links are there. */
  readonly sysctls: readonly Sysctl[];
  /** The complete desired state, networks that are finished already included. */
  readonly desired: LinkPlan;
  /** Address translation of every masquerade network, set up or not. */
  readonly nat: readonly NatSetup[];
  /** nft commands to run now: those of the networks in `configure`. */
  readonly nft: readonly string[];
  /** Journal entries of the networks in `configure`, in state started. */
  readonly journal: ReadonlyMap<string, PodInterfaceCache>;
  /** Files for the launcher, one a network in `configure` that has a tap. */
  readonly launcherFiles: readonly LauncherInterface[];
}

interface Part {
  readonly kind: BindingKind;
  readonly at: Attachment;
}

const NOTHING: PodNetworkPlan = {
  configure: [],
  remove: [],
  links: [],
  sysctls: [],
  desired: noLinks,
  nat: [],
  nft: [],
  journal: new Map(),
  launcherFiles: [],
};

function parts(request: PodNetworkRequest): Part[] {
  const names = schemeOf(request.networks, {
    interfaces: request.now.links.map((link) => link.name),
    ...(request.primaryName === undefined ? {} : { primary: request.primaryName }),
  });
  const { now, ownerId, options } = request;
  return request.interfaces.flatMap((iface, position) => {
    const network = request.networks.find((candidate) => candidate.name === iface.name);
    const podInterface = names.get(iface.name);
    if (!network || podInterface === undefined) return [];
    const kind = bindingOf(iface, request.bindings);
    if (kind === 'none') throw new KvError('Invalid', `undefined binding method: interface ${iface.name} names none`);
    const queues = request.queueCounts?.get(iface.name) ?? request.queues;
    return [{ kind, at: { iface, network, position, podInterface, now, ownerId, queues, options } }];
  });
}

function refuseHalfDone(request: PodNetworkRequest): void {
  const started = request.interfaces.find((iface) => !isAbsent(iface) && request.states.get(iface.name) === 1);
  if (started) {
    throw new KvError(
      'CriticalNetwork',
      `network ${started.name} was interrupted while it was set up and cannot be set up again in this pod; the VMI must be started anew`,
      { reason: 'NetworkHalfConfigured', retry: 'never' },
    );
  }
}

/** Devices are handed to the guest as they are: there is nothing to set up and nothing to journal. */
const isOurs = ({ kind }: Part): boolean => kind !== 'sriov';

const stateOf = ({ at }: Part, { states }: PodNetworkRequest): NetworkState => states.get(at.iface.name) ?? 0;

function natSetups(all: readonly Part[], settings: MasqueradeSettings): NatSetup[] {
  return all
    .filter(({ kind, at }) => kind === 'masquerade' && !isAbsent(at.iface))
    .map(({ at }) => ({
      network: at.iface.name,
      podInterface: at.podInterface,
      bridge: bridgeName(at.podInterface),
      commands: natOf(at, settings),
    }));
}

function journalOf(pending: readonly Part[], request: PodNetworkRequest): Map<string, PodInterfaceCache> {
  return new Map(
    pending.map(({ kind, at }) => {
      const found = podLinkOf(at);
      // A bridge's guest gets only the pod's IPv4 address; what the pod has besides, nobody reaches.
      const link = found && kind === 'bridge' ? { ...found, ipv6: [] } : found;
      const entry: PodInterfaceCache = link
        ? podInterfaceCache(link, request.preferredFamily ?? 4, 1)
        : { iface: at.podInterface, podIP: '', podIPs: [], networkState: 1 };
      return [at.iface.name, entry];
    }),
  );
}

function refuseOrphans({ networks, interfaces }: PodNetworkRequest): void {
  const orphan = networks.find(({ name }) => !interfaces.some((iface) => iface.name === name));
  if (orphan) throw new KvError('Invalid', `no iface matching with network ${orphan.name}`);
}

/** Throws CriticalNetwork when a network was left half done, NotReady while a link of the pod is missing. */
export function planPodNetwork(request: PodNetworkRequest): PodNetworkPlan {
  refuseOrphans(request);
  refuseHalfDone(request);
  const all = parts(request);
  const pending = all.filter((part) => isOurs(part) && !isAbsent(part.at.iface) && stateOf(part, request) === 0);
  const absent = all.filter((part) => isOurs(part) && isAbsent(part.at.iface) && stateOf(part, request) !== 0);
  if (pending.length === 0 && absent.length === 0) return NOTHING;

  const launcherFiles = pending
    .filter(({ kind }) => changesPodLink(kind))
    .map(({ kind, at }) => launcherInterface(kind, at, request.statusMacs?.get(at.iface.name)));
  const plans = all.map((part) => ({ part, plan: planOf(part.kind, part.at) }));
  const due = mergePlans(plans.filter(({ part }) => pending.includes(part) || absent.includes(part)).map(({ plan }) => plan));
  const nat = natSetups(all, request.nat);
  const configure = pending.map(({ at }) => at.iface.name);
  return {
    configure,
    remove: absent.map(({ at }) => at.iface.name),
    links: due.links,
    sysctls: sysctlsOf(due),
    desired: mergePlans(plans.map(({ plan }) => plan)),
    nat,
    nft: nat.filter(({ network }) => configure.includes(network)).flatMap(({ commands }) => commands),
    journal: journalOf(pending, request),
    launcherFiles,
  };
}
