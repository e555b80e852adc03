// libvirt's flat list of statistics as the structure that collectors of metrics read: each value with a flag that says whether libvirt gave it.
// Field names are those of the reference, which go over the wire. Pure.
import type { TypedValue } from '../libvirt/index.js';

type Params = ReadonlyMap<string, TypedValue>;
type Stats = Record<string, unknown>;

/** Our name ← libvirt's. */
type Names = Readonly<Record<string, string>>;

const CPU: Names = { Time: 'time', User: 'user', System: 'system' };
const MEMORY: Names = {
  Unused: 'unused',
  Cached: 'disk_caches',
  Available: 'available',
  ActualBalloon: 'current',
  RSS: 'rss',
  SwapIn: 'swap_in',
  SwapOut: 'swap_out',
  MajorFault: 'major_fault',
  MinorFault: 'minor_fault',
  Usable: 'usable',
  Total: 'current',
};
const VCPU: Names = { State: 'state', Time: 'time', Wait: 'wait', Delay: 'delay' };
const NET: Names = {
  Name: 'name',
  RxBytes: 'rx.bytes',
  RxPkts: 'rx.pkts',
  RxErrs: 'rx.errs',
  RxDrop: 'rx.drop',
  TxBytes: 'tx.bytes',
  TxPkts: 'tx.pkts',
  TxErrs: 'tx.errs',
  TxDrop: 'tx.drop',
};
const BLOCK: Names = {
  Name: 'name',
  BackingIndex: 'backingIndex',
  Path: 'path',
  RdReqs: 'rd.reqs',
  RdBytes: 'rd.bytes',
  RdTimes: 'rd.times',
  WrReqs: 'wr.reqs',
  WrBytes: 'wr.bytes',
  WrTimes: 'wr.times',
  FlReqs: 'fl.reqs',
  FlTimes: 'fl.times',
  Errors: 'errors',
  Allocation: 'allocation',
  Capacity: 'capacity',
  Physical: 'physical',
};
const DIRTY_RATE: Names = {
  CalcStatus: 'calc_status',
  CalcStartTime: 'calc_start_time',
  CalcPeriod: 'calc_period',
  MegabytesPerSecond: 'megabytes_per_second',
};
const MIGRATION: Names = {
  DataTotal: 'data_total',
  DataProcessed: 'data_processed',
  DataRemaining: 'data_remaining',
  MemoryBps: 'memory_bps',
  DiskBps: 'disk_bps',
};
const TEXTS: ReadonlySet<string> = new Set(['Name', 'Path']);

function read(params: Params, prefix: string, names: Names): Stats {
  const entries = Object.entries(names).flatMap(([ours, theirs]): [string, unknown][] => {
    const value = params.get(prefix === '' ? theirs : `${prefix}.${theirs}`);
    return [
      [`${ours}Set`, value !== undefined],
      [ours, value ?? (TEXTS.has(ours) ? '' : 0)],
    ];
  });
  return Object.fromEntries(entries);
}

/** "net.count" tells how many there are. vCPUs are numbered with gaps where some are unplugged. */
function readList(params: Params, group: string, names: Names, count: number): Stats[] {
  return Array.from({ length: count }, (_, i) => read(params, `${group}.${i}`, names));
}

const countOf = (params: Params, key: string): number => Number(params.get(key) ?? 0);

export interface StatsOf {
  readonly name: string;
  readonly uuid: string;
  /** Name of a disk's target or an interface's tap → name in the VMI. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Answer of guest-get-load. */
  readonly load: unknown;
  /** libvirt's figures of the migration that is under way. */
  readonly migration?: Params | undefined;
}

function loadOf(answer: unknown): Stats | null {
  if (typeof answer !== 'object' || answer === null) return null;
  const given = answer as Readonly<Record<string, unknown>>;
  const entries = (['1m', '5m', '15m'] as const).flatMap((span): [string, unknown][] => {
    const value = given[`load${span}`];
    return [
      [`Load${span}Set`, typeof value === 'number'],
      [`Load${span}`, typeof value === 'number' ? value : 0],
    ];
  });
  return Object.fromEntries(entries);
}

/** libvirt counts the dirty rate in pages. */
function migrationStats(params: Params): Stats {
  const [pages, pageSize] = [params.get('memory_dirty_rate'), params.get('memory_page_size')];
  const isKnown = typeof pages === 'number' && typeof pageSize === 'number';
  return { ...read(params, '', MIGRATION), MemDirtyRateSet: isKnown, MemDirtyRate: isKnown ? pages * pageSize : 0 };
}

export function domainStats(params: Params, { name, uuid, aliases, load, migration }: StatsOf): Stats {
  const aliased = (stats: Stats): string => aliases.get(String(stats.Name)) ?? '';
  return {
    Name: name,
    UUID: uuid,
    Cpu: read(params, 'cpu', CPU),
    Memory: read(params, 'balloon', MEMORY),
    MigrateDomainJobInfo: migration === undefined ? null : migrationStats(migration),
    Vcpu: readList(params, 'vcpu', VCPU, countOf(params, 'vcpu.current')),
    Net: readList(params, 'net', NET, countOf(params, 'net.count')).map((net) => ({
      ...net,
      AliasSet: aliased(net) !== '',
      Alias: aliased(net),
    })),
    Block: readList(params, 'block', BLOCK, countOf(params, 'block.count')).map((block) => ({ ...block, Alias: aliased(block) })),
    CPUMapSet: false,
    CPUMap: null,
    DirtyRate: params.has('dirtyrate.calc_status') ? read(params, 'dirtyrate', DIRTY_RATE) : null,
    Load: loadOf(load),
  };
}
