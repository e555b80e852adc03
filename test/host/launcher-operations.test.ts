// Operations on a running guest for real: libvirt and QEMU without KVM. The guest has no operating system, so what needs its help (letting go of a
// device on PCI) is not asked of it; disks hang on SCSI, which needs none.
import { execFileSync } from 'node:child_process';
import { chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { checkPrerequisites, emptyGuest, LauncherPod } from './launcher-pod.js';

const WAIT = { timeout: 30_000, interval: 50 };
const QEMU_USER = 107;
let pod: LauncherPod;
let vmi: VirtualMachineInstance;

beforeAll(checkPrerequisites);
afterEach(async () => {
  await pod.remove();
});

/** As virt-handler leaves them: images in the directory for plugged volumes. */
async function plugImage(name: string, size = 4 * 1024 * 1024): Promise<void> {
  const path = join(pod.dir, 'kubevirt/hotplug-disks', `${name}.img`);
  await writeFile(path, Buffer.alloc(size));
  await chown(path, QEMU_USER, QEMU_USER);
}

async function start(patch: (guest: VirtualMachineInstance) => void = () => undefined, ...flags: string[]): Promise<void> {
  pod = await LauncherPod.start(flags, async (dir) => {
    await mkdir(join(dir, 'kubevirt/hotplug-disks'));
    await chown(join(dir, 'kubevirt/hotplug-disks'), QEMU_USER, QEMU_USER);
  });
  await expect.poll(() => pod.isReady, WAIT).toBe(true);
  await pod.listen();
  vmi = emptyGuest();
  patch(vmi);
  await pod.client.syncVirtualMachine(vmi);
  await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
}

const disks = async (): Promise<string[]> =>
  ((await pod.client.getDomain())?.spec.disks ?? []).map(({ name, target }) => `${name} ${target}`);

type Spec = VirtualMachineInstance['spec'];
const disksOf = (spec: Spec): NonNullable<Spec['domain']['devices']['disks']> => {
  spec.domain.devices.disks ??= [];
  return spec.domain.devices.disks;
};

/** The VMI as its controllers make it when a claim was attached. */
function withClaim(name: string, disk: object): void {
  disksOf(vmi.spec).push({ name, ...disk });
  vmi.spec.volumes?.push({ name, persistentVolumeClaim: { claimName: name, hotpluggable: true } });
  vmi.status = {
    ...vmi.status,
    volumeStatus: [...(vmi.status?.volumeStatus ?? []), { name, target: '', phase: 'MountedToPod', hotplugVolume: {} }],
  };
}

function withoutVolume(name: string): void {
  vmi.spec.volumes = (vmi.spec.volumes ?? []).filter((volume) => volume.name !== name);
  vmi.status = { ...vmi.status, volumeStatus: (vmi.status?.volumeStatus ?? []).filter((entry) => entry.name !== name) };
}

describe('disks', () => {
  it('come and go while the guest runs', async () => {
    await start((guest) => {
      disksOf(guest.spec).push({ name: 'first', disk: { bus: 'scsi' } });
      guest.spec.volumes?.push({ name: 'first', emptyDisk: { capacity: '8Mi' } });
    });
    expect(await disks()).toEqual(['scratch vda', 'init vdb', 'first sda']);
    withClaim('data', { disk: { bus: 'scsi' } });
    // Not mounted yet: nothing happens, and nothing fails.
    await pod.client.syncVirtualMachine(vmi);
    expect(await disks()).not.toContain('data sdb');
    await plugImage('data');
    await pod.client.syncVirtualMachine(vmi);
    expect(await disks()).toContain('data sdb');
    await pod.client.syncVirtualMachine(vmi);
    vmi.spec.domain.devices.disks = disksOf(vmi.spec).filter(({ name }) => name !== 'data');
    withoutVolume('data');
    await pod.client.syncVirtualMachine(vmi);
    await expect.poll(disks, WAIT).toEqual(['scratch vda', 'init vdb', 'first sda']);
  });

  it('in a CD-ROM drive are exchanged', async () => {
    await start((guest) => disksOf(guest.spec).push({ name: 'cd', cdrom: { bus: 'sata' } }));
    expect(await disks()).toEqual(['scratch vda', 'init vdb', 'cd sda']);
    withClaim('cd', { cdrom: { bus: 'sata' } });
    vmi.spec.domain.devices.disks?.pop();
    await plugImage('cd');
    await pod.client.syncVirtualMachine(vmi);
    expect(await disks()).toContain('cd sda');
    withoutVolume('cd');
    await pod.client.syncVirtualMachine(vmi);
    expect(await disks()).toEqual(['scratch vda', 'init vdb']);
  });
});

describe('vCPUs', () => {
  it('grow', async () => {
    await start((guest) => {
      guest.spec.domain.cpu = { cores: 1, sockets: 1, threads: 1, maxSockets: 4 };
    });
    vmi.spec.domain.cpu = { ...vmi.spec.domain.cpu, sockets: 3 };
    await pod.client.syncVirtualMachineCPUs(vmi);
    expect((await pod.client.getDomain())?.spec.vcpus).toBe(3);
  });
});

/** Older ones want memory modules to be counted, which virtio-mem has none of. */
const libvirtVersion = (): number =>
  Number(/(\d+)\.\d+\.\d+/.exec(execFileSync('libvirtd', ['--version'], { encoding: 'utf8' }))?.[1] ?? 0);

describe('memory', () => {
  it.skipIf(libvirtVersion() < 10)('grows', async () => {
    await start((guest) => {
      guest.spec.domain.memory = { guest: '1Gi', maxGuest: '2Gi' };
      guest.status = { ...guest.status, memory: { guestAtBoot: '1Gi' } };
    });
    vmi.spec.domain.memory = { guest: '1536Mi', maxGuest: '2Gi' };
    await pod.client.syncVirtualMachineMemory(vmi);
    // The guest has no driver that would take it; asking again changes nothing.
    await pod.client.syncVirtualMachineMemory(vmi);
    vmi.spec.domain.memory = { guest: '2Gi', maxGuest: '2Gi' };
    await pod.client.syncVirtualMachineMemory(vmi);
    vmi.spec.domain.memory = { guest: '512Mi', maxGuest: '2Gi' };
    await expect(pod.client.syncVirtualMachineMemory(vmi)).rejects.toMatchObject({ code: 'Invalid' });
  });
});

describe('looking at the guest', () => {
  it('gives a picture, statistics, a dirty rate and a dump', async () => {
    await start(undefined, '--vm-stats-collector');
    const { mime, data } = await pod.client.getScreenshot(vmi);
    expect(mime).toBe('image/png');
    expect(Buffer.from(data).subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    const stats = (await pod.client.getDomainStats()) as Record<string, Record<string, unknown>[] & Record<string, unknown>>;
    expect(stats).toMatchObject({ Name: 'default_vm1', Cpu: { TimeSet: true }, Memory: { TotalSet: true, Total: 65536 } });
    expect(stats.Block?.map(({ Name, Alias }) => [Name, Alias])).toEqual([
      ['vda', 'scratch'],
      ['vdb', 'init'],
    ]);
    expect(stats.Vcpu).toHaveLength(1);
    expect(await pod.client.getDomainDirtyRateStats()).toBeGreaterThanOrEqual(0);
    expect(await pod.client.getVMStats({ dirtyRate: {} })).toMatchObject({ dirtyRateStats: { response: { success: true } } });

    const claim = join(pod.dir, 'kubevirt/hotplug-disks/dump');
    await mkdir(claim);
    await chown(claim, QEMU_USER, QEMU_USER);
    await pod.client.virtualMachineMemoryDump(vmi, '/var/run/kubevirt/hotplug-disks/dump/vm1-dump-1.memory.dump');
    await expect
      .poll(async () => (await pod.client.getDomain())?.spec.memoryDump, WAIT)
      .toMatchObject({
        fileName: 'vm1-dump-1.memory.dump',
        endTimestamp: expect.any(String),
      });
    expect((await pod.client.getDomain())?.spec.memoryDump?.failure).toBeUndefined();
    const [file] = await readdir(claim);
    expect((await stat(join(claim, file ?? ''))).size).toBeGreaterThan(60 * 1024 * 1024);
    expect((await readFile(join(claim, file ?? ''))).subarray(0, 4).toString('latin1')).toBe('\x7fELF');
  });

  it('says what a machine without SEV cannot tell, and what is not there yet', async () => {
    await start();
    await expect(pod.client.getSEVInfo()).rejects.toMatchObject({ code: 'Libvirt' });
    await expect(pod.client.getLaunchMeasurement(vmi)).rejects.toMatchObject({ code: 'Invalid' });
    await expect(pod.client.backupVirtualMachine(vmi, {})).rejects.toMatchObject({ code: 'NotImplemented', retry: 'never' });
  });
});

describe('a libvirt that hangs', () => {
  it('does not hang the command service: each call ends with the step it is at', async () => {
    await start();
    for (const pid of await pod.pidsOf('libvirtd')) process.kill(pid, 'SIGSTOP');
    const begin = Date.now();
    await expect(pod.client.getDomain()).rejects.toMatchObject({
      code: 'Timeout',
      message: expect.stringMatching(/^GetDomain was not done after 4\.\d s; it was at: look up domain default_vm1$/),
    });
    expect(Date.now() - begin).toBeLessThan(5_500);
    await expect(pod.client.pauseVirtualMachine(vmi)).rejects.toMatchObject({
      code: 'Timeout',
      message: expect.stringContaining('behind look up domain default_vm1'),
    });
    for (const pid of await pod.pidsOf('libvirtd')) process.kill(pid, 'SIGCONT');
    await expect.poll(() => pod.client.getDomain().then((domain) => domain?.status.status), WAIT).toBeDefined();
  }, 60_000);
});
