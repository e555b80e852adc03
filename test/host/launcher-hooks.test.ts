// Hook sidecars and Ignition with the launcher for real: libvirt, QEMU without KVM, sidecars that are gRPC servers of their own. The test is the
// node agent, and reads what QEMU was started with.
import { execFileSync, spawn } from 'node:child_process';
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { fakeHookSidecar, type HookAnswers, type SidecarIdentity } from '../fakes/fake-hook-sidecar.js';
import { checkPrerequisites, emptyGuest, LauncherPod } from './launcher-pod.js';

const WAIT = { timeout: 20_000, interval: 50 };
const QEMU_USER = 107;
const vmi = emptyGuest();

let pod: LauncherPod;
const closes: (() => void)[] = [];
beforeAll(checkPrerequisites);
afterEach(async () => {
  for (const close of closes.splice(0)) close();
  await pod.remove();
});

const hooksDir = (): string => join(pod.dir, 'kubevirt-hooks');

async function start(hooks: number, ...flags: string[]): Promise<void> {
  pod = await LauncherPod.start(['--hook-sidecars', String(hooks), ...flags], (dir) => mkdir(join(dir, 'kubevirt-hooks')));
  await expect.poll(() => pod.isReady, WAIT).toBe(true);
  await pod.listen();
}

/** As its container would, under the user that the pod's containers share. */
async function sidecar(index: number, identity: SidecarIdentity, answers: HookAnswers): Promise<() => void> {
  const { socketPath, close } = await fakeHookSidecar(hooksDir(), `hook-sidecar-${index}`, identity, answers);
  await chown(socketPath, QEMU_USER, QEMU_USER);
  await chmod(socketPath, 0o700);
  closes.push(close);
  return close;
}

