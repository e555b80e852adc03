// Every kind of volume, read back by a guest; what survives a restart and what does not; and VMIs that cannot have their volume, which say
// so. The Debian guest boots while the others are looked at.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CoreEvent, Pod, VirtualMachineInstance } from '../../../src/api/index.js';
import { type BrokenGuest, brokenGuests, WRONG_CONTENT } from '../broken-guests.js';
import { loadBrokenImages } from '../broken-images.js';
import { setGates } from '../gates.js';
import { BOOT_MS, expectConfigDrive, inGuest, wordsOf } from '../guest-session.js';
import { apply, type Console, cluster, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import {
  base64,
  blockClaim,
  bootPod,
  CONFIG,
  claim,
  cloudGuest,
  everyVolume,
  everyVolumeAgain,
  fillPod,
  fromKernel,
  fromPlug,
  guest,
  NETWORK_JSON,
  NODE,
  root,
  shellPod,
} from '../volume-objects.js';
import { applyUnfilled, dataVolumes, removeDataVolumes, withoutCdi } from './data-volumes.js';

const GATES = ['HostDisk', 'EnableVirtioFsStorageVolumes', 'DownwardMetrics'];
const OTHER_NODE = 'node1';
const MIB = 1024 * 1024;
/** A smaller image grows to its claim of 64Mi, without what a filesystem takes for itself. */
const GROWN = 60 * MIB;
/** Its claim is another guest's at the moment. */
const LOCKED = 'vol-bad-lock';

/** On the node, below a folder that is the node's own and goes with it. */
const HOST_DIR = '/var/lib/kubevirt/vol-host';

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

/** Nobody waits for its end. */
async function leave(...names: string[]): Promise<void> {
  await kubectl('delete', 'vmi', ...names, '-n', NAMESPACE, '--ignore-not-found', '--wait=false');
}

interface SeenVmi {
  readonly phase: string | undefined;
  readonly words: string;
}

/** Phase and words of every guest of this journey, in two looks. */
async function lookAtAll(): Promise<ReadonlyMap<string, SeenVmi>> {
  const [vmis, events] = await Promise.all([
    list<VirtualMachineInstance>('vmi', '-n', NAMESPACE, '-l', 'journey=volumes'),
    list<CoreEvent>('events', '-n', NAMESPACE, '--field-selector', 'involvedObject.kind=VirtualMachineInstance'),
  ]);
  return new Map(
    vmis.map(({ metadata: { name = '' }, status }) => {
      const told = events
        .filter(({ involvedObject }) => involvedObject?.name === name)
        .map(({ reason, message }) => `${reason}: ${message}`);
      const words = [...(status?.conditions ?? []).map(({ message }) => message ?? ''), ...told].join('\n');
      return [name, { phase: status?.phase, words }];
    }),
  );
}

/** Each says its word, is mended at once (the longer it waits, the later it is tried again), runs and goes, while others are looked at. */
async function sweep(guests: readonly BrokenGuest[]): Promise<void> {
  const silent = new Map(guests.map((each) => [each.name, each]));
  const mended = new Set<string>();
  const step = async (): Promise<true> => {
    const seen = await lookAtAll();
    const runs = (name: string): boolean => seen.get(name)?.phase === 'Running';
    const told = [...silent.values()].filter(({ name, message }) => message.test(seen.get(name)?.words ?? '') && !runs(name));
    const ran = [...mended].filter(runs);
    const mends = told.flatMap(({ mend }) => mend ?? []);
    if (mends.length > 0) await apply(...mends);
    const done = [...ran, ...told.filter(({ mend }) => mend === undefined).map(({ name }) => name)];
    if (done.length > 0) await leave(...done);
    for (const { name, mend } of told) {
      silent.delete(name);
      if (mend) mended.add(name);
    }
    for (const name of ran) mended.delete(name);
    const waiting = [...silent.keys(), ...mended];
    if (waiting.length > 0) throw new Error(waiting.map((name) => `${name}: ${seen.get(name)?.phase} ${seen.get(name)?.words}`).join('\n'));
    return true;
  };
  await eventually('each says what is wrong, and runs once it is mended', step, { timeoutMs: BOOT_MS, everyMs: 1_000 });
}

async function restarts(): Promise<number> {
  const pods = await list<Pod>('pods', '-n', NAMESPACE);
  return pods.flatMap((pod) => pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

async function nodeFile(path: string): Promise<string> {
  const node = (await cluster()).nodes.find(({ name }) => name === NODE);
  return join(`/proc/${node?.pid}/root`, path);
}

/** Claims, and a pod on their node that fills them. */
async function makeClaims(): Promise<void> {
  const claims = ['vol-fs', 'vol-filled', 'vol-imported', 'vol-shared', ...Object.keys(WRONG_CONTENT)];
  const filled = fillPod('vol-fill', {
    'vol-filled': { 'disk.img': 'below the guest' },
    'vol-imported': { 'disk.img': 'imported' },
    'vol-shared': { 'a-file': 'in a directory' },
  });
  const wrong = shellPod('vol-wrong', Object.keys(WRONG_CONTENT), Object.values(WRONG_CONTENT));
  const elsewhere = shellPod('vol-away', ['vol-elsewhere'], ['true'], { node: OTHER_NODE });
  await apply(
    ...claims.map((name) => claim(name, '64Mi')),
    ...[claim('vol-elsewhere', '8Mi'), claim('vol-huge', '900Ti'), claim('vol-boot', '256Mi')],
    ...[blockClaim('vol-blk', '32Mi'), blockClaim('vol-blk-bad', '8Mi'), filled, wrong, elsewhere, bootPod('vol-copy', 'vol-boot')],
  );
  await Promise.all(['vol-fill', 'vol-wrong', 'vol-away', 'vol-copy'].map(ended));
}

async function ended(pod: string): Promise<void> {
  await kubectl('wait', `pod/${pod}`, '-n', NAMESPACE, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s');
  await kubectl('delete', 'pod', pod, '-n', NAMESPACE, '--wait=false');
}

async function toolsIn(console: Console): Promise<void> {
  await console.run('until [ -x /bin/share ]; do sleep 1; done');
}

async function shares(console: Console, files: Readonly<Record<string, string>>): Promise<string> {
  const all: string[] = [];
  for (const [name, file] of Object.entries(files)) all.push(await console.run(`share ${name} ${file}`));
  return all.join('\n');
}

export function volumes(): void {
  let restoreGates: () => Promise<void> = async () => undefined;
  let broken: readonly BrokenGuest[] = [];
  let before = 0;
  let swept: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    restoreGates = await setGates({ on: GATES });
    await apply(cloudGuest(), ...CONFIG);
    await applyUnfilled();
    await makeClaims();
    before = await restarts();
    broken = brokenGuests(await loadBrokenImages(), { hostDir: HOST_DIR, claim });
    await apply(everyVolume(HOST_DIR));
  });

  afterAll(async () => {
    await removeDataVolumes();
    const all = 'vmi,pods,pvc,configmaps,secrets,serviceaccounts';
    await kubectl('delete', all, '-n', NAMESPACE, '-l', 'journey=volumes', '--timeout=180s');
    rmSync(await nodeFile(HOST_DIR), { recursive: true, force: true });
    await restoreGates();
  });

  withoutCdi();

  it('shows a guest every kind of volume as a disk', () =>
    inGuest('vol-all', async (console) => {
      await toolsIn(console);
      expect(await show(console, 'fs', 'blk', 'dv', 'eph', 'empty', 'host', 'qcow')).toEqual([
        `fs: size=${64 * MIB} text=`,
        `blk: size=${32 * MIB} text=`,
        `dv: size=${GROWN} text=imported`,
        `eph: size=${MIB} text=below the guest`,
        `empty: size=${16 * MIB} text=`,
        `host: size=${8 * MIB} text=`,
        expect.stringContaining(`qcow: size=${GROWN} text=QFI`),
      ]);
      expect(await wordsOf('vol-all')).toContain('disk.img on PersistentVolumeClaim vol-qcow of volume qcow is a qcow2 image');
      expect(await showIso(console, 'cm')).toEqual(['cm: label=greetings', 'cm: ./greeting=hello from a config map']);
      expect(await showIso(console, 'sec')).toEqual(['sec: label=cfgdata', 'sec: ./password=s3cret']);
      expect((await showIso(console, 'down')).join()).toContain('journey="volumes"');
      expect((await showIso(console, 'sa')).join()).toMatch(/sa: \.\/namespace=e2e,sa: \.\/token=ey/);
      expect(await showIso(console, 'sysprep')).toEqual(['sysprep: label=unattendCD', 'sysprep: ./Autounattend.xml=<unattend/>']);
      expect(await showIso(console, 'seed')).toContain('seed: ./network-config=version: 2');
    }));

  it('shows a guest volumes as directories, and keeps what it writes', async () => {
    await inGuest('vol-all', async (console) => {
      const files = await shares(console, { 'shared-cm': 'greeting', 'shared-sec': 'password', 'shared-fs': 'a-file' });
      expect(files).toMatch(/hello from a config map[\s\S]*s3cret[\s\S]*in a directory/);
      await console.run('echo by-the-guest > /shared-fs/back; sync');
      expect(await console.run('cat /shared-fs/back')).toContain('by-the-guest');
      for (const name of ['fs', 'blk', 'host', 'eph', 'empty']) await console.run(`put ${name} written-to-${name}`);
      expect(await show(console, 'eph')).toEqual([`eph: size=${MIB} text=written-to-eph`]);
    });
    await remove('vol-all');
    expect(readFileSync(await nodeFile(`${HOST_DIR}/host.img`)).toString('utf8', 0, 15)).toBe('written-to-host');
    await apply(everyVolumeAgain(HOST_DIR), fromPlug(), ...broken.map(({ vmi }) => vmi));
    swept = sweep(broken);
    // Reported by the test that waits for it.
    swept.catch(() => undefined);
  });

  it('finds what was written to claims and host disks, and nothing of the rest; and the other forms of the rest', () =>
    inGuest('vol-again', async (console) => {
      await toolsIn(console);
      expect(await show(console, 'fs', 'blk', 'host', 'eph', 'empty', 'ro')).toEqual([
        `fs: size=${64 * MIB} text=written-to-fs`,
        `blk: size=${32 * MIB} text=written-to-blk`,
        `host: size=${8 * MIB} text=written-to-host`,
        `eph: size=${MIB} text=below the guest`,
        `empty: size=${16 * MIB} text=`,
        `ro: size=${GROWN} text=imported`,
      ]);
      expect(await wordsOf('vol-again')).toMatch(
        /ImageLargerThanClaim: disk\.img on PersistentVolumeClaim vol-sparse of volume sparse is 100663296 B/,
      );
      expect(await console.run('blockdev --getro $(device ro)')).toMatch(/\n1\n|^1\n/);
      expect(await showIso(console, 'none')).toEqual(['none: label=cfgdata']);
      expect(await showIso(console, 'sysprep')).toEqual(['sysprep: label=unattendCD', 'sysprep: ./unattend.xml=<from-a-secret/>']);
      expect(await showIso(console, 'seed')).toContain('seed: ./network-config=version: 2');
      expect(await console.run('grep -ac "<metric " $(device metrics)')).toMatch(/[1-9]\d*\r?\n/);
      expect(await shares(console, { 'shared-down': 'labels', 'shared-sa': 'namespace' })).toMatch(/journey="volumes"[\s\S]*e2e/);
    }));

  it('says which volume another guest has, and starts when that one lets go of it', async () => {
    await apply(guest(LOCKED, [root, { name: 'bad', source: { persistentVolumeClaim: { claimName: 'vol-fs' } } }]));
    await eventually('the lock is told', async () => {
      const { phase, words = '' } = (await lookAtAll()).get(LOCKED) ?? {};
      if (!/the disk of volume bad is in use by another guest/.test(words)) throw new Error(words);
      return phase !== 'Running';
    });
    await remove('vol-again');
    const config = { userDataBase64: base64('#!/bin/sh\necho hi\n'), networkData: NETWORK_JSON };
    await apply(
      fromKernel('vol-kernel', config, [{ name: 'eph', source: { ephemeral: { persistentVolumeClaim: { claimName: 'vol-blk' } } } }]),
    );
    await eventually('it runs', async () => (await lookAtAll()).get(LOCKED)?.phase === 'Running');
    await leave(LOCKED);
  });

  it('says which volume is broken and how, and starts what is mended, without restarting anything', async () => {
    await swept;
    expect(await restarts()).toBe(before);
  });

  it('boots a kernel out of an image, with a ConfigDrive and a device as it was beside it', async () => {
    await inGuest('vol-kernel', async (console) => {
      await expectConfigDrive(console, 'vol-kernel');
      await console.run('echo changed | dd of=/dev/vdb conv=notrunc');
      expect(await console.run('head -c 7 /dev/vdb')).toContain('changed');
    });
    await leave('vol-kernel');
  });

  it('boots from a disk that comes by an attachment pod', async () => {
    await inGuest('vol-plug', async (console) => expect(await console.run('uname -s')).toContain('Linux'));
    await leave('vol-plug');
  });

  dataVolumes();

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
  });
}
