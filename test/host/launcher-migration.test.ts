// Live migration for real: two launchers, libvirt and QEMU without KVM, and the node agents' proxies with mutual TLS between them. One guest goes
// through it all; what it has in memory and on its disks shows whether it is the same afterwards.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { checkPrerequisites, type LauncherPod } from './launcher-pod.js';
import { Console, migrating, movingGuest, options, startPod, Way } from './migration-pods.js';

const WAIT = { timeout: 40_000, interval: 50 };
const vmi = movingGuest();
let here: LauncherPod;
let there: LauncherPod;
let console_: Console;
const way = new Way();
const pods: LauncherPod[] = [];

async function newPod(): Promise<LauncherPod> {
  const pod = await startPod();
  pods.push(pod);
  return pod;
}

beforeAll(async () => {
  checkPrerequisites();
  here = await newPod();
  await here.client.syncVirtualMachine(vmi);
  console_ = new Console(here);
  await console_.login();
}, 120_000);
afterAll(async () => {
  console_?.close();
  await way.close();
  await Promise.all(pods.map((pod) => pod.remove()));
});

/** A new pod that waits for the guest, and the way to it. */
async function prepare(moving: VirtualMachineInstance): Promise<void> {
  there = await newPod();
  await there.client.syncMigrationTarget(moving);
  await way.open(moving, here, there);
}

const report = async (pod: LauncherPod) => (await pod.client.getDomain())?.spec.migration;
const stateOf = async (pod: LauncherPod): Promise<string> => {
  const status = (await pod.client.getDomain())?.status;
  return `${status?.status}/${status?.reason}`;
};
const outcome = (pod: LauncherPod) => expect.poll(() => report(pod), WAIT);

/** The guest has gone there; this pod ends as it should. */
async function movedOn(moving: VirtualMachineInstance): Promise<void> {
  console_.close();
  await here.client.deleteVirtualMachine(moving);
  expect(await here.exited()).toMatchObject({ code: 0 });
  here = there;
  console_ = new Console(here);
  await console_.run('true');
}

