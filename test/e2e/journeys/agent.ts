// A real guest agent in a real Debian: what it tells of the guest, what is put into the guest through it, what happens when it hangs; freezing, the
// clock after a pause, more processors and memory, a dump of the memory, the shutdown. One guest for all of it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeObject, VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { debianVm, keysSecret, passwordSecret } from '../guest-objects.js';
import { apply, Console, cluster, eventsOf, eventually, find, kubectl, NAMESPACE } from '../harness.js';
import { askVmi, conditionOf, launcherOf, putVerb, waitCondition } from '../verbs.js';
import { virt, waitForStatus } from '../vm-waits.js';
import { claim, NODE } from '../volume-objects.js';

const NAME = 'agent';
const SECRETS = { keys: 'agent-keys', passwords: 'agent-passwords' };
const DUMP = 'agent-dump';
const FIRST_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq0 first@example';
const SECOND_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq1 second@example';
const BOOT = { timeoutMs: 300_000 };

const vmiNow = (): Promise<VirtualMachineInstance | undefined> => find<VirtualMachineInstance>('vmi', NAME);
const refused = (answer: Promise<string>): Promise<string> =>
  answer.then(
    (text) => Promise.reject(new Error(`accepted: ${text}`)),
    (err: Error) => err.message,
  );

async function login(): Promise<Console> {
  const console = await Console.open(NAME);
  await console.login();
  // Lines of results stay whole.
  await console.run('stty cols 400');
  await console.run('bind "set enable-bracketed-paste off"');
  return console;
}

export function agent(): void {
  let console: Console;
  const inGuest = (command: string, timeoutMs?: number): Promise<string> => console.run(command, timeoutMs);

  beforeAll(async () => {
    await apply(keysSecret(SECRETS.keys, FIRST_KEY), passwordSecret(SECRETS.passwords, 'first-password'), debianVm(NAME, SECRETS));
    await waitCondition(NAME, 'AgentConnected', true, BOOT);
    console = await login();
  });

  afterAll(async () => {
    await console?.close();
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--ignore-not-found', '--timeout=120s');
    await kubectl('delete', 'secret', ...Object.values(SECRETS), '-n', NAMESPACE, '--ignore-not-found');
    await kubectl('delete', 'pvc', DUMP, '-n', NAMESPACE, '--ignore-not-found', '--timeout=60s');
  });

  told(inGuest);
  credentials(inGuest, async () => {
    await console.close();
    console = await login();
  });
  freezing(inGuest);
  sizes(inGuest);
  dumping();
  trouble(inGuest);
  end();
}

type InGuest = (command: string, timeoutMs?: number) => Promise<string>;

/** A record of a log-in, as programs of older systems write it: those of this Debian tell systemd only, which the agent does not ask. */
const LOG_IN = [
  'import struct,time',
  'record = struct.pack("hi32s4s32s256shhiii4i20x",7,1,b"ttyS0",b"S0",b"root",b"",0,0,0,int(time.time()),0,0,0,0,0)',
  'open("/run/utmp","ab").write(record)',
].join(';');

function told(inGuest: InGuest): void {
  it('tells what the guest is and who uses it', async () => {
    const vmi = await eventually('the guest’s facts in the status', async () => {
      const found = await vmiNow();
      return found?.status?.guestOSInfo?.id ? found : undefined;
    });
    expect(vmi.status?.guestOSInfo).toMatchObject({ id: 'debian', versionId: '13', machine: 'x86_64' });
    const [nic] = vmi.status?.interfaces ?? [];
    expect(nic).toMatchObject({ infoSource: 'domain, guest-agent', interfaceName: expect.stringMatching(/^en/), linkState: 'up' });
    expect(await askVmi(NAME, 'guestosinfo')).toMatchObject({
      guestAgentVersion: expect.stringMatching(/^10\./),
      hostname: NAME,
      timezone: expect.stringMatching(/^UTC, 0$/),
      os: { id: 'debian' },
      fsInfo: { disks: [expect.objectContaining({ mountPoint: '/', fileSystemType: 'ext4' })] },
    });
    const disks = await askVmi<{ items: { mountPoint: string; totalBytes: number }[] }>(NAME, 'filesystemlist');
    expect(disks.items.find(({ mountPoint }) => mountPoint === '/')?.totalBytes).toBeGreaterThan(500 * 1024 * 1024);
    await inGuest(`python3 -c '${LOG_IN}'`);
    await eventually('root is logged in', async () => {
      const { items } = await askVmi<{ items: { userName: string }[] }>(NAME, 'userlist');
      return items.some(({ userName }) => userName === 'root');
    });
  });

  it('makes the guest ready by its probes', () => waitCondition(NAME, 'Ready', true, { timeoutMs: 60_000 }));
}

