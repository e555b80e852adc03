// Gathers what the converter must know of this pod: its machine, its devices, its firmware, and what the node agent sent along.
// Called once before a domain is defined. Reads only.
import { constants } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { type Arch, type DomainFacts, type HostTopology, PLAIN_FACTS } from '../../core/converter/index.js';
import { VSOCK_MODE_FILE } from '../../core/devices/vsock.js';
import { NETWORK_INFO_FILE } from '../../core/storage/paths.js';
import type { VmiOptions } from '../../rpc/index.js';
import type { LauncherOptions } from '../options.js';
import { pciNodesFor } from './pci-nodes.js';

const ARCHES: Readonly<Record<string, Arch>> = { x64: 'amd64', arm64: 'arm64', s390x: 's390x', ppc64: 'ppc64le' };
const HYPERVISOR_DEVICES = { kvm: '/dev/kvm', 'hyperv-direct': '/dev/mshv' } as const;
const BINARY_DIR = '/usr/bin';
const DEFAULT_GRACE_SECONDS = 30;

export type Env = Readonly<Record<string, string | undefined>>;

function hostArch(): Arch {
  const arch = ARCHES[process.arch];
  if (!arch) throw new KvError('Terminal', `no guests can run on a node of architecture ${process.arch}`);
  return arch;
}

/** The device node may be there and not be ours to open; only opening it tells. */
async function isUsable(path: string): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDWR);
    await file.close();
    return true;
  } catch {
    // Absent or refused: the guest must be emulated, which the converter decides.
    return false;
  }
}

async function filesIn(dir: string, wanted: (name: string) => boolean): Promise<ReadonlySet<string>> {
  const names = await readdir(dir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw new KvError('Internal', `cannot list ${dir}`, { cause: err });
  });
  return new Set(names.filter(wanted).map((name) => posix.join(dir, name)));
}

/** "0-2,5" → 0, 1, 2, 5. */
export function parseCpuList(text: string): number[] {
  return text
    .trim()
    .split(',')
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

async function allowedCpus(): Promise<number[]> {
  const status = await readFile('/proc/self/status', 'utf8');
  return parseCpuList(/^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1] ?? '');
}

export function topologyOf({ topology }: VmiOptions): HostTopology | undefined {
  if (!topology) return undefined;
  return {
    cells: (topology.numa_cells ?? []).map(({ id = 0, cpus = [], distances = [] }) => ({
      id,
      cpus: cpus.map((cpu) => ({ id: cpu.id ?? 0, siblings: cpu.siblings ?? [] })),
      distances: distances.map((distance) => ({ id: distance.id ?? 0, value: distance.value ?? 0 })),
    })),
  };
}

