// The document, its disk byte for byte, requests in pieces, and both ways to read it against the fake libvirt and a real socket.
import { readFile, stat } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DOMAIN, type FakeLauncherParts, fakeLauncherParts, guestVmi } from '../../../test/fakes/fake-launcher-parts.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { DISK_BYTES, diskParts, type HostFacts, metricsOf, renderMetrics, takeRequests } from './document.js';
import { DownwardMetrics, type MetricsPaths, prepareDownwardMetrics } from './downward-metrics.js';
import { cpuSeconds, pageBytesOf, readNodeFacts } from './host-facts.js';

const HOST: HostFacts = {
  node: 'node01',
  product: '10.0.2',
  physicalCpus: 2,
  cpuSeconds: 12.5,
  memory: { MemTotal: 1000, MemFree: 100, SwapTotal: 50, SwapFree: 20, Buffers: 10, Cached: 40, SwapCached: 5 },
  swappedInKiB: 4,
  swappedOutKiB: 8,
  now: 1_700_000_000,
};
const STATS = new Map<string, string | number>([
  ['vcpu.current', 2],
  ['vcpu.maximum', 2],
  ['vcpu.0.time', 1_500_000_000],
  ['vcpu.1.time', 500_000_000],
  ['balloon.current', 2048],
]);

describe('the document', () => {
  it('says all of guest and node', () => {
    const lines = metricsOf(STATS, HOST).map(({ name, context, type, value, unit = '' }) => `${context} ${name} ${type} ${value}${unit}`);
    expect(lines).toEqual([
      'host HostName string node01',
      'host HostSystemInfo string linux',
      'host VirtualizationVendor string kubevirt.io',
      'host VirtProductInfo string 10.0.2',
      'vm TotalCPUTime real64 2s',
      'vm ResourceProcessorLimit uint64 2',
      'vm PhysicalMemoryAllocatedToVirtualSystem uint64 2048KiB',
      'vm ResourceMemoryLimit uint64 2048KiB',
      'host NumberOfPhysicalCPUs int64 2',
      'host TotalCPUTime real64 12.5s',
      'host FreePhysicalMemory uint64 100KiB',
      'host FreeVirtualMemory uint64 120KiB',
      'host MemoryAllocatedToVirtualServers uint64 850KiB',
      'host UsedVirtualMemory uint64 895KiB',
      'host PagedInMemory uint64 4KiB',
      'host PagedOutMemory uint64 8KiB',
      'host Time int64 1700000000s',
    ]);
  });

  it.each([
    ['nothing', [], '<metrics></metrics>'],
    [
      'a measure',
      [{ name: 'T', context: 'vm', type: 'real64', value: 2, unit: 's' }],
      '<metrics>\n  <metric type="real64" context="vm" unit="s">\n    <name>T</name>\n    <value><![CDATA[2.000000]]></value>\n  </metric>\n</metrics>',
    ],
    [
      'a name that would end its section',
      [{ name: 'N', context: 'host', type: 'string', value: 'a]]>b' }],
      '<metrics>\n  <metric type="string" context="host">\n    <name>N</name>\n    <value><![CDATA[a]]]]><![CDATA[>b]]></value>\n  </metric>\n</metrics>',
    ],
  ] as const)('is rendered: %s', (_, metrics, expected) => {
    expect(renderMetrics(metrics)).toBe(expected);
  });

  it('lies on the disk behind a header', () => {
    const { busyHeader, body, header } = diskParts('ab');
    expect(body.toString()).toBe('ab\n');
    // 97 + 98 + 10
    expect(header.toString('hex')).toBe('6d766264 00000000 000000cd 00000003'.replaceAll(' ', ''));
    expect(busyHeader.toString('hex')).toBe('6d766264 00000001 000000cd 00000003'.replaceAll(' ', ''));
    expect(() => diskParts('x'.repeat(DISK_BYTES))).toThrow(RangeError);
  });
});