/** The shim as in its container: in the pod's file system, as its user, with a script in its path. */
async function shim(index: number, script: string): Promise<{ readonly ended: Promise<void> }> {
  const [bin, sockets] = [join(pod.dir, 'hook-bin'), join(hooksDir(), `hook-sidecar-${index}`)];
  for (const each of [bin, sockets]) await mkdir(each);
  await chown(sockets, QEMU_USER, QEMU_USER);
  await writeFile(join(bin, 'onDefineDomain'), script, { mode: 0o755 });
  const file = join(pod.dir, 'sidecar-shim.mjs');
  await build({
    entryPoints: ['src/main/sidecar-shim.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: file,
    logLevel: 'error',
  });
  const [pid] = await pod.pidsOf('tini');
  // Each container sees its own directory at the place of all.
  const enter =
    'mount --bind "$1" /run/kubevirt-hooks && shift && exec setpriv --reuid 107 --regid 107 --clear-groups env -i PATH=/run/hook-bin:/usr/bin:/bin "$@"';
  const inside = ['--mount', '--propagation', 'private', 'sh', '-c', enter, 'sh', `/run/kubevirt-hooks/hook-sidecar-${index}`];
  const command = [
    `--mount=/proc/${pid}/ns/mnt`,
    '--',
    'unshare',
    ...inside,
    process.execPath,
    '/run/sidecar-shim.mjs',
    '--version',
    'v1alpha3',
  ];
  const child = spawn('nsenter', command, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  closes.push(() => child.kill('SIGKILL'));
  return { ended };
}

const inDomain =
  (from: string, to: string): NonNullable<HookAnswers['OnDefineDomain']> =>
  ({ domainXML }) => ({ domainXML: Buffer.from(domainXML.toString().replace(from, to)) });

const BOARD = inDomain('<baseBoard></baseBoard>', '<baseBoard><entry name="manufacturer">Radical Edward</entry></baseBoard>');
const QEMU_ARGS = inDomain(
  '</domain>',
  '<qemu:commandline><qemu:arg value="-fw_cfg"/><qemu:arg value="name=opt/test,string=hooked"/></qemu:commandline></domain>',
);
/** As a script in Python would write it: with prefixes of its own. */
const OTHER_PREFIX = inDomain(
  '</domain>',
  '<ns9:commandline xmlns:ns9="http://libvirt.org/schemas/domain/qemu/1.0"><ns9:arg value="-fw_cfg"/><ns9:arg value="name=opt/test,string=py"/></ns9:commandline></domain>',
);

async function commandLine(): Promise<string> {
  const [pid] = await pod.pidsOf('qemu-system-x86_64');
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
}

const sync = (wanted: VirtualMachineInstance = vmi): Promise<void> => pod.client.syncVirtualMachine(wanted);

async function isoFile(name: string): Promise<string> {
  const iso = join(pod.dir, 'kubevirt-ephemeral-disks/cloud-init-data/default/vm1/noCloud.iso');
  const copy = join(pod.dir, name);
  execFileSync('xorriso', ['-osirrox', 'on', '-indev', iso, '-extract', `/${name}`, copy], { stdio: 'ignore' });
  return readFile(copy, 'utf8');
}

describe('a guest with hooks', () => {
  it.each([
    ['v1alpha1', BOARD, 'manufacturer=Radical Edward'],
    ['v1alpha2', QEMU_ARGS, 'name=opt/test,string=hooked'],
    ['v1alpha3', OTHER_PREFIX, 'name=opt/test,string=py'],
  ])('%s: has the domain that the sidecar made, also after more synchronisations', async (version, OnDefineDomain, expected) => {
    await start(1);
    await sidecar(0, { versions: [version] }, { OnDefineDomain });
    await sync();
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
    expect(await commandLine()).toContain(expected);
    expect(pod.events[0]?.domain?.spec).toMatchObject({
      memoryBytes: 64 * 1024 * 1024,
      disks: [
        { name: 'scratch', target: 'vda' },
        { name: 'init', target: 'vdb' },
      ],
    });
    await sync();
    expect(await commandLine()).toContain(expected);
  });

  it('reads the cloud-init data that one sidecar made of another’s, and tells them its end', async () => {
    const told: string[] = [];
    const say = (what: string) => (): object => {
      told.push(what);
      return {};
    };
    const append =
      (word: string): NonNullable<HookAnswers['PreCloudInitIso']> =>
      ({ cloudInitData }) => {
        const data = JSON.parse(cloudInitData.toString()) as { UserData: string };
        return { cloudInitData: Buffer.from(JSON.stringify({ ...data, UserData: `${data.UserData}# ${word}\n` })) };
      };
    await start(2);
    await sidecar(0, { versions: ['v1alpha2', 'v1alpha3'], name: 'b' }, { PreCloudInitIso: append('second'), Shutdown: say('b ended') });
    await sidecar(1, { versions: ['v1alpha2'], name: 'a', priority: 3 }, { PreCloudInitIso: append('first') });
    await sync();
    expect(await isoFile('user-data')).toBe('#!/bin/sh\n# first\n# second\n');
    await pod.client.killVirtualMachine(vmi);
    await pod.client.deleteVirtualMachine(vmi);
    expect(await pod.exited()).toMatchObject({ code: 0 });
    expect(told).toEqual(['b ended']);
  });

  it('has what a script made of its domain; the shim ends with it', async () => {
    await start(1);
    const { ended } = await shim(
      0,
      `#!/bin/sh
file=$(mktemp); echo $4 > $file
sed -i "s|<baseBoard></baseBoard>|<baseBoard><entry name='manufacturer'>Radical Edward</entry></baseBoard>|" $file
cat $file; rm $file
`,
    );
    await sync();
    expect(await commandLine()).toContain('manufacturer=Radical Edward');
    await pod.client.killVirtualMachine(vmi);
    await pod.client.deleteVirtualMachine(vmi);
    await ended;
    expect(await pod.exited()).toMatchObject({ code: 0 });
  });

  it('starts once its sidecars are there, and says what it waits for', async () => {
    await start(1);
    await mkdir(join(hooksDir(), 'hook-sidecar-0'));
    await expect(sync()).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringContaining('0 of 1 have announced themselves. hook-sidecar-0: it has made no socket'),
    });
    await sidecar(0, { versions: ['v1alpha1'] }, { OnDefineDomain: BOARD });
    await sync();
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
  }, 60_000);
});

