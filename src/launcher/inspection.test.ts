// Questions about the guest against the fake libvirt, and what becomes of libvirt's answers.
import { createHash } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { DOMAIN, type FakeLauncherParts, fakeLauncherParts, guestVmi } from '../../test/fakes/fake-launcher-parts.js';
import { scratchDir } from '../../test/fakes/scratch.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { CMD_CODECS } from '../rpc/cmd-codec.js';
import { cmdHandlers } from './cmd-server.js';
import { domainStats } from './domain-stats.js';
import { Inspection } from './inspection.js';
import { MemoryDump } from './memory-dump.js';
import { toPng } from './png.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
let parts: FakeLauncherParts;
let dir: string;
let inspection: Inspection;
let dump: MemoryDump;

beforeEach(async () => {
  dir = scratchDir();
  parts = await fakeLauncherParts();
  await parts.manager.sync(guestVmi());
  const { session, agent, record, reporter } = parts;
  inspection = new Inspection({ ctx, session, agent, record, domain: DOMAIN, firmwareDir: dir, collectsVmStats: true });
  dump = new MemoryDump({ ctx, session, record, reporter, domain: DOMAIN, root: dir });
});

const handlers = () => {
  const { manager, lifecycle, guest, agent, reporter, session, record, source, target } = parts;
  const given = { manager, lifecycle, guest, agent, reporter, session, source, target };
  return cmdHandlers({ ...given, domain: DOMAIN, identity: record.identity, inspection, memoryDump: dump });
};

describe('the command service', () => {
  it('has an answer for every method', () => {
    expect(Object.keys(handlers()).sort()).toEqual(Object.keys(CMD_CODECS).sort());
  });

  it.each(['backupVirtualMachine', 'redefineCheckpoint'] as const)('%s says that it is not there yet', async (method) => {
    await expect(handlers()[method](guestVmi(), {} as never)).rejects.toMatchObject({
      code: 'NotImplemented',
      retry: 'never',
      message: expect.stringContaining('is not implemented'),
    });
  });

  it('does nothing for a VMI of another uid', async () => {
    const other = { ...guestVmi(), metadata: { name: 'vm1', namespace: 'ns', uid: 'u2' } };
    for (const method of ['getScreenshot', 'syncVirtualMachineCPUs', 'hotplugHostDevices', 'getLaunchMeasurement'] as const) {
      await expect(handlers()[method](other)).rejects.toMatchObject({ code: 'Conflict' });
    }
    await expect(handlers().virtualMachineMemoryDump(other, '/x')).rejects.toMatchObject({ code: 'Conflict' });
  });
});

describe('statistics', () => {
  const params = new Map<string, string | number>([
    ['cpu.time', 5],
    ['balloon.current', 1024],
    ['balloon.rss', 77],
    ['vcpu.current', 1],
    ['vcpu.0.state', 1],
    ['vcpu.0.time', 9],
    ['net.count', 1],
    ['net.0.name', 'tap0'],
    ['net.0.rx.bytes', 3],
    ['block.count', 1],
    ['block.0.name', 'vda'],
    ['block.0.wr.reqs', 4],
  ]);

  it('have the names of the reference, and say what libvirt did not tell', () => {
    const aliases = new Map([
      ['vda', 'root'],
      ['tap0', 'default'],
    ]);
    const stats = domainStats(params, { name: DOMAIN, uuid: 'u', aliases, load: { load1m: 0.5 } });
    expect(stats).toMatchObject({
      Name: DOMAIN,
      Cpu: { TimeSet: true, Time: 5, UserSet: false, User: 0 },
      Memory: { TotalSet: true, Total: 1024, ActualBalloon: 1024, RSS: 77, UnusedSet: false },
      Vcpu: [{ StateSet: true, State: 1, Time: 9, DelaySet: false }],
      Net: [{ Name: 'tap0', AliasSet: true, Alias: 'default', RxBytes: 3, TxBytesSet: false }],
      Block: [{ Name: 'vda', Alias: 'root', WrReqs: 4, PathSet: false, Path: '' }],
      DirtyRate: null,
      Load: { Load1mSet: true, Load1m: 0.5, Load5mSet: false, Load5m: 0 },
    });
  });

  it('tell how far a migration is', () => {
    const migration = new Map<string, number>([
      ['data_total', 9],
      ['memory_bps', 4],
      ['memory_dirty_rate', 2],
      ['memory_page_size', 4096],
    ]);
    const of = (given: typeof migration | undefined): unknown =>
      domainStats(params, { name: DOMAIN, uuid: 'u', aliases: new Map(), load: undefined, migration: given }).MigrateDomainJobInfo;
    expect(of(undefined)).toBeNull();
    expect(of(migration)).toMatchObject({ DataTotal: 9, DataRemainingSet: false, MemoryBps: 4, MemDirtyRateSet: true, MemDirtyRate: 8192 });
  });

  it('name disks as the VMI does', async () => {
    for (const [key, value] of params) parts.libvirt.stats.set(key, value);
    expect(await inspection.stats()).toMatchObject({ Block: [{ Alias: 'root' }], Load: null });
  });

  it('give the parts that were asked for; one that fails says so itself', async () => {
    parts.libvirt.failNext('stats', 'busy');
    expect(await inspection.vmStats({ domainStats: {}, guestGetLoad: {} })).toEqual({
      domainStats: { response: { success: false, message: 'busy' } },
      guestAgentVersion: { success: true, message: '' },
      guestGetLoad: { success: false, message: 'the guest agent has no guest-get-load' },
    });
  });

  it('ask an agent that is silent once, not fourteen times', async () => {
    let asked = 0;
    const silent = {
      supports: () => true,
      version: '9.1',
      async ask(): Promise<never> {
        asked++;
        throw new KvError('NotReady', 'no guest agent answers');
      },
    };
    const { session, record } = parts;
    const quiet = new Inspection({ ctx, session, agent: silent, record, domain: DOMAIN, firmwareDir: dir, collectsVmStats: true });
    const unanswered = { success: false, message: 'no guest agent answers' };
    expect(await quiet.vmStats({ guestGetLoad: {}, guestGetTime: {}, guestGetUsers: {} })).toEqual({
      guestAgentVersion: { success: true, message: '9.1' },
      ...{ guestGetLoad: unanswered, guestGetTime: unanswered, guestGetUsers: unanswered },
    });
    expect(asked).toBe(1);
  });

  it('measure the dirty rate once for askers in a row', async () => {
    parts.libvirt.stats.set('dirtyrate.calc_status', 2);
    parts.libvirt.stats.set('dirtyrate.megabytes_per_second', 12);
    expect(await Promise.all([inspection.dirtyRate(), inspection.dirtyRate()])).toEqual([12, 12]);
    expect(parts.libvirt.calls.filter((call) => call === 'startDirtyRate')).toHaveLength(1);
  });
});

