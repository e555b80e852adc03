// Container disks for real: a mount namespace plays the host, another the side container that holds the image, a third the launcher
// that sees its volume as the kubelet mounts it (HostToContainer).
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { readMounts } from '../../src/linux/mount.js';
import { createContainerDisks } from '../../src/node/disks/container-disks.js';
import { nodeVmi, POD_UID } from '../builders/node-vm.js';
import { scratchDir } from '../fakes/scratch.js';
import { hostCtx } from './namespaces.js';

let dir: string;
let host: ChildProcess;
let side: ChildProcess;
let launcher: ChildProcess;
const children: ChildProcess[] = [];

/** Runs a script in a new mount namespace, then sleeps; resolves once the script is through. */
async function inNewMountNs(script: string, enter?: ChildProcess, env: Record<string, string> = {}): Promise<ChildProcess> {
  const command = ['unshare', '-m', '--propagation', 'unchanged', 'sh', '-ec', `${script}\necho ready\nexec sleep 1000`];
  const args = enter ? ['nsenter', `--mount=/proc/${enter.pid}/ns/mnt`, '--', ...command] : command;
  const child = spawn(args[0] ?? '', args.slice(1), { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

const pids = async () => [side.pid ?? 0];
const volume = () => join(dir, 'pods', POD_UID, 'volumes/kubernetes.io~empty-dir/container-disks');
const disks = () =>
  createContainerDisks({ hostPodsDir: join(dir, 'pods'), stageDir: join(dir, 'stage'), hostPid: host.pid ?? 0, pidsOfPod: pids });
const inLauncher = (...command: string[]): string =>
  execFileSync('nsenter', [`--mount=/proc/${launcher.pid}/ns/mnt`, '--', ...command], { encoding: 'utf8' });
const vmi = (path?: string): VirtualMachineInstance =>
  nodeVmi({
    spec: {
      volumes: [
        { name: 'other', emptyDisk: { capacity: '1Mi' } },
        { name: 'root', containerDisk: { image: 'guest', ...(path ? { path } : {}) } },
      ],
    },
  });

beforeEach(async () => {
  dir = scratchDir();
  await mkdir(volume(), { recursive: true });
  await mkdir(join(dir, 'image/lower/disk'), { recursive: true });
  await mkdir(join(dir, 'launcher'));
  await writeFile(join(dir, 'image/lower/disk/disk.img'), 'the image');
  // Everything below `dir` is a shared mount of the "host", as /var/lib/kubelet is on a node.
  host = await inNewMountNs(`
    mount --make-rprivate /
    mount --bind ${dir} ${dir}
    mount --make-shared ${dir}
    mkdir ${dir}/image/upper ${dir}/image/work ${dir}/image/rootfs
    mount -t tmpfs tmpfs ${dir}/image/rootfs
    cp -r ${dir}/image/lower/. ${dir}/image/rootfs`);
  side = await inNewMountNs('mount --make-rslave /', host, { CONTAINER_DISK: 'disk_1' });
  launcher = await inNewMountNs(`mount --make-rslave /; mount --bind ${volume()} ${dir}/launcher`, host);
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

describe('container disks', () => {
  it('are bound read-only into the launcher, once, and unmounted again', async () => {
    const path = join(dir, 'image/rootfs/disk/disk.img');
    await disks().mount(hostCtx(), vmi(path), POD_UID);
    await disks().mount(hostCtx(), vmi(path), POD_UID);

    expect(inLauncher('cat', join(dir, 'launcher/disk_1.img'))).toBe('the image');
    expect(() => inLauncher('sh', '-c', `echo x > ${dir}/launcher/disk_1.img`)).toThrow('Read-only file system');
    const mounted = (await readMounts(host.pid ?? 0)).filter((mount) => mount.mountPoint === join(volume(), 'disk_1.img'));
    expect(mounted).toHaveLength(1);

    await disks().unmount(hostCtx(), POD_UID);
    expect((await readMounts(host.pid ?? 0)).some((mount) => mount.mountPoint.startsWith(volume()))).toBe(false);
    await rm(join(volume(), 'disk_1.img'));
  });

  it('are not bound over what a link in the volume points to', async () => {
    await writeFile(join(dir, 'precious'), 'precious');
    await symlink(join(dir, 'precious'), join(volume(), 'disk_1.img'));

    await expect(disks().mount(hostCtx(), vmi(join(dir, 'image/rootfs/disk/disk.img')), POD_UID)).rejects.toThrow();
    expect(await readFile(join(dir, 'precious'), 'utf8')).toBe('precious');
  });

  it('do not come from a process outside the pod whose socket the launcher linked to', async () => {
    await writeFile(join(dir, 'secret'), 'of the node');
    const server = createServer().listen(join(dir, 'daemon.sock'));
    await once(server, 'listening');
    await symlink(join(dir, 'daemon.sock'), join(volume(), 'disk_1.sock'));
    try {
      await disks().mount(hostCtx(), vmi(join(dir, 'image/rootfs/disk/disk.img')), POD_UID);
      expect(inLauncher('cat', join(dir, 'launcher/disk_1.img'))).toBe('the image');
      const alone = createContainerDisks({
        hostPodsDir: join(dir, 'pods'),
        stageDir: join(dir, 'stage'),
        hostPid: host.pid ?? 0,
        pidsOfPod: async () => [],
      });
      await disks().unmount(hostCtx(), POD_UID);
      await expect(alone.mount(hostCtx(), vmi(join(dir, 'secret')), POD_UID)).rejects.toMatchObject({ code: 'NotReady' });
    } finally {
      server.close();
    }
  });

  it('are not held up by a pipe in the place of the disk', async () => {
    execFileSync('mkfifo', [join(volume(), 'disk_1.img')]);
    await expect(disks().mount(hostCtx(), vmi(join(dir, 'image/rootfs/disk/disk.img')), POD_UID)).rejects.toMatchObject({
      code: 'Invalid',
    });
  });

  it('that are none in the image are not mounted', async () => {
    execFileSync('nsenter', [`--mount=/proc/${host.pid}/ns/mnt`, '--', 'mkfifo', join(dir, 'image/rootfs/disk/pipe')]);
    await expect(disks().mount(hostCtx(), vmi(join(dir, 'image/rootfs/disk/pipe')), POD_UID)).rejects.toMatchObject({
      code: 'Invalid',
      message: expect.stringContaining('is no plain file'),
    });
  });

  it('wait for their side container and say which', async () => {
    const waiting = createContainerDisks({
      hostPodsDir: join(dir, 'pods'),
      stageDir: join(dir, 'stage'),
      hostPid: host.pid ?? 0,
      pidsOfPod: async () => [],
    });
    await expect(waiting.mount(hostCtx(), vmi('/disk/disk.img'), POD_UID)).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringContaining('containerdisk root'),
      retry: { afterMs: 1000 },
    });
  });

  it('need nothing in a pod that mounts its images itself', async () => {
    await rm(volume(), { recursive: true });
    await expect(disks().mount(hostCtx(), vmi(), POD_UID)).resolves.toBeUndefined();
  });
});
