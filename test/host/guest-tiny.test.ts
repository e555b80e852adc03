// The tiny guest on real QEMU, without cluster or libvirt: what other tests and users' manifests rely on.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launcherRoot, tinyDisk } from '../../images/main.js';
import { scratchDir } from '../fakes/scratch.js';
import { Guest, type GuestOptions } from '../guests/guest.js';

const IMAGES_MS = 900_000;
const BOOT_MS = 180_000;
/** Of an emulated CPU, to the login prompt. */
const LOGIN_BUDGET_MS = 8_000;

let disk: string;
let dir: string;
let guest: Guest | undefined;

beforeAll(async () => {
  disk = await tinyDisk();
  await launcherRoot();
}, IMAGES_MS);

beforeEach(() => {
  dir = scratchDir();
});

afterEach(async () => {
  await guest?.kill();
  guest = undefined;
});

async function start(options: Partial<GuestOptions>): Promise<Guest> {
  guest = await Guest.start({
    dir,
    ...options,
    args: ['-drive', `if=none,id=root,file=${disk},format=raw,snapshot=on`, ...(options.args ?? [])],
  });
  return guest;
}

/** A NoCloud volume as the launcher makes it. */
function noCloud(files: Readonly<Record<string, string>>): string {
  const content = join(dir, 'cidata');
  mkdirSync(content);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(content, name), text);
  const iso = join(dir, 'cidata.iso');
  execFileSync('xorrisofs', ['-quiet', '-output', iso, '-volid', 'cidata', '-joliet', '-rock', content], { stdio: 'ignore' });
  return iso;
}

async function connect(path: string): Promise<Socket> {
  const socket = createConnection(path);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

/** One request to the guest agent, as bytes. */
async function askAgent(socket: Socket, request: object): Promise<Buffer> {
  socket.write(`\xff${JSON.stringify(request)}\n`);
  return await new Promise<Buffer>((resolve) => {
    let all = Buffer.alloc(0);
    const hear = (chunk: Buffer): void => {
      all = Buffer.concat([all, chunk]);
      if (!all.includes(0x0a)) return;
      socket.off('data', hear);
      resolve(all);
    };
    socket.on('data', hear);
  });
}

const VIRTIO_ROOT = ['-device', 'virtio-blk-pci,drive=root,disable-legacy=on'];
const AGENT_PORT = (path: string): string[] => [
  ...['-device', 'virtio-serial-pci', '-chardev', `socket,id=agent,path=${path},server=on,wait=off`],
  ...['-device', 'virtserialport,chardev=agent,name=org.qemu.guest_agent.0'],
];

/** A guest at its prompt within the budget. What else runs on this machine slows each boot differently, so there are three tries. */
async function quickest(args: readonly string[]): Promise<Guest> {
  const taken: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const tiny = await start({ args });
    expect(await tiny.expect(/\S+ login: $/)).toBe('localhost login: ');
    taken.push(tiny.cpuMs());
    if (tiny.cpuMs() < LOGIN_BUDGET_MS) return tiny;
    await tiny.kill();
  }
  return expect.fail(`the login prompt took ${taken.join(', ')} ms of CPU time; the budget is ${LOGIN_BUDGET_MS} ms`);
}

describe('tiny guest', { timeout: BOOT_MS }, () => {
  it('is at its login prompt in time, has a shell and the tools, and powers off when told by the power button', async () => {
    const args = [...VIRTIO_ROOT, '-device', 'i6300esb', '-device', 'virtio-balloon-pci', '-device', 'virtio-rng-pci'];
    const tiny = await quickest(args);
    tiny.send('root');
    expect(await tiny.expect(/\S+:~# /)).toBe('localhost:~# ');
    expect(
      await tiny.run('for tool in stty dmesg ping nc watchdog poweroff wget nslookup ip; do which $tool >/dev/null || echo $tool; done'),
    ).toBe('');
    expect(await tiny.run('ls /dev/vda1 /dev/watchdog')).toBe('/dev/vda1      /dev/watchdog');
    expect(await tiny.run('lsmod | grep -c -E "^(virtio_balloon|virtio_rng) "')).toBe('2');
    await tiny.monitor('system_powerdown');
    expect(await tiny.ended()).toBe(0);
  });

  it.each([
    ['virtio', ['-device', 'virtio-blk-pci,drive=root'], 'virtio-blk-pci,drive=cloud', ['from-cloud']],
    // The driver of a SATA controller comes after the first prompt.
    ['SATA', ['-device', 'ide-hd,drive=root,bus=ide.0'], 'ide-cd,drive=cloud,bus=ide.1', ['from-dhcp', 'from-cloud']],
  ])(
    'takes its name from NoCloud (%s) before DHCP, runs user-data that is a script, and answers HTTP',
    async (...[, root, cloud, names]) => {
      const iso = noCloud({
        'meta-data': '{"instance-id":"i-1","local-hostname":"from-cloud"}',
        'user-data': '#!/bin/bash\necho "user data on $(hostname)"\n',
      });
      const port = 20_000 + (process.pid % 10_000);
      const tiny = await start({
        cpu: 'qemu64',
        args: [
          ...root,
          ...['-drive', `if=none,id=cloud,file=${iso},format=raw,readonly=on`, '-device', cloud],
          ...['-netdev', `user,id=net,hostname=from-dhcp,hostfwd=tcp:127.0.0.1:${port}-:80`],
          ...['-device', 'virtio-net-pci,netdev=net,disable-legacy=off,disable-modern=off'],
        ],
      });
      for (const name of names) expect(await tiny.expect(/\S+ login: /)).toBe(`${name} login: `);
      tiny.send('');
      await tiny.login();
      expect(await tiny.run('cat /var/log/user-data.log')).toBe('user data on from-cloud');
      expect(await tiny.run('ip -4 -o addr show dev eth0 | grep -o "inet [0-9.]*"')).toBe('inet 10.0.2.15');
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('from-cloud\n');
      tiny.send('poweroff');
      expect(await tiny.ended()).toBe(0);
    },
  );

  it('takes its name from DHCP and answers as a guest agent', async () => {
    const socket = join(dir, 'agent');
    const tiny = await start({
      args: [...VIRTIO_ROOT, ...AGENT_PORT(socket), '-nic', 'user,model=virtio-net-pci,hostname=from-dhcp,ipv6=off'],
    });
    expect(await tiny.expect(/\S+ login: $/)).toBe('from-dhcp login: ');
    const agent = await connect(socket);
    const synced = await askAgent(agent, { execute: 'guest-sync-delimited', arguments: { id: 4711 } });
    expect(synced[0]).toBe(0xff);
    expect(JSON.parse(synced.subarray(1).toString())).toEqual({ return: 4711 });
    const ask = async (execute: string): Promise<unknown> => JSON.parse((await askAgent(agent, { execute })).toString());
    expect(await ask('guest-ping')).toEqual({ return: {} });
    expect(await ask('guest-get-host-name')).toEqual({ return: { 'host-name': 'from-dhcp' } });
    expect(await ask('guest-network-get-interfaces')).toMatchObject({
      return: [
        { name: 'lo' },
        { name: 'eth0', 'ip-addresses': [{ 'ip-address-type': 'ipv4', 'ip-address': '10.0.2.15', prefix: 24 }, {}] },
      ],
    });
    expect(await ask('no-such-command')).toMatchObject({ error: { class: 'CommandNotFound' } });
    agent.destroy();
  });
});