describe('a picture', () => {
  it('is passed on when it is PNG', async () => {
    expect(await inspection.screenshot()).toEqual(parts.libvirt.picture);
  });

  it('is made PNG when it is a pixmap', () => {
    const pixels = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    const { mime, data } = toPng({ mime: 'image/x-portable-pixmap', data: Buffer.concat([Buffer.from('P6\n2 2\n255\n'), pixels]) });
    expect(mime).toBe('image/png');
    expect(data.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    const at = data.indexOf('IDAT');
    expect([...inflateSync(data.subarray(at + 4, at + 4 + data.readUInt32BE(at - 4)))]).toEqual([
      0, 1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 10, 11, 12,
    ]);
  });

  it('that is neither is refused', () => {
    expect(() => toPng({ mime: 'image/x-portable-pixmap', data: Buffer.from('P6\n9 9\n255\nxx') })).toThrow('neither PNG');
  });
});

describe('a confidential guest', () => {
  it('tells its measurement and that of its firmware', async () => {
    await writeFile(join(dir, 'OVMF_CODE.cc.fd'), 'firmware');
    parts.libvirt.launchSecurity.set('sev-measurement', 'M').set('sev-policy', 3).set('pdh', 'P').set('cert-chain', 'C');
    expect(await inspection.launchMeasurement()).toEqual({
      measurement: 'M',
      policy: 3,
      loaderSHA: createHash('sha256').update('firmware').digest('hex'),
    });
    expect(await inspection.sevInfo()).toEqual({ pdh: 'P', certChain: 'C' });
  });

  it('takes a secret before it runs, with both of its parts', async () => {
    await expect(inspection.injectSecret({ secret: 's' })).rejects.toMatchObject({ code: 'Invalid', message: 'Header is required' });
    await expect(inspection.injectSecret({ header: 'h' })).rejects.toMatchObject({ code: 'Invalid', message: 'Secret is required' });
    await parts.lifecycle.pause();
    await inspection.injectSecret({ header: 'h', secret: 's' });
    expect(parts.libvirt.calls).toContain('setLaunchSecurityState:sev-secret,sev-secret-header');
  });
});

describe('a memory dump', () => {
  it('is written once, replaces an older one, and is told in the report', async () => {
    const path = join(dir, 'dump', 'vm1-dump-2.memory.dump');
    await mkdir(join(dir, 'dump'));
    await writeFile(join(dir, 'dump', 'vm1-dump-1.memory.dump'), '');
    await dump.start(path);
    await dump.start(path);
    await expect.poll(() => parts.record.memoryDump?.endTimestamp).toBeDefined();
    await dump.start(path);
    expect(parts.libvirt.calls.filter((call) => call.startsWith('dump:'))).toEqual([`dump:${path}`]);
    expect(await readdir(join(dir, 'dump'))).toEqual([]);
    await parts.states();
    expect(parts.heard.at(-1)?.domain?.spec.memoryDump).toMatchObject({ fileName: 'vm1-dump-2.memory.dump' });
  });

  it('that fails says why', async () => {
    await dump.start(join(dir, 'nowhere', 'a.memory.dump'));
    await expect.poll(() => parts.record.memoryDump?.failure).toContain('is not mounted');
  });

  it.each(['/etc/passwd', 'a/../../b', 'x'])('goes nowhere but into a claim: %s', async (path) => {
    await expect(dump.start(path)).rejects.toMatchObject({ code: 'Invalid' });
  });
});