const defined = (record: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** The part of the facts that virt-handler sends with a sync. */
export function factsOfOptions(options: VmiOptions): Partial<DomainFacts> {
  const { VirtualMachineSMBios: smbios, clusterConfig: cluster } = options;
  const topology = topologyOf(options);
  return {
    memBalloonStatsPeriod: options.MemBalloonStatsPeriod ?? 0,
    preallocatedVolumes: new Set(options.PreallocatedVolumes ?? []),
    interfaceAttachments: defined(options.interfaceDomainAttachment ?? {}),
    freePageReportingDisabled: cluster?.FreePageReportingDisabled ?? false,
    serialConsoleLogDisabled: cluster?.SerialConsoleLogDisabled ?? false,
    bochsForEfiGuests: cluster?.BochsDisplayForEFIGuests ?? false,
    vgpuLiveMigration: cluster?.VGPULiveMigrationEnabled ?? false,
    ...(topology ? { topology } : {}),
    ...(smbios ? { smbios } : {}),
    ...(options.GraceHostDeviceAliases?.length ? { graceDevices: options.GraceHostDeviceAliases } : {}),
  };
}

/**
 * Ceiling of QEMU's translated code. Small guests boot as fast with 32 MiB as with QEMU's own default, which is many times that and
 * counts against the pod's memory; guests that hold more code get more.
 */
export function translationCacheMiB(guestBytes: bigint): number {
  const share = Number(guestBytes / 1024n / 1024n / 8n);
  return Math.min(512, Math.max(32, share));
}

export interface FactSources {
  readonly options: LauncherOptions;
  readonly env: Env;
  readonly verbosity: number;
  readonly libvirtVersion: () => number;
}

interface NetworkInfo {
  readonly interfaces?: readonly {
    readonly network: string;
    readonly deviceInfo?: { readonly type?: string; readonly pci?: { readonly 'pci-address'?: string } };
  }[];
}

/** Annotation kubevirt.io/network-info: interface → PCI address of its function. */
export function sriovAddressesOf(text: string): Record<string, string> {
  if (text.trim() === '') return {};
  const { interfaces = [] } = JSON.parse(text) as NetworkInfo;
  return Object.fromEntries(
    interfaces.flatMap(({ network, deviceInfo }) => {
      const address = deviceInfo?.pci?.['pci-address'];
      return address === undefined ? [] : [[network, address]];
    }),
  );
}

async function readSriovAddresses(): Promise<Record<string, string>> {
  const text = await readFile(NETWORK_INFO_FILE, 'utf8').catch((err: NodeJS.ErrnoException) => {
    // Only pods with such interfaces have it.
    if (err.code === 'ENOENT') return '';
    throw new KvError('Internal', `cannot read ${NETWORK_INFO_FILE}, which names the PCI functions of the pod's networks`, { cause: err });
  });
  try {
    return sriovAddressesOf(text);
  } catch (err) {
    throw new KvError('NotReady', `${NETWORK_INFO_FILE} is no JSON: annotation kubevirt.io/network-info of the pod is being written`, {
      cause: err,
    });
  }
}

/** Whether the pod has VSOCK addresses of its own. */
async function hasOwnVsock(): Promise<boolean> {
  const mode = await readFile(VSOCK_MODE_FILE, 'utf8').catch((err: NodeJS.ErrnoException) => {
    // Older kernels have one address space for all.
    if (err.code === 'ENOENT') return 'global';
    throw new KvError('Internal', `cannot read ${VSOCK_MODE_FILE}`, { cause: err });
  });
  return mode.trim() === 'local';
}

/** Everything but what the disks and the network add. */
export async function gatherFacts(vmi: VirtualMachineInstance, sources: FactSources, sent: VmiOptions | undefined): Promise<DomainFacts> {
  const { options, env, verbosity } = sources;
  const [hypervisorDevicePresent, cpuSet, firmwareFiles, sriovAddresses, emulators, localVsockNamespace, pciNodes] = await Promise.all([
    isUsable(HYPERVISOR_DEVICES[options.hypervisor]),
    allowedCpus(),
    filesIn(options.ovmfPath, () => true),
    readSriovAddresses(),
    options.allowCrossArchEmulation ? filesIn(BINARY_DIR, (name) => name.startsWith('qemu-system-')) : new Set<string>(),
    hasOwnVsock(),
    pciNodesFor(vmi, sent),
  ]);
  return {
    ...PLAIN_FACTS,
    ...(sent ? factsOfOptions(sent) : {}),
    hostArch: hostArch(),
    crossArchEmulation: options.allowCrossArchEmulation,
    emulators,
    hypervisor: options.hypervisor,
    hypervisorDevicePresent,
    allowEmulation: options.allowEmulation,
    adaptCpuToEmulation: true,
    libvirtVersion: sources.libvirtVersion(),
    cpuSet,
    firmwareFiles,
    firmwareDir: options.ovmfPath,
    firmwareAutoSelection: options.firmwareAutoSelection,
    firmwareLog: verbosity > 5,
    env: defined(env),
    sriovAddresses,
    localVsockNamespace,
    ...(pciNodes ? { pciNodes } : {}),
    metadata: { uid: options.uid, gracePeriodSeconds: vmi.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS },
    hotplugPorts: vmi.spec.domain.devices.disableHotplug !== true,
  };
}
