// Disks that change behind a guest's back: images that follow their claims, and the disk with metrics. Libvirt and QEMU are real.
import { execFileSync } from 'node:child_process';
import { chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { checkPrerequisites, emptyGuest, LauncherPod } from './launcher-pod.js';

const WAIT = { timeout: 30_000, interval: 50 };
const QEMU_USER = 107;
const MIB = 1024 ** 2;
let pod: LauncherPod;

beforeAll(checkPrerequisites);
afterEach(async () => {
  await pod.remove();
});

const image = (): string => join(pod.dir, 'kubevirt-private/vmi-disks/data/disk.img');
const imageBytes = async (): Promise<number> => (await stat(image())).size;

/** As virt-handler leaves a filesystem claim. */
async function placeImage(dir: string, bytes: number): Promise<void> {
  const folder = join(dir, 'kubevirt-private/vmi-disks/data');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'disk.img'), Buffer.alloc(bytes));
  for (const path of [folder, join(folder, 'disk.img')]) await chown(path, QEMU_USER, QEMU_USER);
}

async function start(vmi: VirtualMachineInstance, before: (dir: string) => Promise<void> = async () => undefined): Promise<void> {
  pod = await LauncherPod.start([], before);
  await expect.poll(() => pod.isReady, WAIT).toBe(true);
  await pod.listen();
  await pod.client.syncVirtualMachine(vmi);
  await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
}

function withClaim(vmi: VirtualMachineInstance, size: string): VirtualMachineInstance {
  const { domain, volumes = [] } = vmi.spec;
  const { disks = [] } = domain.devices;
  const others = disks.filter(({ name }) => name !== 'data');
  const persistentVolumeClaimInfo = {
    capacity: { storage: size },
    requests: { storage: size },
    volumeMode: 'Filesystem',
    filesystemOverhead: '0',
  };
  return {
    ...vmi,
    spec: {
      ...vmi.spec,
      domain: { ...domain, devices: { ...domain.devices, disks: [...others, { name: 'data', disk: { bus: 'virtio' } }] } },
      volumes: [...volumes.filter(({ name }) => name !== 'data'), { name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
    status: { ...vmi.status, volumeStatus: [{ name: 'data', target: '', persistentVolumeClaimInfo }] },
  };
}

describe('a disk on a claim', () => {
  it('grows with it, before the guest starts and while it runs', async () => {
    const guest = withClaim(emptyGuest(), '8Mi');
    await start(guest, (dir) => placeImage(dir, 4 * MIB));
    expect(await imageBytes()).toBe(8 * MIB);
    await pod.client.syncVirtualMachine(withClaim(guest, '16Mi'));
    expect(await imageBytes()).toBe(16 * MIB);
    const stats = (await pod.client.getDomainStats()) as { Block: { Alias: string; Capacity: number }[] };
    expect(stats.Block.find(({ Alias }) => Alias === 'data')?.Capacity).toBe(16 * MIB);
    // A claim that says less takes nothing from the guest.
    await pod.client.syncVirtualMachine(withClaim(guest, '8Mi'));
    expect(await imageBytes()).toBe(16 * MIB);
  });
});

describe('a guest that runs', () => {
  const secretDir = (dir: string): string => join(dir, 'kubevirt-private/secret/init');

  async function placeSecret(dir: string): Promise<void> {
    await mkdir(secretDir(dir), { recursive: true });
    await writeFile(join(secretDir(dir), 'userdata'), '#!/bin/sh\n');
    await chown(join(dir, 'kubevirt-private/secret'), QEMU_USER, QEMU_USER);
  }

  it('is changed also when the secret that it began with is another now', async () => {
    const guest = emptyGuest();
    guest.spec.volumes = [
      { name: 'scratch', emptyDisk: { capacity: '32Mi' } },
      { name: 'init', cloudInitNoCloud: { secretRef: { name: 'seed' } } },
    ];
    await start(guest, placeSecret);
    await rm(join(secretDir(pod.dir), 'userdata'));
    await pod.client.syncVirtualMachine(guest);
  });

  it('gets its new disk though another that was plugged is none', async () => {
    const guest = emptyGuest();
    await start(guest);
    const plugs = join(pod.dir, 'kubevirt/hotplug-disks');
    await mkdir(plugs);
    execFileSync('mkfifo', [join(plugs, 'bad.img')]);
    await writeFile(join(plugs, 'good.img'), Buffer.alloc(MIB));
    for (const name of ['', 'bad.img', 'good.img']) await chown(join(plugs, name), QEMU_USER, QEMU_USER);
    const names = ['bad', 'good'];
    const { devices } = guest.spec.domain;
    devices.disks = [...(devices.disks ?? []), ...names.map((name) => ({ name, disk: { bus: 'scsi' as const } }))];
    const volumes = names.map((name) => ({ name, persistentVolumeClaim: { claimName: name, hotpluggable: true } }));
    guest.spec.volumes = [...(guest.spec.volumes ?? []), ...volumes];
    const volumeStatus = names.map((name) => ({ name, target: '', phase: 'MountedToPod', hotplugVolume: {} }));
    guest.status = { ...guest.status, volumeStatus };
    await expect(pod.client.syncVirtualMachine(guest)).rejects.toMatchObject({
      message: expect.stringMatching(/attach disk bad.*neither a file nor a block device/),
    });
    await expect.poll(() => pod.events.at(-1)?.domain?.spec.disks.map(({ name }) => name), WAIT).toContain('good');
  });
});

describe('metrics for the guest', () => {
  it('lie on a disk that is kept up to date, and QEMU has a channel for them', async () => {
    const guest = emptyGuest();
    guest.spec.volumes = [...(guest.spec.volumes ?? []), { name: 'metrics', downwardMetrics: {} }];
    const { devices } = guest.spec.domain;
    devices.disks = [...(devices.disks ?? []), { name: 'metrics', disk: { bus: 'virtio' } }];
    devices.downwardMetrics = {};
    guest.status = { ...guest.status, nodeName: 'node01' };
    await start(guest);
    const disk = join(pod.dir, 'kubevirt-private/downwardapi-disks/vhostmd0');
    await expect.poll(() => readFile(disk, 'latin1'), WAIT).toMatch(/^mvbd[\s\S]*<!\[CDATA\[node01\]\]>/);
    expect((await stat(join(pod.dir, 'kubevirt-private/downwardmetrics-channel/downwardmetrics.sock'))).isSocket()).toBe(true);
  });
});
