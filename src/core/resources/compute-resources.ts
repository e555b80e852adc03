// Requests and limits of the compute container: what the user asked for, the devices it needs, CPU and memory worked out from the guest.
// Called by the pod template. Pure: namespaces, quotas and network attachments come in as facts.
import type { DomainSpec, Quantity, VirtualMachineInstance } from '../../api/index.js';
import { DEVICE } from '../../api/labels.js';
import { type Amount, addAmounts, amountOf, amountValue, formatQuantity, parseQuantity, subtractAmounts } from '../../api/quantity.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { hypervisorOf } from '../config/cluster-lookups.js';
import { deviceClaims, deviceNames, type ResourceClaimUse } from './device-requests.js';
import { hasReservation, isSev, isTdx } from './devices.js';
import { hasDedicatedCpus, vcpuCount } from './vcpu.js';

export interface ResourceFacts {
  readonly config: ClusterConfig;
  readonly overhead: Amount;
  /** The namespace asks for CPU limits (a quota, or a label that the cluster selects). */
  readonly autoCpuLimits: boolean;
  /** Limit by request, where a quota asks for memory limits; undefined otherwise. */
  readonly autoMemoryRatio?: number;
  /** Resource names of the network attachments, one entry an attachment. */
  readonly networkResources: readonly string[];
}

export interface ComputeResources {
  readonly requests: Record<string, string>;
  readonly limits: Record<string, string>;
  readonly claims?: readonly ResourceClaimUse[];
}

type Amounts = Map<string, Amount>;