describe('a sidecar that fails', () => {
  it.each<[string, HookAnswers, string]>([
    ['by refusing', { OnDefineDomain: () => ({}) }, 'it gave back no domain'],
    ['with garbage', { OnDefineDomain: () => ({ domainXML: Buffer.from([0xff, 0xfe, 0x00]) }) }, 'is no domain XML'],
    ['with half a domain', { OnDefineDomain: inDomain('</domain>', '') }, 'cannot be read'],
    ['by giving the VM another name', { OnDefineDomain: inDomain('default_vm1', 'other') }, 'changed the name of the domain'],
  ])('%s keeps the guest from starting, by name; a mended one lets it', async (_, answers, message) => {
    await start(1);
    const close = await sidecar(0, { versions: ['v1alpha1'], name: 'broken' }, answers);
    await expect(sync()).rejects.toMatchObject({
      code: 'Internal',
      reason: 'HookSidecarFailed',
      message: expect.stringMatching(new RegExp(`^hook sidecar hook-sidecar-0 \\(broken\\) failed at OnDefineDomain: .*${message}`)),
    });
    expect(await pod.client.getDomain()).toBeUndefined();
    close();
    await expect(sync()).rejects.toThrow('hook sidecar hook-sidecar-0 (broken) failed');
    await sidecar(0, { versions: ['v1alpha1'], name: 'mended' }, { OnDefineDomain: BOARD });
    await sync();
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
  });

  it('by libvirt’s judgement', async () => {
    await start(1);
    await sidecar(0, { versions: ['v1alpha2'] }, { OnDefineDomain: inDomain('</devices>', '<disk/></devices>') });
    await expect(sync()).rejects.toMatchObject({ code: 'Libvirt' });
  });

  it('by hanging: other questions are answered meanwhile, and the launcher gives up in time and names it', async () => {
    await start(1, '--qemu-timeout', '4s');
    await sidecar(0, { versions: ['v1alpha3'], name: 'deaf' }, { OnDefineDomain: BOARD, hangs: true });
    const answer = sync().catch((err: unknown) => err);
    await pod.client.ping();
    expect(await pod.exited()).toEqual({
      code: 1,
      lastLine: expect.stringMatching(
        /^virt-launcher gave up: .*The last attempt failed: it had not ended; it waited for hook sidecar hook-sidecar-0 \(deaf\): OnDefineDomain$/,
      ),
    });
    expect(await answer).toMatchObject({ code: expect.stringMatching(/LauncherUnreachable|Internal/) });
  });
});

describe('plugins', () => {
  const plugin = (name: string, ...expressions: string[]): object => ({
    metadata: { name },
    spec: { condition: 'domainSpec.Type != ""', domainHooks: expressions.map((expression) => ({ cel: { expression } })) },
  });
  const syncWith = (...plugins: object[]): Promise<void> =>
    pod.client.syncVirtualMachine(vmi, { pluginsJson: Buffer.from(JSON.stringify(plugins)) });
  const WATCHDOG = 'Domain{Devices: DomainDeviceList{Watchdogs: [DomainWatchdog{Model: "i6300esb", Action: "none"}]}}';

  it('change the domain by CEL, after the sidecars and one after the other', async () => {
    await start(1);
    await sidecar(0, { versions: ['v1alpha2'] }, { OnDefineDomain: BOARD });
    const arguments_ =
      'domainSpec.QEMUCommandline.Args + [DomainQEMUCommandlineArg{Value: "-name"}, DomainQEMUCommandlineArg{Value: "process=hooked"}]';
    await syncWith(plugin('b', `Domain{QEMUCommandline: DomainQEMUCommandline{Args: ${arguments_}}}`), plugin('a', WATCHDOG));
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
    const line = await commandLine();
    for (const part of ['manufacturer=Radical Edward', 'i6300esb', '-name process=hooked']) expect(line).toContain(part);
    await syncWith();
    expect(await commandLine()).toBe(line);
  });

  it('whose domain libvirt refuses are named; a mended one lets the guest start', async () => {
    await start(0);
    await expect(syncWith(plugin('p', WATCHDOG.replace('i6300esb', 'none-such')))).rejects.toMatchObject({
      code: 'Libvirt',
      message: expect.stringMatching(/none-such.*as plugin p, domain hook 0 left it/),
    });
    await expect(syncWith(plugin('p', 'Domain{Name: "other"}'))).rejects.toMatchObject({ reason: 'PluginFailed' });
    await syncWith(plugin('p', WATCHDOG));
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
  });
});

it('shows QEMU the Ignition data of the VMI', async () => {
  const data = JSON.stringify({
    ignition: { version: '3.4.0' },
    storage: { files: [{ path: '/etc/motd', contents: { source: 'data:,ä' } }] },
  });
  await start(0);
  await sync({ ...vmi, metadata: { ...vmi.metadata, annotations: { 'kubevirt.io/ignitiondata': data } } });
  await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
  const [, path = ''] = /name=opt\/com\.coreos\/config,file=(\S+)/.exec(await commandLine()) ?? [];
  expect(path).toBe('/var/run/kubevirt-ephemeral-disks/ignition-data/default/vm1/data.ign');
  expect(await readFile(join(pod.dir, path.replace('/var/run/', '')), 'utf8')).toBe(data);
});
