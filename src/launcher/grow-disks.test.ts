// Disks follow their claims: images before the start, the running guest by libvirt. The images are real files, qemu-img is only recorded.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  DOMAIN,
  domainXml,
  type FakeLauncherParts,
  fakeLauncherParts,
  guestVmi,
  preparedOf,
} from '../../test/fakes/fake-launcher-parts.js';
import { scratchDir } from '../../test/fakes/scratch.js';
import type { PersistentVolumeClaimInfo, VirtualMachineInstance } from '../api/index.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { silentLogger } from '../base/logger.js';
import { type DescribedDisk, readDomain } from '../core/converter/index.js';
import { growImages, growRunning } from './grow-disks.js';

const GIB = 1024n ** 3n;
const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);

function vmi(info: Partial<PersistentVolumeClaimInfo> = {}): VirtualMachineInstance {
  const persistentVolumeClaimInfo = {
    capacity: { storage: '2Gi' },
    requests: { storage: '2Gi' },
    volumeMode: 'Filesystem',
    filesystemOverhead: '0',
    ...info,
  };
  return {
    ...guestVmi({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }] }),
    status: { volumeStatus: [{ name: 'data', target: 'vda', persistentVolumeClaimInfo }] },
  };
}

describe('before the start', () => {
  let dir: string;
  let ran: string[];
  beforeEach(async () => {
    dir = scratchDir();
    ran = [];
  });
  const run = async (_: unknown, command: string, args: readonly string[]) => {
    ran.push([command, ...args].join(' '));
    return { stdout: '', stderr: '' };
  };
  const disk = (patch: Partial<DescribedDisk> = {}): DescribedDisk => ({
    name: 'data',
    target: 'vda',
    device: 'disk',
    format: 'raw',
    isBlock: false,
    path: join(dir, 'disk.img'),
    ...patch,
  });

  it.each<[string, VirtualMachineInstance, Partial<DescribedDisk>, string[]]>([
    ['a short image is made longer', vmi(), {}, [`qemu-img resize -q -f raw DIR/disk.img ${2n * GIB}`]],
    ['its blocks are taken if they were', vmi({ preallocated: true }), {}, [expect.stringContaining('--preallocation=falloc') as string]],
    ['one that is long enough stays', vmi({ capacity: { storage: '10' } }), {}, []],
    ['an overlay stays', vmi(), { format: 'qcow2' }, []],
    ['a device stays', vmi({ volumeMode: 'Block' }), { isBlock: true }, []],
    ['a missing image is for others to tell', vmi(), { path: '/nowhere/disk.img' }, []],
  ])('%s', async (_, given, patch, expected) => {
    await writeFile(join(dir, 'disk.img'), 'data');
    await growImages(ctx, run, given, [disk(patch)]);
    expect(ran.map((line) => line.replace(dir, 'DIR'))).toEqual(expected);
  });
});

describe('while the guest runs', () => {
  let parts: FakeLauncherParts;
  const xml = (source: string): string =>
    domainXml(`<disk type='file'><source ${source}/><target dev='vda'/><alias name='ua-data'/></disk>`);
  const sees = (bytes: bigint): void => {
    const { stats } = parts.libvirt;
    stats.set('block.count', 1).set('block.0.name', 'vda').set('block.0.capacity', Number(bytes));
  };

  beforeEach(async () => {
    parts = await fakeLauncherParts(async () => preparedOf());
    await parts.manager.sync(guestVmi());
  });
  const grow = (given: VirtualMachineInstance, document = xml("file='/disk.img'")): Promise<unknown> =>
    parts.session.withDomain(DOMAIN, (handle) => growRunning(ctx, handle, given, readDomain(document)));
  const resized = (): string[] => parts.libvirt.calls.filter((call) => call.startsWith('resizeBlock'));

  it.each<[string, bigint, VirtualMachineInstance, string[]]>([
    ['its disk grows', GIB, vmi(), [`resizeBlock:vda=${2n * GIB}`]],
    ['its disk never shrinks', 4n * GIB, vmi(), []],
    ['nothing is known of the claim', GIB, guestVmi(), []],
  ])('%s', async (_, bytes, given, expected) => {
    sees(bytes);
    await grow(given);
    expect(resized()).toEqual(expected);
  });

  it('a refusal harms nobody', async () => {
    sees(GIB);
    parts.libvirt.failNext(`resizeBlock:vda=${2n * GIB}`, 'no space');
    await grow(vmi());
    expect(resized()).toHaveLength(1);
  });

  it('a device that is gone keeps its size', async () => {
    sees(GIB);
    await grow(vmi({ volumeMode: 'Block' }), xml("dev='/nowhere/data'"));
    expect(resized()).toEqual([]);
  });
});
