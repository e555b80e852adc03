// Volumes that come to a running launcher, for real: a mount namespace plays the host, another the attachment pod that has the claims mounted,
// a third the launcher that sees its volume as the kubelet mounts it (HostToContainer).
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { createHotplugDisks, plugsOf } from '../../src/node/disks/hotplug-disks.js';
import { nodeVmi, POD_UID } from '../builders/node-vm.js';
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
  dir = await mkdtemp(join(tmpdir(), 'kv-plug-'));
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
  await rm(dir, { recursive: true, force: true });
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
    expect([...(await disks().sync(hostCtx(), vmi(), POD_UID, NONE))].sort()).toEqual(['data', 'dump']);
    expect([...(await disks().sync(hostCtx(), vmi(), POD_UID, NONE))].sort()).toEqual(['data', 'dump']);
    expect(inLauncher('cat', join(dir, 'launcher/data.img'))).toBe('the disk');
    inLauncher('sh', '-c', `echo more >> ${dir}/launcher/data.img; echo core > ${dir}/launcher/dump/x.memory.dump`);
    expect(execFileSync('cat', [join(dir, 'c/disk.img'), join(dir, 'd/x.memory.dump')], { encoding: 'utf8' })).toBe('the diskmore\ncore\n');
    expect(execFileSync('stat', ['-c', '%u', join(dir, 'c/disk.img')], { encoding: 'utf8' })).toBe('107\n');

    expect([...(await disks().sync(hostCtx(), vmi(false), POD_UID, new Set(['data'])))]).toEqual(['data']);
    expect([...(await disks().sync(hostCtx(), vmi(false), POD_UID, NONE))]).toEqual([]);
    expect(inLauncher('cat', join(dir, 'launcher/data.img'))).toBe('');
  });

  it('wait for their attachment pod', async () => {
    pids = [];
    expect([...(await disks().sync(hostCtx(), vmi(), POD_UID, NONE))]).toEqual([]);
  });

  it('without an image are an error that says so', async () => {
    await rm(join(dir, 'c/disk.img'));
    await expect(disks().sync(hostCtx(), vmi(), POD_UID, NONE)).rejects.toMatchObject({
      reason: 'HotplugFailed',
      message: expect.stringContaining('volume data has no '),
    });
  });
});