/** The kubelet brings a changed secret with its next look at the pod: within a minute, or when the pod changes. */
async function hurryKubelet(): Promise<void> {
  const { metadata } = await launcherOf(NAME);
  await kubectl('annotate', 'pod', metadata.name ?? '', '-n', NAMESPACE, '--overwrite', `example/looked-at=${Date.now()}`);
}

function credentials(inGuest: InGuest, again: () => Promise<void>): void {
  it('puts keys and passwords into the guest', async () => {
    await waitCondition(NAME, 'AccessCredentialsSynchronized', true);
    expect(await inGuest('cat /home/debian/.ssh/authorized_keys')).toContain(FIRST_KEY);
    expect(await inGuest('stat -c %U:%a /home/debian/.ssh/authorized_keys')).toContain('debian:600');
    const console = await Console.open(NAME);
    console.send('exit');
    await console.expect(/login: /);
    console.send('debian');
    await console.expect(/Password: /);
    console.send('first-password');
    await console.expect(/debian@.*\$ /);
    console.send('exit');
    await console.expect(/login: /);
    await console.close();
    await again();
  });

  it('changes them with their secret', async () => {
    const takes = async (password: string): Promise<boolean> =>
      (await inGuest(`echo ${password} | runuser -u nobody -- su debian -c id`)).includes('(debian)');
    expect(await takes('first-password')).toBe(true);
    await apply(keysSecret(SECRETS.keys, SECOND_KEY), passwordSecret(SECRETS.passwords, 'second-password'));
    await hurryKubelet();
    await eventually('the new key is there', async () => (await inGuest('cat /home/debian/.ssh/authorized_keys')).includes(SECOND_KEY));
    expect(await inGuest('cat /home/debian/.ssh/authorized_keys')).not.toContain(FIRST_KEY);
    await eventually('the new password is taken', () => takes('second-password'));
    expect(await takes('first-password')).toBe(false);
  });
}

function freezing(inGuest: InGuest): void {
  it('freezes the guest’s file systems, and thaws them when nobody else does', async () => {
    await inGuest('touch /root/frozen');
    await putVerb('virtualmachineinstances', NAME, 'freeze', { unfreezeTimeout: '12s' });
    const begin = Date.now();
    await eventually('the status says frozen', async () => (await vmiNow())?.status?.fsFreezeStatus === 'frozen');
    // The guest waits here, not we: the command ends when the file system is thawed.
    expect(await inGuest('echo written > /root/frozen && sync')).toContain('rc=0.');
    expect(Date.now() - begin).toBeGreaterThan(9_000);
    await eventually('the status says no more', async () => (await vmiNow())?.status?.fsFreezeStatus === undefined);
  });

  it('thaws on request', async () => {
    await putVerb('virtualmachineinstances', NAME, 'freeze', { unfreezeTimeout: '5m' });
    await putVerb('virtualmachineinstances', NAME, 'unfreeze');
    expect(await inGuest('echo again > /root/frozen && sync', 20_000)).toContain('rc=0.');
  });

  it('sets the guest’s clock after a pause', async () => {
    await virt('pause', 'vmi', NAME);
    await waitCondition(NAME, 'Paused', 'PausedByUser');
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    await virt('unpause', 'vmi', NAME);
    await waitCondition(NAME, 'Paused', undefined);
    await eventually('the guest’s clock is right', async () => {
      const seconds = Number(/^(\d{10})/m.exec(await inGuest('date +%s'))?.[1]);
      return Math.abs(Date.now() / 1000 - seconds) < 4;
    });
  });
}

async function patchDomain(domain: object): Promise<void> {
  const patch = { spec: { template: { spec: { domain } } } };
  await kubectl('patch', 'vm', NAME, '-n', NAMESPACE, '--type', 'merge', '-p', JSON.stringify(patch));
}

function sizes(inGuest: InGuest): void {
  const kilobytes = async (): Promise<number> => Number(/MemTotal: +(\d+)/.exec(await inGuest('head -1 /proc/meminfo'))?.[1]);
  /** The firmware's word on each processor: this kernel takes none of them in emulation (docs/launcher.md). */
  const processors = async (): Promise<number> =>
    (await inGuest('cat /sys/bus/acpi/devices/LNXCPU*/status')).split('\n').filter((line) => line.trim() === '15').length;

  it('gives the guest a processor and memory, which it sees', async () => {
    const [before, had] = [await kilobytes(), await processors()];
    await patchDomain({ cpu: { sockets: 2 }, memory: { guest: '1280Mi' } });
    await eventually('the guest uses the memory', async () => (await kilobytes()) > before + 128 * 1024);
    await eventually('the guest is told of the processor', async () => (await processors()) === had + 1);
    await eventually('the status says both', async () => {
      const { status } = (await vmiNow()) ?? {};
      return status?.currentCPUTopology?.sockets === 2 && status.memory?.guestCurrent === '1280Mi';
    });
  });
}

