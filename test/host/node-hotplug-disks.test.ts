// Volumes that come to a running launcher, for real: a mount namespace plays the host, another the attachment pod that has the claims mounted,
// a third the launcher that sees its volume as the kubelet mounts it (HostToContainer).
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { createHotplugDisks, plugsOf } from '../../src/node/disks/hotplug-disks.js';
import { nodeVmi, POD_UID } from '../builders/node-vm.js';
import { scratchDir } from '../fakes/scratch.js';
import { hostCtx } from './namespaces.js';

let dir: string;
let host: ChildProcess;
let attachment: ChildProcess;
let launcher: ChildProcess;
let pids: number[];
const children: ChildProcess[] = [];
const NONE: ReadonlySet<string> = new Set();

async function inNewMountNs(script: string, enter?: ChildProcess): Promise<ChildProcess> {
  const command = ['unshare', '-m', '--propagation', 'unchanged', 'sh', '-ec', `${script}\necho ready\nexec sleep 1000`];
  const args = enter ? ['nsenter', `--mount=/proc/${enter.pid}/ns/mnt`, '--', ...command] : command;
  const child = spawn(args[0] ?? '', args.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

const volume = () => join(dir, 'pods', POD_UID, 'volumes/kubernetes.io~empty-dir/hotplug-disks');
const disks = () =>
  createHotplugDisks({ hostPodsDir: join(dir, 'pods'), hostPid: host.pid ?? 0, pidsOfPod: async () => pids, volumesAt: join(dir, 'root') });
const into = () => ({ podUid: POD_UID, pid: launcher.pid ?? 0 });
const sync = async (object: VirtualMachineInstance, inUse = NONE): Promise<string[]> =>
  [...(await disks().sync(hostCtx(), object, into(), inUse)).there].sort();
const inLauncher = (...command: string[]): string =>
  execFileSync('nsenter', [`--mount=/proc/${launcher.pid}/ns/mnt`, '--', ...command], { encoding: 'utf8' });

const vmi = (isWanted = true): VirtualMachineInstance =>
  nodeVmi({
    spec: {
      volumes: isWanted
        ? [
            { name: 'data', persistentVolumeClaim: { claimName: 'c', hotpluggable: true } },
            { name: 'dump', memoryDump: { claimName: 'd', hotpluggable: true } },
          ]
        : [],
    },
    status: {
      volumeStatus: [
        { name: 'data', target: '', hotplugVolume: { attachPodUID: 'hp' } },
        { name: 'dump', target: '', hotplugVolume: { attachPodUID: 'hp' }, memoryDumpVolume: { claimName: 'd' } },
        { name: 'unattached', target: '', hotplugVolume: {} },
      ],
    },
  });

beforeEach(async () => {
  dir = scratchDir();
  await mkdir(volume(), { recursive: true });
  for (const claim of ['c', 'd', 'root/data', 'root/dump', 'launcher']) await mkdir(join(dir, claim), { recursive: true });
  await writeFile(join(dir, 'c/disk.img'), 'the disk');
  // The claims lie on the host; the attachment pod has them mounted below its root.
  host = await inNewMountNs(`mount --make-rprivate /; mount --bind ${dir} ${dir}; mount --make-shared ${dir}`);
  attachment = await inNewMountNs(
    `mount --make-rprivate /; mount --bind ${dir}/c ${dir}/root/data; mount --bind ${dir}/d ${dir}/root/dump`,
    host,
  );
  launcher = await inNewMountNs(`mount --make-rslave /; mount --bind ${volume()} ${dir}/launcher`, host);
  pids = [attachment.pid ?? 0];
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

describe('plugged volumes', () => {
  it('are those that are attached and wanted', () => {
    expect(plugsOf(vmi()).map(({ volume: name, isDirectory }) => [name, isDirectory])).toEqual([
      ['data', false],
      ['dump', true],
    ]);
    expect(plugsOf(vmi(false))).toEqual([]);
  });

  it('come into the launcher, writable, once; and go when nobody uses them any more', async () => {
    expect(await sync(vmi())).toEqual(['data', 'dump']);
    expect(await sync(vmi())).toEqual(['data', 'dump']);
    expect(inLauncher('cat', join(dir, 'launcher/data.img'))).toBe('the disk');
    inLauncher('sh', '-c', `echo more >> ${dir}/launcher/data.img; echo core > ${dir}/launcher/dump/x.memory.dump`);
    expect(execFileSync('cat', [join(dir, 'c/disk.img'), join(dir, 'd/x.memory.dump')], { encoding: 'utf8' })).toBe('the diskmore\ncore\n');
    expect(execFileSync('stat', ['-c', '%u', join(dir, 'c/disk.img')], { encoding: 'utf8' })).toBe('107\n');

    expect(await sync(vmi(false), new Set(['data']))).toEqual(['data']);
    expect(await sync(vmi(false))).toEqual([]);
    expect(inLauncher('cat', join(dir, 'launcher/data.img'))).toBe('');
  });

  it('wait for their attachment pod', async () => {
    pids = [];
    expect(await sync(vmi())).toEqual([]);
  });

  it('without an image are told so, and keep no other away', async () => {
    await rm(join(dir, 'c/disk.img'));
    const { there, failures } = await disks().sync(hostCtx(), vmi(), into(), NONE);
    expect([[...there], failures.get('data')]).toEqual([['dump'], expect.stringContaining('volume data has no ')]);
  });

  it('that are no disk, or that nobody may own, keep no other away', async () => {
    await rm(join(dir, 'c/disk.img'));
    execFileSync('mkfifo', [join(dir, 'c/disk.img')]);
    const { there, failures } = await disks().sync(hostCtx(), vmi(), into(), NONE);
    expect([[...there], failures.get('data')]).toEqual([['dump'], expect.stringContaining('is no plain file')]);
    execFileSync('sh', ['-c', `rm ${dir}/c/disk.img; echo image > ${dir}/c/disk.img`]);
    execFileSync('nsenter', [`--mount=/proc/${host.pid}/ns/mnt`, '--', 'mount', '--bind', '-o', 'ro', `${dir}/c`, `${dir}/c`]);
    execFileSync('nsenter', [`--mount=/proc/${attachment.pid}/ns/mnt`, '--', 'mount', '-o', 'remount,bind,ro', `${dir}/root/data`]);
    expect(await sync(vmi())).toEqual(['data', 'dump']);
    expect(inLauncher('cat', join(dir, 'launcher/data.img'))).toBe('image\n');
  });

  it('are not made in the place of a folder that the launcher filled; its content stays', async () => {
    execFileSync('mkdir', ['-p', join(dir, 'root/path/data'), join(volume(), 'data/full')]);
    execFileSync('mknod', [join(dir, 'root/path/data/uid-of-the-claim'), 'b', '252', '300']);
    const { there, failures } = await disks().sync(hostCtx(), vmi(), into(), NONE);
    expect([[...there], failures.get('data')]).toEqual([['dump'], expect.stringContaining('bears the name of volume data')]);
    execFileSync('rmdir', [join(volume(), 'data/full')]);
    expect(await sync(vmi())).toEqual(['data', 'dump']);
    expect(await sync(vmi(false))).toEqual([]);
  });

  it('come as devices, owned by the user of the guest, and go again', async () => {
    execFileSync('mkdir', ['-p', join(dir, 'root/path/data')]);
    execFileSync('mknod', [join(dir, 'root/path/data/uid-of-the-claim'), 'b', '252', '300']);
    // What the launcher put there is in the way and is removed.
    await writeFile(join(volume(), 'data'), 'a file');
    expect(await sync(vmi())).toEqual(['data', 'dump']);
    expect(await sync(vmi())).toEqual(['data', 'dump']);
    expect(inLauncher('stat', '-c', '%F %t:%T %u:%g %a', join(dir, 'launcher/data'))).toBe('block special file fc:12c 107:107 660\n');
    expect(await sync(vmi(false), new Set(['data']))).toEqual(['data']);
    expect(await sync(vmi(false))).toEqual([]);
    expect(inLauncher('ls', join(dir, 'launcher'))).not.toContain('data');
  });

  it('whose device is missing from its folder say so', async () => {
    execFileSync('mkdir', ['-p', join(dir, 'root/path/data')]);
    const { failures } = await disks().sync(hostCtx(), vmi(), into(), NONE);
    expect(failures.get('data')).toContain('volume data has no block device in ');
  });
});