interface Draft {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

const CPU = 'cpu';
const MEMORY = 'memory';
const STORAGE = 'ephemeral-storage';
const ONE = amountOf(1, 'DecimalSI');
const OWN_STORAGE = parseQuantity('50M');
const EVEN_PARITY = 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity';

const amountsOf = (given: Readonly<Record<string, Quantity>> = {}): Amounts =>
  new Map(Object.entries(given).map(([name, quantity]) => [name, parseQuantity(quantity)]));

const add = (to: Amounts, name: string, amount: Amount): void => {
  const have = to.get(name);
  to.set(name, have ? addAmounts(have, amount) : amount);
};

const isSet = (amount: Amount | undefined): amount is Amount => amount !== undefined && amount.nano > 0n;

/** The launcher's own files: overlays, logs, the libvirt state. */
function addStorage({ requests, limits }: Draft): void {
  add(requests, STORAGE, OWN_STORAGE);
  if (limits.has(STORAGE)) add(limits, STORAGE, OWN_STORAGE);
}

const hasVirtioNic = ({ devices }: DomainSpec): boolean => {
  const models = devices.interfaces?.map(({ model }) => model ?? '') ?? [];
  return models.some((model) => model === '' || model === 'virtio');
};

const needsTun = ({ devices }: DomainSpec): boolean => (devices.interfaces?.length ?? 0) > 0 || devices.autoattachPodInterface !== false;

function addNodeDevices({ limits }: Draft, domain: DomainSpec, config: ClusterConfig): void {
  const wanted: [boolean, string][] = [
    [!config.useEmulation, DEVICE[hypervisorOf(config).device]],
    [needsTun(domain), DEVICE.tun],
    [hasVirtioNic(domain) && !config.useEmulation, DEVICE.vhostNet],
    [domain.devices.autoattachVSOCK === true, DEVICE.vhostVsock],
  ];
  for (const [needed, device] of wanted) if (needed) limits.set(device, ONE);
}

/** Without a request: the limit, else the guest's memory (or one huge page), thinned by the cluster's overcommit. */
function settleMemoryRequest({ requests, limits }: Draft, { memory }: DomainSpec, overcommit: number): void {
  const limit = limits.get(MEMORY);
  if (!isSet(requests.get(MEMORY)) && isSet(limit)) requests.set(MEMORY, limit);
  if (requests.has(MEMORY)) return;
  const given = memory?.guest ?? memory?.hugepages?.pageSize;
  const guest = given === undefined ? undefined : parseQuantity(given);
  if (!isSet(guest)) return;
  requests.set(MEMORY, overcommit === 100 ? guest : amountOf((amountValue(guest) * 100n) / BigInt(overcommit), guest.format));
}

const poolThreads = ({ ioThreads }: DomainSpec): number => ioThreads?.supplementalPoolThreadCount ?? 0;

/** Dedicated CPUs: as many as vCPUs and pool threads, plus one or two for QEMU itself; memory must be guaranteed as well. */
function pinCpus({ requests, limits }: Draft, vmi: VirtualMachineInstance): void {
  const { domain } = vmi.spec;
  const { cpu } = domain;
  const counted = cpu?.cores || cpu?.sockets || cpu?.threads;
  const given = limits.get(CPU) ?? requests.get(CPU) ?? amountOf(0, 'DecimalSI');
  const base = counted ? amountOf(vcpuCount(domain), 'DecimalSI') : given;
  const pinned = addAmounts(base, amountOf(poolThreads(domain), 'DecimalSI'));
  const completesPair = vmi.metadata.annotations?.[EVEN_PARITY] !== undefined && amountValue(pinned) % 2n === 0n;
  const emulator = cpu?.isolateEmulatorThread === true ? amountOf(completesPair ? 2 : 1, 'DecimalSI') : amountOf(0, 'DecimalSI');
  const all = addAmounts(pinned, emulator);
  requests.set(CPU, all);
  limits.set(CPU, all);
  const memory = requests.get(MEMORY);
  if (memory) limits.set(MEMORY, memory);
}

/** Shared CPUs: a share of one CPU a vCPU; whatever the user named wins. */
function shareCpus({ requests, limits }: Draft, domain: DomainSpec, { config, autoCpuLimits }: ResourceFacts): void {
  const threads = vcpuCount(domain) + poolThreads(domain);
  const ratio = config.spec.developerConfiguration?.cpuAllocationRatio ?? 0;
  if (ratio > 0) {
    const share = threads / ratio;
    if (!requests.has(CPU)) requests.set(CPU, parseQuantity(share < 1 ? `${share * 1000}m` : share));
  }
  if (autoCpuLimits && !limits.has(CPU)) limits.set(CPU, amountOf(threads, 'DecimalSI'));
}

const beyond = (amount: Amount | undefined, guest: Amount): Amount =>
  amount && amount.nano > guest.nano ? subtractAmounts(amount, guest) : amountOf(0);

/** Guest memory comes from huge pages; ordinary memory is only what is asked for beyond the guest, and the overhead. */
function useHugepages({ requests, limits }: Draft, { memory }: DomainSpec, overhead: Amount): void {
  const request = requests.get(MEMORY) ?? amountOf(0);
  const guest = memory?.guest === undefined ? undefined : parseQuantity(memory.guest);
  const pages = guest && request.nano > guest.nano ? guest : request;
  const name = `hugepages-${memory?.hugepages?.pageSize}`;
  const limit = limits.get(MEMORY);
  requests.set(name, pages);
  limits.set(name, pages);
  requests.set(MEMORY, addAmounts(guest ? beyond(request, guest) : amountOf(0), overhead));
  if (limit) limits.set(MEMORY, addAmounts(guest ? beyond(limit, guest) : amountOf(0), overhead));
}

function addOverhead({ requests, limits }: Draft, domain: DomainSpec, overhead: Amount): void {
  if (domain.resources?.overcommitGuestOverhead !== true) add(requests, MEMORY, overhead);
  if (limits.has(MEMORY)) add(limits, MEMORY, overhead);
}

function limitMemory({ requests, limits }: Draft, ratio: number | undefined): void {
  const request = requests.get(MEMORY);
  if (ratio === undefined || limits.has(MEMORY) || !request) return;
  limits.set(MEMORY, amountOf(BigInt(Math.trunc(Number(amountValue(request)) * ratio)), request.format));
}

function addExtended({ requests, limits }: Draft, domain: DomainSpec, { config, networkResources }: ResourceFacts): void {
  const names = [
    ...networkResources,
    ...deviceNames(domain, config),
    ...(isSev(domain) ? [DEVICE.sev] : []),
    ...(isTdx(domain) ? [DEVICE.tdx] : []),
    ...(hasReservation(domain) ? [DEVICE.prHelper] : []),
    ...(config.isEnabled('IOMMUFD') ? [DEVICE.iommufd] : []),
  ];
  for (const name of names) {
    add(requests, name, ONE);
    add(limits, name, ONE);
  }
}

const rendered = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));

/** Throws Invalid for a device that the cluster does not permit. */
export function computeResources(vmi: VirtualMachineInstance, facts: ResourceFacts): ComputeResources {
  const { domain, networks } = vmi.spec;
  const draft: Draft = { requests: amountsOf(domain.resources?.requests), limits: amountsOf(domain.resources?.limits) };
  addStorage(draft);
  addNodeDevices(draft, domain, facts.config);
  settleMemoryRequest(draft, domain, facts.config.spec.developerConfiguration?.memoryOvercommit ?? 100);
  if (hasDedicatedCpus(domain)) pinCpus(draft, vmi);
  else shareCpus(draft, domain, facts);
  if (domain.memory?.hugepages) useHugepages(draft, domain, facts.overhead);
  else addOverhead(draft, domain, facts.overhead);
  limitMemory(draft, facts.autoMemoryRatio);
  addExtended(draft, domain, facts);
  const claims = deviceClaims(domain, networks ?? [], facts.config);
  return { requests: rendered(draft.requests), limits: rendered(draft.limits), ...(claims.length > 0 ? { claims } : {}) };
}