describe('requests', () => {
  it.each([
    ['one', 'GET /metrics/XML\n\n', ['metrics'], ''],
    ['with the ends of lines of HTTP', 'GET /metrics/XML\r\n\r\n', ['metrics'], ''],
    ['half of one', 'GET /metrics/XML\n', [], 'GET /metrics/XML\n'],
    ['two and a half', 'GET /metrics/XML\n\nGET /other\n\nGE', ['metrics', 'invalid'], 'GE'],
    ['another method', 'PUT /metrics/XML\n\n', ['invalid'], ''],
    ['something between', 'GET /metrics/XML\nHost: x\n\n', ['invalid'], ''],
  ])('%s', (_, received, requests, rest) => {
    expect(takeRequests(received)).toEqual({ requests, rest });
  });
});

describe('the facts of a node', () => {
  it('are read from this one', async () => {
    const facts = await readNodeFacts();
    expect(facts.physicalCpus).toBeGreaterThan(0);
    expect(facts.cpuSeconds).toBeGreaterThan(0);
    expect(facts.memory.MemTotal).toBeGreaterThan(facts.memory.MemFree);
  });

  it('count user, nice and system time', () => {
    expect(cpuSeconds('cpu  100 20 30 4000 5 6\ncpu0 1 2 3\n')).toBe(1.5);
  });

  it('know the size of a page', async () => {
    const auxv = Buffer.alloc(32);
    auxv.writeBigUInt64LE(6n, 16);
    auxv.writeBigUInt64LE(65_536n, 24);
    expect(pageBytesOf(auxv, 'LE')).toBe(65_536);
    expect(pageBytesOf(Buffer.alloc(8), endianness())).toBe(4096);
  });
});

describe('a guest reads', () => {
  let dir: string;
  let paths: MetricsPaths;
  let parts: FakeLauncherParts;
  let metrics: DownwardMetrics;
  let listener: Server | undefined;

  beforeEach(async () => {
    dir = scratchDir();
    paths = { disk: join(dir, 'disks/vhostmd0'), socket: join(dir, 'channel/metrics.sock') };
    parts = await fakeLauncherParts();
    await parts.manager.sync(guestVmi());
    for (const [name, value] of STATS) parts.libvirt.stats.set(name, value);
    const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
    metrics = new DownwardMetrics({ ctx, session: parts.session, domain: DOMAIN, paths, readNode: async () => HOST });
  });
  afterEach(async () => {
    metrics.close();
    listener?.close();
  });

  const withVolume = () => ({ ...guestVmi({ volumes: [{ name: 'm', downwardMetrics: {} }] }), status: { nodeName: 'node01' } });
  const withDevice = () => guestVmi({ domain: { devices: { downwardMetrics: {} } } });

  it('a disk that is there before it starts and is filled while it runs', async () => {
    await prepareDownwardMetrics(withVolume(), paths);
    const { ino, size } = await stat(paths.disk);
    expect(size).toBe(DISK_BYTES);
    metrics.serve(withVolume());
    metrics.serve(withVolume());
    await vi.waitFor(async () => expect(await readFile(paths.disk, 'latin1')).toContain('<![CDATA[node01]]>'));
    await prepareDownwardMetrics(withVolume(), paths);
    expect(await readFile(paths.disk, 'latin1')).toContain('<![CDATA[node01]]>');
    expect(await stat(paths.disk)).toMatchObject({ ino, size: DISK_BYTES });
  });

  it('its channel', async () => {
    await prepareDownwardMetrics(withDevice(), paths);
    const connected = Promise.withResolvers<Socket>();
    listener = createServer((socket) => connected.resolve(socket)).listen(paths.socket);
    metrics.serve(withDevice());
    const guest = await connected.promise;
    let heard = '';
    guest.on('data', (chunk) => {
      heard += chunk.toString();
    });
    guest.write('GET /nothing\n\nGET /metrics');
    await vi.waitFor(() => expect(heard).toBe('INVALID REQUEST\n\n'));
    guest.write('/XML\n\n');
    await vi.waitFor(() => expect(heard).toMatch(/^INVALID REQUEST\n\n<metrics>\n[\s\S]*<\/metrics>\n\n$/), { timeout: 3000 });
    guest.destroy();
  });

  it('nothing that it was not given', async () => {
    await prepareDownwardMetrics(guestVmi(), paths);
    metrics.serve(guestVmi());
    await expect(stat(paths.disk)).rejects.toThrow('ENOENT');
  });
});
