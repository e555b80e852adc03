// Every kind of volume, read back by a guest; what survives a restart and what does not; and VMIs that cannot have their volume, which say
// so. The Debian guest boots while the others are looked at.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod, VirtualMachineInstance } from '../../../src/api/index.js';
import { loadBrokenImages } from '../broken-images.js';
import { setGates } from '../gates.js';
import { apply, Console, cluster, eventsOf, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { blockClaim, brokenGuests, CONFIG, claim, cloudGuest, everyVolume, fillPod, fromKernel, NODE } from '../volume-objects.js';

const GATES = ['HostDisk', 'EnableVirtioFsStorageVolumes'];
const MIB = 1024 * 1024;
const BOOT_MS = 300_000;
/** On the node, below a folder that is the node's own and goes with it. */
const HOST_DIR = '/var/lib/kubevirt/vol-host';

async function waitPhase(name: string, phase: string): Promise<VirtualMachineInstance> {
  return eventually(
    `VMI ${name} ${phase}`,
    async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', name);
      if (vmi?.status?.phase !== phase) throw new Error(`it is ${vmi?.status?.phase}: ${JSON.stringify(vmi?.status?.conditions)}`);
      return vmi;
    },
    { timeoutMs: BOOT_MS },
  );
}

/** A guest with a whole system may take longer to its prompt than one login waits. */
async function login(console: Console): Promise<void> {
  const deadline = Date.now() + BOOT_MS;
  for (;;) {
    try {
      return await console.login();
    } catch (err) {
      if (Date.now() > deadline) throw err;
    }
  }
}

async function inGuest<T>(name: string, work: (console: Console) => Promise<T>): Promise<T> {
  await waitPhase(name, 'Running');
  const console = await Console.open(name);
  try {
    await login(console);
    return await work(console);
  } finally {
    await console.close();
  }
}

/** One line a disk, as the guest's own tools print it. */
async function show(console: Console, ...names: string[]): Promise<string[]> {
  const lines: string[] = [];
  for (const name of names) lines.push(...(await console.run(`show ${name}`)).split('\n').filter((line) => line.startsWith(`${name}:`)));
  return lines;
}

async function showIso(console: Console, name: string): Promise<string[]> {
  return (await console.run(`show-iso ${name}`)).split('\n').filter((line) => line.startsWith(`${name}:`));
}