interface Volume extends KubeObject {
  readonly spec: { readonly hostPath?: { readonly path: string }; readonly local?: { readonly path: string } };
}

/** First bytes of a file on a claim, read on its node. */
async function startOf(claimName: string, file: string): Promise<string> {
  const pvc = await find<KubeObject & { spec: { volumeName: string } }>('pvc', claimName);
  const volume = await find<Volume>('pv', pvc?.spec.volumeName ?? '');
  const node = (await cluster()).nodes.find(({ name }) => name === NODE);
  const path = volume?.spec.hostPath?.path ?? volume?.spec.local?.path ?? '';
  return readFileSync(join(`/proc/${node?.pid}/root`, path, file)).toString('latin1', 0, 4);
}

function dumping(): void {
  it('dumps the guest’s memory into a claim', async () => {
    await apply(claim(DUMP, '1536Mi'));
    await putVerb('virtualmachines', NAME, 'memorydump', { claimName: DUMP });
    const request = await eventually('the dump is complete', async () => {
      const found = (await find<VirtualMachine>('vm', NAME))?.status?.memoryDumpRequest;
      if (found?.phase !== 'Completed') throw new Error(JSON.stringify(found));
      return found;
    });
    expect(request).toMatchObject({ claimName: DUMP, startTimestamp: expect.any(String), endTimestamp: expect.any(String) });
    expect(request.fileName).toMatch(new RegExp(`^${NAME}-${DUMP}-\\d{8}-\\d{6}\\.memory\\.dump$`));
    expect(await startOf(DUMP, request.fileName ?? '')).toBe('\x7fELF');
    expect((await find<KubeObject>('pvc', DUMP))?.metadata.annotations?.['kubevirt.io/memory-dump']).toBe(request.fileName);
    await putVerb('virtualmachines', NAME, 'removememorydump');
    await eventually('the VM forgets it', async () => (await find<VirtualMachine>('vm', NAME))?.status?.memoryDumpRequest === undefined);
  });
}

function trouble(inGuest: InGuest): void {
  it('hangs nothing when the agent hangs, and says that the guest is not ready', async () => {
    await inGuest('kill -STOP $(pidof qemu-ga)');
    await waitCondition(NAME, 'Ready', undefined, { timeoutMs: 60_000 });
    const begin = Date.now();
    const refusal = refused(putVerb('virtualmachineinstances', NAME, 'freeze', { unfreezeTimeout: '5s' }));
    // What does not need the agent works as ever meanwhile.
    await virt('pause', 'vmi', NAME);
    await waitCondition(NAME, 'Paused', 'PausedByUser', { timeoutMs: 20_000 });
    await virt('unpause', 'vmi', NAME);
    await waitCondition(NAME, 'Paused', undefined, { timeoutMs: 20_000 });
    expect(await refusal).toMatch(/agent/);
    expect(Date.now() - begin).toBeLessThan(60_000);
    await inGuest('kill -CONT $(pidof qemu-ga)');
    await waitCondition(NAME, 'Ready', true, { timeoutMs: 60_000 });
  });

  it('notices an agent that goes, and one that cannot do what is needed', async () => {
    await inGuest('systemctl stop qemu-guest-agent');
    await waitCondition(NAME, 'AgentConnected', undefined, { timeoutMs: 30_000 });
    await inGuest('mkdir -p /run/systemd/system/qemu-guest-agent.service.d');
    await inGuest(
      'printf "[Service]\\nExecStart=\\nExecStart=/usr/sbin/qemu-ga -b guest-get-users\\n" > /run/systemd/system/qemu-guest-agent.service.d/x.conf',
    );
    await inGuest('systemctl daemon-reload; systemctl start qemu-guest-agent');
    await waitCondition(NAME, 'AgentConnected', true, { timeoutMs: 60_000 });
    await waitCondition(NAME, 'AgentVersionNotSupported', "This guest agent doesn't support required basic commands");
    expect((await eventsOf('VirtualMachineInstance', NAME)).join('\n')).toContain('AgentVersionNotSupported: This guest agent');
    await inGuest('rm -r /run/systemd/system/qemu-guest-agent.service.d; systemctl daemon-reload; systemctl restart qemu-guest-agent');
    await eventually('it is supported again', async () => (await conditionOf(NAME, 'AgentVersionNotSupported')) === undefined);
  });
}

function end(): void {
  it('shuts the guest down through its agent', async () => {
    await virt('stop', NAME);
    await waitForStatus(NAME, 'Stopped', { timeoutMs: 120_000 });
    expect((await eventsOf('VirtualMachineInstance', NAME)).join('\n')).toContain('Stopped: The VirtualMachineInstance was shut down.');
  });
}
