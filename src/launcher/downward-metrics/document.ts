// What a guest may read of itself and of its node, in the format of vhostmd: an XML document, and a small disk that carries it. Pure.
// Format: vhostmd 1.1; names and types as KubeVirt's.
import type { TypedValue } from '../../libvirt/index.js';

export type MetricType = 'string' | 'int64' | 'uint64' | 'real64';

export interface Metric {
  readonly name: string;
  readonly context: 'host' | 'vm';
  readonly type: MetricType;
  readonly value: string | number;
  readonly unit?: 's' | 'KiB';
}

/** Of the node. Memory in KiB, time in seconds. */
export interface HostFacts {
  readonly node: string;
  /** As the hypervisor calls itself. */
  readonly product: string;
  readonly physicalCpus: number;
  readonly cpuSeconds: number;
  readonly memory: Readonly<Record<'MemTotal' | 'MemFree' | 'SwapTotal' | 'SwapFree' | 'Buffers' | 'Cached' | 'SwapCached', number>>;
  readonly swappedInKiB: number;
  readonly swappedOutKiB: number;
  /** Unix time. */
  readonly now: number;
}

const NANO = 1e9;
const VENDOR = 'kubevirt.io';
const REAL_DIGITS = 6;

function render({ name, context, type, value, unit }: Metric): string {
  const text = type === 'real64' ? Number(value).toFixed(REAL_DIGITS) : String(value);
  const attributes = `type="${type}" context="${context}"${unit === undefined ? '' : ` unit="${unit}"`}`;
  const data = text.replaceAll(']]>', ']]]]><![CDATA[>');
  return `  <metric ${attributes}>\n    <name>${name}</name>\n    <value><![CDATA[${data}]]></value>\n  </metric>\n`;
}

export const renderMetrics = (metrics: readonly Metric[]): string =>
  metrics.length === 0 ? '<metrics></metrics>' : `<metrics>\n${metrics.map(render).join('')}</metrics>`;

const numberOf = (value: TypedValue | undefined): number => Number(value ?? 0);

/** From libvirt's statistics of the domain. */
function guestMetrics(stats: ReadonlyMap<string, TypedValue>): Metric[] {
  const vcpus = numberOf(stats.get('vcpu.current'));
  const slots = numberOf(stats.get('vcpu.maximum'));
  const nanoseconds = Array.from({ length: slots }, (_, n) => numberOf(stats.get(`vcpu.${n}.time`))).reduce((sum, time) => sum + time, 0);
  const kibibytes = numberOf(stats.get('balloon.current'));
  return [
    { name: 'TotalCPUTime', context: 'vm', type: 'real64', value: nanoseconds / NANO, unit: 's' },
    { name: 'ResourceProcessorLimit', context: 'vm', type: 'uint64', value: vcpus },
    { name: 'PhysicalMemoryAllocatedToVirtualSystem', context: 'vm', type: 'uint64', value: kibibytes, unit: 'KiB' },
    { name: 'ResourceMemoryLimit', context: 'vm', type: 'uint64', value: kibibytes, unit: 'KiB' },
  ];
}

function memoryMetrics({ memory, swappedInKiB, swappedOutKiB }: HostFacts): Metric[] {
  const { MemTotal, MemFree, SwapTotal, SwapFree, Buffers, Cached, SwapCached } = memory;
  const kibibytes: readonly (readonly [string, number])[] = [
    ['FreePhysicalMemory', MemFree],
    ['FreeVirtualMemory', MemFree + SwapFree],
    ['MemoryAllocatedToVirtualServers', MemTotal - MemFree - Buffers - Cached],
    ['UsedVirtualMemory', MemTotal + SwapTotal - MemFree - Cached - Buffers - SwapCached],
    ['PagedInMemory', swappedInKiB],
    ['PagedOutMemory', swappedOutKiB],
  ];
  return kibibytes.map(([name, value]) => ({ name, context: 'host', type: 'uint64', value, unit: 'KiB' }));
}

/** In the order of KubeVirt's. */
export function metricsOf(stats: ReadonlyMap<string, TypedValue>, host: HostFacts): Metric[] {
  return [
    { name: 'HostName', context: 'host', type: 'string', value: host.node },
    { name: 'HostSystemInfo', context: 'host', type: 'string', value: 'linux' },
    { name: 'VirtualizationVendor', context: 'host', type: 'string', value: VENDOR },
    { name: 'VirtProductInfo', context: 'host', type: 'string', value: host.product },
    ...guestMetrics(stats),
    { name: 'NumberOfPhysicalCPUs', context: 'host', type: 'int64', value: host.physicalCpus },
    { name: 'TotalCPUTime', context: 'host', type: 'real64', value: host.cpuSeconds, unit: 's' },
    ...memoryMetrics(host),
    { name: 'Time', context: 'host', type: 'int64', value: host.now, unit: 's' },
  ];
}

/** Size of the disk, header included. */
export const DISK_BYTES = 262_144;
const HEADER_BYTES = 16;
/** vhostmd leaves a little more room than its header takes. */
const MAX_BODY_BYTES = DISK_BYTES - 24;
const SIGNATURE = 'mvbd';

export interface DiskParts {
  /** Tells a reader to wait. */
  readonly busyHeader: Buffer;
  readonly body: Buffer;
  readonly header: Buffer;
}

/** Written in this order, the disk never shows half a document as a whole one. */
export function diskParts(document: string): DiskParts {
  const body = Buffer.from(`${document}\n`);
  if (body.length > MAX_BODY_BYTES) throw new RangeError(`a metrics document of ${body.length} B does not fit on its disk`);
  return { busyHeader: headerOf(body, true), body, header: headerOf(body, false) };
}

/** Signature, busy flag, sum of the body's bytes, its length: four big-endian words. */
function headerOf(body: Buffer, isBusy: boolean): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(SIGNATURE, 'latin1');
  header.writeInt32BE(isBusy ? 1 : 0, 4);
  header.writeInt32BE(
    body.reduce((sum, byte) => (sum + byte) | 0, 0),
    8,
  );
  header.writeInt32BE(body.length, 12);
  return header;
}

export type Request = 'metrics' | 'invalid';

/** Whole requests at the front of what the guest has written, and what is left of it: a request line, then an empty one. */
export function takeRequests(received: string): { readonly requests: readonly Request[]; readonly rest: string } {
  const parts = received.replaceAll('\r\n', '\n').split('\n\n');
  const rest = parts.pop() ?? '';
  return { requests: parts.map((part) => (/^GET \/metrics\/XML(\?\S*)?$/.test(part.trim()) ? 'metrics' : 'invalid')), rest };
}

export const INVALID_REQUEST = 'INVALID REQUEST\n\n';
/** For when the statistics cannot be had. */
export const NO_METRICS = '<metrics><!-- host metrics not available --><!-- VM metrics not available --></metrics>';
