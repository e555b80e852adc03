// How much memory a launcher pod needs beside its guest's. Added to the pod's memory request by the pod template, shown in an
// annotation, and the same number that schedulers and quotas of existing clusters are sized for; measured figures of our own launcher
// must stay below it. Pure arithmetic on the VMI's spec.
import type { Probe, VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../api/index.js';
import { type Amount, addAmounts, amountOf, amountValue, parseQuantity } from '../../api/quantity.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { hasDownwardMetricsVolume, hasGraphics, hasTpm, hasVfioDevice, isSev } from './devices.js';
import { isGuaranteed, vcpuCount } from './vcpu.js';

const MIB = 1024n * 1024n;
/** Bytes of guest memory that one byte of page table describes. */
const PAGE_TABLE_SHARE = 512n;

/** Mebibytes per process that every launcher runs: monitor, launcher, virtlogd, virtqemud, QEMU. */
const PROCESSES = [25n, 100n, 25n, 40n, 50n] as const;
const PER_VCPU = 8n;
const IO_THREAD = 8n;
const GRAPHICS = 32n;
/** The two flash devices of UEFI, which every arm64 guest has. */
const ARM64_FLASH = 128n;
const VFIO = 1024n;
const DOWNWARD_METRICS = 1n;
const PER_EXEC_PROBE = 10n;
const EXEC_PROBES = 100n;
const SEV = 256n;
const TPM = 53n;
const GUARANTEED = 100n;
const PASST = 250n;

/** Registered network binding plugins: name → what each costs. */
export type BindingOverheads = Readonly<
  Record<string, { readonly computeResourceOverhead?: { readonly requests?: Readonly<Record<string, string | number>> } }>
>;

export interface OverheadOptions {
  readonly arch: string;
  /** additionalGuestMemoryOverheadRatio of the cluster: a decimal number. */
  readonly ratio?: string | undefined;
  readonly bindings?: BindingOverheads | undefined;
}

const KILO = 1000n;
const inThousands = (amount: Amount): bigint => (amountValue(amount) + KILO - 1n) / KILO;

/** Counted on the request in thousands of bytes, rounded up; a decimal amount, whose format the whole sum then takes over. */
function pageTables({ domain }: VirtualMachineInstanceSpec): Amount {
  const request = domain.resources?.requests?.memory;
  return amountOf(request === undefined ? 0n : (inThousands(parseQuantity(request)) * KILO) / PAGE_TABLE_SHARE, 'DecimalSI');
}

function probes({ livenessProbe, readinessProbe }: VirtualMachineInstanceSpec): bigint {
  const withExec = [livenessProbe, readinessProbe].filter((probe: Probe | undefined) => probe?.exec !== undefined).length;
  return withExec === 0 ? 0n : EXEC_PROBES + BigInt(withExec) * PER_EXEC_PROBE;
}

function mebibytes(spec: VirtualMachineInstanceSpec, arch: string): bigint {
  const { domain } = spec;
  const optional: [boolean, bigint][] = [
    [hasGraphics(domain), GRAPHICS],
    [arch === 'arm64', ARM64_FLASH],
    [hasVfioDevice(domain), VFIO],
    [hasDownwardMetricsVolume(spec), DOWNWARD_METRICS],
    [isSev(domain), SEV],
    [hasTpm(domain), TPM],
    [isGuaranteed(domain), GUARANTEED],
  ];
  const fixed = PROCESSES.reduce((sum, part) => sum + part, 0n) + BigInt(vcpuCount(domain)) * PER_VCPU + IO_THREAD;
  return optional.reduce((sum, [applies, amount]) => (applies ? sum + amount : sum), fixed) + probes(spec);
}

/** Adds (ratio − 1) of the amount, counted in thousands of bytes: rounded up before, cut off after. A ratio that is no number adds nothing. */
function stretched(amount: Amount, ratio: string | undefined): Amount {
  const factor = ratio ? Number(ratio) : 1;
  if (!Number.isFinite(factor)) return amount;
  return addAmounts(amount, amountOf(BigInt(Math.trunc(Number(inThousands(amount)) * (factor - 1))) * KILO));
}

function networkOverhead({ domain }: VirtualMachineInstanceSpec, bindings: BindingOverheads): Amount {
  const interfaces = domain.devices.interfaces ?? [];
  const passt = interfaces.some((iface) => iface.passtBinding !== undefined) ? PASST : 0n;
  const plugins = new Set(interfaces.flatMap((iface) => iface.binding?.name ?? []));
  const costs = [...plugins].flatMap((name) => bindings[name]?.computeResourceOverhead?.requests?.memory ?? []);
  return costs.map(parseQuantity).reduce(addAmounts, amountOf(passt * MIB));
}

export function memoryOverhead(vmi: VirtualMachineInstance, { arch, ratio, bindings = {} }: OverheadOptions): Amount {
  const { spec } = vmi;
  const reserved = spec.domain.memory?.reservedOverhead?.addedOverhead;
  const own = [pageTables(spec), amountOf(mebibytes(spec, arch) * MIB), ...(reserved === undefined ? [] : [parseQuantity(reserved)])];
  return addAmounts(stretched(own.reduce(addAmounts, amountOf(0)), ratio), networkOverhead(spec, bindings));
}

/** With what the cluster sets. */
export const overheadOf = (vmi: VirtualMachineInstance, config: ClusterConfig): Amount =>
  memoryOverhead(vmi, {
    arch: vmi.spec.architecture || config.defaultArchitecture,
    ratio: config.spec.additionalGuestMemoryOverheadRatio,
    bindings: config.spec.network?.binding as BindingOverheads | undefined,
  });