async function remove(...names: string[]): Promise<void> {
  await kubectl('delete', 'vmi', ...names, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
}

/** Everything a user would find about a VMI without looking at logs. */
async function wordsOf(name: string): Promise<string> {
  const vmi = await find<VirtualMachineInstance>('vmi', name);
  const conditions = (vmi?.status?.conditions ?? []).map(({ message }) => message ?? '');
  return [...conditions, ...(await eventsOf('VirtualMachineInstance', name))].join('\n');
}

async function restarts(): Promise<number> {
  const pods = await list<Pod>('pods', '-n', NAMESPACE);
  return pods.flatMap((pod) => pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

async function nodeFile(path: string): Promise<string> {
  const node = (await cluster()).nodes.find(({ name }) => name === NODE);
  return join(`/proc/${node?.pid}/root`, path);
}

export function volumes(): void {
  let restoreGates: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    restoreGates = await setGates({ on: GATES });
    await apply(cloudGuest(), ...CONFIG);
    const claims = ['vol-fs', 'vol-filled', 'vol-imported', 'vol-shared'].map((name) => claim(name, '64Mi'));
    const filled = fillPod('vol-fill', {
      'vol-filled': { 'disk.img': 'below the guest' },
      'vol-imported': { 'disk.img': 'imported' },
      'vol-shared': { 'a-file': 'in a directory' },
    });
    await apply(...claims, blockClaim('vol-blk', '32Mi'), filled);
    await kubectl('wait', 'pod/vol-fill', '-n', NAMESPACE, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s');
    await kubectl('delete', 'pod', 'vol-fill', '-n', NAMESPACE);
  });

  afterAll(async () => {
    await kubectl('delete', 'vmi,pvc,pods,configmaps,secrets,serviceaccounts', '-n', NAMESPACE, '-l', 'journey=volumes', '--timeout=120s');
    rmSync(await nodeFile(HOST_DIR), { recursive: true, force: true });
    await restoreGates();
  });

  it('shows a guest every kind of volume as a disk', async () => {
    await apply(everyVolume(HOST_DIR));
    await inGuest('vol-all', async (console) => {
      await console.run('until [ -x /bin/put ]; do sleep 1; done');
      expect(await show(console, 'fs', 'blk', 'dv', 'eph', 'empty', 'host')).toEqual([
        `fs: size=${64 * MIB} text=`,
        `blk: size=${32 * MIB} text=`,
        `dv: size=${MIB} text=imported`,
        `eph: size=${MIB} text=below the guest`,
        `empty: size=${16 * MIB} text=`,
        `host: size=${8 * MIB} text=`,
      ]);
      expect(await showIso(console, 'cm')).toEqual(['cm: label=greetings', 'cm: ./greeting=hello from a config map']);
      expect(await showIso(console, 'sec')).toEqual(['sec: label=cfgdata', 'sec: ./password=s3cret']);
      expect((await showIso(console, 'down')).join()).toContain('journey="volumes"');
      expect((await showIso(console, 'sa')).join()).toMatch(/sa: \.\/namespace=e2e,sa: \.\/token=ey/);
      expect(await showIso(console, 'sysprep')).toEqual(['sysprep: label=unattendCD', 'sysprep: ./Autounattend.xml=<unattend/>']);
    });
  });

  it('shows a guest volumes as directories', () =>
    inGuest('vol-all', async (console) => {
      const files = [];
      for (const [name, file] of [
        ['shared-cm', 'greeting'],
        ['shared-sec', 'password'],
        ['shared-fs', 'a-file'],
      ]) {
        files.push(await console.run(`share ${name} ${file}`));
      }
      expect(files.join('\n')).toMatch(/hello from a config map[\s\S]*s3cret[\s\S]*in a directory/);
      await console.run('echo by-the-guest > /shared-fs/back; sync');
      expect(await console.run('cat /shared-fs/back')).toContain('by-the-guest');
    }));

  it('keeps what the guest wrote to claims and host disks, and forgets the rest', async () => {
    await inGuest('vol-all', async (console) => {
      for (const name of ['fs', 'blk', 'host', 'eph', 'empty']) await console.run(`put ${name} written-to-${name}`);
      expect(await show(console, 'eph')).toEqual([`eph: size=${MIB} text=written-to-eph`]);
    });
    await remove('vol-all');
    expect(readFileSync(await nodeFile(`${HOST_DIR}/host.img`)).toString('utf8', 0, 15)).toBe('written-to-host');
    await apply(everyVolume(HOST_DIR));
    await inGuest('vol-all', async (console) => {
      await console.run('until [ -x /bin/put ]; do sleep 1; done');
      expect(await show(console, 'fs', 'blk', 'host', 'eph', 'empty')).toEqual([
        `fs: size=${64 * MIB} text=written-to-fs`,
        `blk: size=${32 * MIB} text=written-to-blk`,
        `host: size=${8 * MIB} text=written-to-host`,
        `eph: size=${MIB} text=below the guest`,
        `empty: size=${16 * MIB} text=`,
      ]);
    });
    await remove('vol-all');
  });

  it('boots a kernel out of an image, with a ConfigDrive beside it', async () => {
    await apply(fromKernel());
    await inGuest('vol-kernel', async (console) => {
      expect(await console.run('cat /proc/cmdline')).toContain('vol.marker=kernel-boot');
      await console.run('d=$(findfs LABEL=config-2)');
      await console.run('mount -t iso9660 -o ro $d /mnt');
      const at = '/mnt/openstack/latest';
      expect(await console.run(`cat ${at}/user_data`)).toContain('echo hi');
      expect(await console.run(`cat ${at}/network_data.json`)).toContain('{"links":[]}');
      const metadata = await console.run(`cat ${at}/meta_data.json`);
      expect(metadata).toContain('"public_keys":{"0":"ssh-ed25519 AAAA');
      expect(metadata).toContain('"hostname":"vol-kernel"');
    });
    await remove('vol-kernel');
  });

  it('says which volume is broken and how, without restarting anything', async () => {
    const before = await restarts();
    const broken = brokenGuests(await loadBrokenImages(), HOST_DIR);
    await apply(...broken.map(({ vmi }) => vmi));
    for (const { name, message } of broken) {
      await eventually(`VMI ${name} says ${message}`, async () => {
        const words = await wordsOf(name);
        if (!message.test(words)) throw new Error(words);
        return true;
      });
      expect((await find<VirtualMachineInstance>('vmi', name))?.status?.phase).not.toBe('Running');
    }
    expect(await restarts()).toBe(before);
    await remove(...broken.map(({ name }) => name));
  });

  it('gives user data, network data and keys to a real cloud-init', async () => {
    await inGuest('vol-debian', async (console) => {
      await console.run('cloud-init status --wait >/dev/null', BOOT_MS);
      expect(await console.run('hostname')).toContain('from-cloud-init');
      expect(await console.run('cat /etc/written')).toContain('by cloud-init');
      expect(await console.run('cat /run/ran')).toContain('run-command');
      expect(await console.run('ip -c=never -br -4 addr')).toContain('192.0.2.7/24');
      expect(await console.run('cat /home/debian/.ssh/authorized_keys')).toContain('tester@example');
    });
    await eventually('the guest agent is connected', async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', 'vol-debian');
      return vmi?.status?.conditions?.some(({ type, status }) => type === 'AgentConnected' && status === 'True');
    });
    await remove('vol-debian');
  });
}
