// The launcher for real: libvirt, QEMU without KVM, both sockets. The test is the node agent.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TOLD_TO_END } from '../../src/api/index.js';
import { checkPrerequisites, emptyGuest, LauncherPod } from './launcher-pod.js';

const WAIT = { timeout: 20_000, interval: 50 };
const vmi = emptyGuest();

let pod: LauncherPod;
beforeAll(checkPrerequisites);
afterEach(async () => {
  await pod.remove();
});

async function start(...flags: string[]): Promise<void> {
  pod = await LauncherPod.start(flags);
  await expect.poll(() => pod.isReady, WAIT).toBe(true);
}

async function startGuest(...flags: string[]): Promise<void> {
  await start(...flags);
  await pod.listen();
  await pod.client.syncVirtualMachine(vmi);
  await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
}

describe('a guest’s life', () => {
  it('starts, pauses, runs on, is killed and forgotten; each step is told once', async () => {
    await start();
    expect(await pod.client.negotiate()).toBe(1);
    expect(await pod.client.getDomain()).toBeUndefined();
    await pod.client.syncVirtualMachine(vmi, { MemBalloonStatsPeriod: 10 });
    // The node agent comes late; the launcher waits for it.
    await pod.listen();
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
    expect(pod.events[0]?.domain).toMatchObject({
      metadata: { name: 'vm1', namespace: 'default', uid: 'uid-1' },
      spec: {
        machineType: expect.stringMatching(/^pc-q35-/),
        type: 'qemu',
        memoryBytes: 64 * 1024 * 1024,
        gracePeriodSeconds: 5,
        disks: [
          { name: 'scratch', target: 'vda' },
          { name: 'init', target: 'vdb' },
        ],
      },
    });
    expect(existsSync(join(pod.dir, 'libvirt/empty-disks/scratch.qcow2'))).toBe(true);
    expect(existsSync(join(pod.dir, 'kubevirt-ephemeral-disks/cloud-init-data/default/vm1/noCloud.iso'))).toBe(true);
    expect(existsSync(join(pod.dir, 'kubevirt-private/uid-1/virt-serial0'))).toBe(true);

    await pod.client.syncVirtualMachine(vmi);
    await pod.client.pauseVirtualMachine(vmi);
    await pod.client.syncVirtualMachine(vmi);
    expect((await pod.client.getDomain())?.status).toEqual({ status: 'Paused', reason: 'User' });
    await pod.client.unpauseVirtualMachine(vmi);
    await pod.client.resetVirtualMachine(vmi);
    await expect(pod.client.deleteVirtualMachine(vmi)).rejects.toMatchObject({ code: 'Conflict' });
    await expect(pod.client.getGuestInfo()).rejects.toMatchObject({ code: 'NotReady', message: expect.stringContaining('guest agent') });
    expect(await pod.client.getQemuVersion()).toMatch(/^\d+\.\d+\.\d+$/);
    await pod.client.killVirtualMachine(vmi);
    await pod.client.killVirtualMachine(vmi);
    expect((await pod.client.getDomain())?.status).toEqual({ status: 'Shutoff', reason: 'Destroyed' });
    await pod.client.syncVirtualMachine(vmi);
    await pod.client.deleteVirtualMachine(vmi);
    expect(await pod.exited()).toMatchObject({ code: 0 });
    expect(pod.states).toEqual([
      'ADDED Running',
      'MODIFIED Paused/User',
      'MODIFIED Running',
      'MODIFIED Shutoff/Destroyed',
      'DELETED NoState/NonExistent',
    ]);
  });

  it('says why a guest cannot start, and starts it once that is mended', async () => {
    await start();
    await pod.listen();
    const noDisk = emptyGuest({ volumes: [{ name: 'scratch', containerDisk: { image: 'some/image' } }] });
    noDisk.spec.domain.devices.disks = [{ name: 'scratch', disk: { bus: 'virtio' } }];
    await expect(pod.client.syncVirtualMachine(noDisk)).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringContaining('container disk scratch'),
    });
    const badCpu = emptyGuest();
    badCpu.spec.domain.cpu = { model: 'NoSuchModel' };
    await expect(pod.client.syncVirtualMachine(badCpu)).rejects.toMatchObject({
      code: 'Libvirt',
      message: expect.stringMatching(/^cannot start VM vm1: .*NoSuchModel/),
    });
    await expect(pod.client.syncVirtualMachine({ ...vmi, metadata: { ...vmi.metadata, uid: 'other' } })).rejects.toMatchObject({
      code: 'Conflict',
    });
    expect(await pod.client.getDomain()).toBeUndefined();
    expect(pod.events).toEqual([]);
    await pod.client.syncVirtualMachine(vmi);
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
  });

  it('answers the pod’s own programs: without agent a probe fails, and a backup goes on', async () => {
    await startGuest();
    const probe = ['--domainName', 'default_vm1', '--timeoutSeconds', '5'];
    const noAgent = expect.stringContaining('no guest agent answers in VM vm1');
    expect(await pod.runTool('virt-probe', ...probe, '--guestAgentPing')).toEqual({ code: 1, lastLine: noAgent });
    expect(await pod.runTool('virt-probe', ...probe, '--command', 'cat', '--', '/x')).toEqual({ code: 1, lastLine: noAgent });
    for (const verb of ['--freeze', '--unfreeze']) {
      expect(await pod.runTool('virt-freezer', verb, '--name', 'vm1', '--namespace', 'default')).toEqual({
        code: 0,
        lastLine: expect.stringContaining('no guest agent is connected'),
      });
    }
  });

  it('lives through the death of libvirt', async () => {
    await startGuest();
    const [before] = await pod.pidsOf('qemu-system-x86_64');
    await pod.kill('libvirtd', 'SIGKILL');
    await expect
      .poll(
        () =>
          pod.client.ping().then(
            () => 'answers',
            (err: { code: string }) => err.code,
          ),
        WAIT,
      )
      .toBe('NotReady');
    await expect
      .poll(
        () =>
          pod.client.ping().then(
            () => 'answers',
            (err: { code: string }) => err.code,
          ),
        WAIT,
      )
      .toBe('answers');
    await pod.client.pauseVirtualMachine(vmi);
    expect((await pod.client.getDomain())?.status).toEqual({ status: 'Paused', reason: 'User' });
    expect(await pod.pidsOf('qemu-system-x86_64')).toEqual([before]);
  });
});