describe('a guest', () => {
  it('stays where it is, and runs on, when its migration is cancelled', async () => {
    await console_.run('word=kept-in-memory; echo on-disk > /root/file; sync');
    const moving = migrating(vmi, 'm-cancelled');
    await prepare(moving);
    await here.client.migrateVirtualMachine(moving, options(moving, { Bandwidth: '1Mi', ParallelMigrationThreads: 8 }));
    // Repeated, as the node agent does; another one is refused.
    await here.client.migrateVirtualMachine(moving, options(moving));
    await expect(here.client.migrateVirtualMachine(migrating(vmi, 'm-other'), options(moving))).rejects.toMatchObject({ code: 'Conflict' });
    await expect(here.client.syncVirtualMachine(vmi)).rejects.toMatchObject({ code: 'NotReady' });
    await expect.poll(() => there.states, WAIT).toEqual(['ADDED Paused/Migration']);
    await here.client.cancelVirtualMachineMigration(moving);
    await outcome(here).toMatchObject({
      uid: 'm-cancelled',
      failed: true,
      abortStatus: 'Succeeded',
      failureReason: 'Live migration has been aborted',
    });
    await expect(here.client.cancelVirtualMachineMigration(moving)).rejects.toMatchObject({ code: 'Conflict' });
    await expect(here.client.migrateVirtualMachine(moving, options(moving))).rejects.toMatchObject({ code: 'Conflict', retry: 'never' });
    expect(await there.exited()).toMatchObject({ code: 0 });
    expect(there.states.at(-1)).toBe('DELETED NoState/NonExistent');
    expect(await stateOf(here)).toMatch(/^Running/);
    expect(await console_.run('echo $word')).toBe('kept-in-memory');
    await here.client.syncVirtualMachine(vmi);
  });

  it('stays where it is, and runs on, when the target dies', async () => {
    const moving = migrating(vmi, 'm-dead');
    await prepare(moving);
    await here.client.migrateVirtualMachine(moving, options(moving, { Bandwidth: '1Mi' }));
    await expect.poll(() => there.states, WAIT).toEqual(['ADDED Paused/Migration']);
    await there.kill('qemu-system-x86_64', 'SIGKILL');
    await outcome(here).toMatchObject({ uid: 'm-dead', failed: true, failureReason: expect.stringMatching(/^Live migration failed: /) });
    expect(await stateOf(here)).toMatch(/^Running/);
    expect(await console_.run('echo $word')).toBe('kept-in-memory');
  });

  it('moves with its memory and its disks', async () => {
    const before = Number(await console_.run('cut -d. -f1 /proc/uptime'));
    const moving = migrating(vmi, 'm-1');
    const size = (await here.client.getDomain())?.spec.disks.find(({ name }) => name === 'init')?.size ?? 0;
    expect(size).toBeGreaterThan(2048);
    // As the node agent wrote it down.
    moving.status = { ...moving.status, volumeStatus: [{ name: 'init', target: 'vdb', size }] };
    await prepare(moving);
    await expect(there.client.syncVirtualMachine(vmi)).rejects.toMatchObject({ code: 'Conflict' });
    await expect(there.client.finalizeVirtualMachineMigration(moving)).rejects.toMatchObject({ code: 'NotReady' });
    await here.client.migrateVirtualMachine(moving, options(moving, { AllowAutoConverge: true }));
    await outcome(here).toMatchObject({ uid: 'm-1', completed: true, mode: 'PreCopy' });
    expect(await stateOf(here)).toBe('Shutoff/Migrated');
    await outcome(there).toMatchObject({ uid: 'm-1', completed: true });
    await there.client.finalizeVirtualMachineMigration(moving);
    await expect(there.client.signalTargetPodCleanup(moving)).rejects.toMatchObject({ code: 'Conflict' });
    expect(there.events.at(-1)?.domain?.spec).toMatchObject({
      machineType: expect.stringMatching(/^pc-q35-/),
      disks: [
        { name: 'root', target: 'vda' },
        { name: 'init', target: 'vdb', size },
        { name: 'scratch', target: 'vdc' },
      ],
    });
    await movedOn(moving);
    expect(await console_.run('echo $word')).toBe('kept-in-memory');
    expect(Number(await console_.run('cut -d. -f1 /proc/uptime'))).toBeGreaterThanOrEqual(before);
    await console_.run('echo 3 > /proc/sys/vm/drop_caches');
    expect(await console_.run('cat /root/file; mount -r /dev/vdb /mnt; cat /mnt/user-data | tail -1')).toBe(
      'on-disk\necho cloud-init was here',
    );
    await here.client.syncVirtualMachine(vmi);
  });

  it('is paused when it would take too long; it runs on here when that does not help, and there when it does', async () => {
    const late = migrating(vmi, 'm-late');
    await prepare(late);
    const patient = { CompletionTimeoutPerGiB: 6, AllowWorkloadDisruption: true };
    await here.client.migrateVirtualMachine(late, options(late, { ...patient, Bandwidth: '1Mi', CompletionTimeoutPerGiB: 1 }));
    await outcome(here).toMatchObject({
      ...{ uid: 'm-late', failed: true, mode: 'Paused', abortStatus: 'Succeeded' },
      failureReason: 'Live migration is not completed after 2 seconds and has been aborted',
    });
    await expect.poll(() => stateOf(here), WAIT).toMatch(/^Running/);
    const moving = migrating(vmi, 'm-slow');
    await prepare(moving);
    // The guest has some 95 MiB to send: two seconds more than it may take; paused, it has six more.
    await here.client.migrateVirtualMachine(moving, options(moving, { ...patient, Bandwidth: '12Mi' }));
    await outcome(here).toMatchObject({ uid: 'm-slow', completed: true, mode: 'Paused' });
    await outcome(there).toMatchObject({ uid: 'm-slow', completed: true });
    await there.client.finalizeVirtualMachineMigration(moving);
    expect(await stateOf(there)).toMatch(/^Running/);
    await movedOn(moving);
    expect(await console_.run('echo $word')).toBe('kept-in-memory');
  });

  it('arrives paused when its user paused it', async () => {
    await here.client.pauseVirtualMachine(vmi);
    const moving = migrating(vmi, 'm-paused');
    const conditions = [{ type: 'Paused', status: 'True', reason: 'PausedByUser' }];
    moving.status = { ...moving.status, conditions };
    await prepare(moving);
    await here.client.migrateVirtualMachine(moving, options(moving));
    await outcome(there).toMatchObject({ uid: 'm-paused', completed: true });
    await there.client.finalizeVirtualMachineMigration(moving);
    expect(await stateOf(there)).toBe('Paused/User');
    await there.client.unpauseVirtualMachine(vmi);
    await movedOn(moving);
    expect(await console_.run('echo $word')).toBe('kept-in-memory');
  });
});

describe('a target', () => {
  it('says what it lacks, and ends when it is told that nobody comes', async () => {
    there = await newPod();
    const other = movingGuest();
    other.spec.volumes?.push({ name: 'more', containerDisk: { image: 'x' } });
    await expect(there.client.syncMigrationTarget(migrating(other, 'm'))).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringContaining('container disk more'),
    });
    await there.client.syncMigrationTarget(migrating(vmi, 'm'));
    await there.client.signalTargetPodCleanup(migrating(vmi, 'm'));
    expect(await there.exited()).toMatchObject({ code: 0 });
  });
});
