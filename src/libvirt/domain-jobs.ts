// What is seldom asked of a domain: dumps, pictures, statistics, migration. One libvirt call each (a picture: one stream), through the queue of
// the connection that the handle belongs to; jobs that take long are given a connection of their own by the caller.
import { KvError } from '../base/errors.js';
import { JOB_STATS_COMPLETED, JOB_TYPES, MIGRATE, STATS, STATS_NOWAIT } from './constants.js';
import { type AsyncCalls, ffi, type Ptr } from './ffi.js';
import type { JobStats, MigrateFlag, ParamValues, Picture, StatsType, TypedValue } from './libvirt.js';
import { readTypedParams, takeTypedParams, withTypedParams } from './typed-params.js';

/** Makes one call with the handle, as LibvirtDomain does. */
export type DomainCall = <T>(what: string, work: (calls: AsyncCalls, dom: Ptr) => Promise<T>) => Promise<NonNullable<T>>;

const CHUNK_BYTES = 256 * 1024;
/** A 4K screen without compression has 25 MiB. */
const MAX_PICTURE_BYTES = 48 * 1024 * 1024;
const BITS = 8;

export function takeScreenshot(call: DomainCall): Promise<Picture> {
  return call('take a picture of', async (calls, dom) => {
    const stream = ffi().sync.virStreamNew(ffi().sync.virDomainGetConnect(dom), 0);
    if (stream === null) return null;
    try {
      const mime = await calls.virDomainScreenshot(dom, stream, 0, 0);
      const data = mime === null ? undefined : await readStream(calls, stream);
      return mime === null || data === undefined ? null : { mime, data };
    } finally {
      ffi().sync.virStreamFree(stream);
    }
  });
}

/** undefined when libvirt reports a failure. */
async function readStream(calls: AsyncCalls, stream: Ptr): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  for (let total = 0; ; ) {
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    const length = await calls.virStreamRecv(stream, chunk, CHUNK_BYTES);
    if (length === 0) break;
    total += length;
    if (length < 0 || total > MAX_PICTURE_BYTES) {
      await calls.virStreamAbort(stream);
      if (length < 0) return undefined;
      throw new KvError('Invalid', `the picture of the screen is larger than ${MAX_PICTURE_BYTES} bytes`);
    }
    chunks.push(chunk.subarray(0, length));
  }
  return (await calls.virStreamFinish(stream)) < 0 ? undefined : Buffer.concat(chunks);
}

export async function readStats(call: DomainCall, types: readonly StatsType[]): Promise<ReadonlyMap<string, TypedValue>> {
  const wanted = types.reduce((bits, type) => bits | STATS[type], 0);
  const list: [Ptr | null] = [null];
  const count = await call('read the statistics of', (calls, dom) => calls.virDomainListGetStats([dom, null], wanted, list, STATS_NOWAIT));
  if (list[0] === null) return new Map();
  try {
    const [first] = ffi().decodePointers(list[0], Math.min(count, 1));
    if (first === undefined) return new Map();
    const { params, nparams } = ffi().decodeStatsRecord(first);
    return readTypedParams(params, nparams);
  } finally {
    ffi().sync.virDomainStatsRecordListFree(list[0]);
  }
}

/** libvirt's bit mask: CPU n is bit n%8 of byte n/8. */
export function cpuMap(cpus: readonly number[]): Buffer {
  const map = Buffer.alloc(Math.floor(Math.max(0, ...cpus) / BITS) + 1);
  for (const cpu of cpus) map[Math.floor(cpu / BITS)] = (map[Math.floor(cpu / BITS)] ?? 0) | (1 << (cpu % BITS));
  return map;
}

export async function readLaunchSecurity(call: DomainCall): Promise<ReadonlyMap<string, TypedValue>> {
  const params: [Ptr | null] = [null];
  const count: [number] = [0];
  await call('read the launch measurement of', (calls, dom) => calls.virDomainGetLaunchSecurityInfo(dom, params, count, 0));
  return takeTypedParams(params[0], count[0]);
}

export async function setLaunchSecurity(call: DomainCall, values: ParamValues): Promise<void> {
  await call('hand a launch secret to', (calls, dom) =>
    withTypedParams(values, async (ptr, count) => (ptr === null ? null : calls.virDomainSetLaunchSecurityState(dom, ptr, count, 0))),
  );
}

export async function migrateDomain(call: DomainCall, uri: string, values: ParamValues, wanted: readonly MigrateFlag[]): Promise<void> {
  const flags = wanted.reduce((bits, flag) => bits | MIGRATE[flag], 0);
  await call('migrate', (calls, dom) => withTypedParams(values, (ptr, count) => calls.virDomainMigrateToURI3(dom, uri, ptr, count, flags)));
}

export async function readJobStats(call: DomainCall, which: 'current' | 'completed'): Promise<JobStats> {
  const flags = which === 'completed' ? JOB_STATS_COMPLETED : 0;
  const type: [number] = [0];
  const params: [Ptr | null] = [null];
  const count: [number] = [0];
  await call('follow the job of', (calls, dom) => calls.virDomainGetJobStats(dom, type, params, count, flags));
  return { type: JOB_TYPES[type[0]] ?? 'none', params: takeTypedParams(params[0], count[0]) };
}