describe('the end', () => {
  it('reports QEMU’s death as a crash and fails with a sentence', async () => {
    await startGuest();
    await pod.kill('qemu-system-x86_64', 'SIGKILL');
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running', 'MODIFIED Shutoff/Crashed']);
    await pod.client.deleteVirtualMachine(vmi);
    expect(await pod.exited()).toEqual({ code: 1, lastLine: expect.stringMatching(/^QEMU of VM vm1 ended unexpectedly/) });
  });

  it('on SIGTERM marks the domain, lets the agent shut it down, and kills it when the grace period is over', async () => {
    await startGuest('--grace-period-seconds', '2');
    await pod.kill('tini', 'SIGTERM');
    await expect.poll(() => pod.events.at(-1)?.domain?.spec.markedForGracefulShutdown, WAIT).toBe(true);
    // A guest without operating system does not hear the power button.
    await pod.client.shutdownVirtualMachine(vmi);
    await expect.poll(() => pod.states.at(-1), WAIT).toBe('MODIFIED Shutoff/Destroyed');
    await pod.client.deleteVirtualMachine(vmi);
    expect(await pod.exited()).toMatchObject({ code: TOLD_TO_END });
  });

  it('comes also with a libvirt that hangs, told and in time', async () => {
    await startGuest('--grace-period-seconds', '1');
    await pod.kill('libvirtd', 'SIGSTOP');
    await pod.kill('tini', 'SIGTERM');
    await expect.poll(() => pod.pidsOf('qemu-system-x86_64'), WAIT).toEqual([]);
    await expect.poll(() => pod.states.at(-1), WAIT).toBe('MODIFIED Crashed');
    expect(await pod.exited()).toMatchObject({ code: 1 });
  });

  it('leaves at once on SIGTERM when no guest was started', async () => {
    await start();
    await pod.kill('tini', 'SIGTERM');
    expect(await pod.exited()).toMatchObject({ code: TOLD_TO_END });
  });

  it('gives up with a sentence when nobody asks for a guest', async () => {
    pod = await LauncherPod.start(['--qemu-timeout', '1s']);
    expect(await pod.exited()).toEqual({
      code: 1,
      lastLine: expect.stringMatching(/^virt-launcher gave up: no guest was started within 1 s/),
    });
  });

  it('refuses a wrong command line with code 2', async () => {
    pod = await LauncherPod.start(['--no-such-flag']);
    expect(await pod.exited()).toEqual({ code: 2, lastLine: expect.stringContaining('--no-such-flag') });
  });
});
