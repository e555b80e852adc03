// Two launchers on this machine between which guests move, with the node agents' proxies between them: what the migration tests start from. The
// guest is the tiny one, on a container disk, with a cloud-init volume and a scratch disk.
import { execFileSync } from 'node:child_process';
import { chown, copyFile, mkdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tinyDisk } from '../../images/main.js';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { migrationOptions, type WireMigrationOptions } from '../../src/core/migration/options.js';
import type { PeerTls } from '../../src/node/migration/peer-tls.js';
import { channelsOf } from '../../src/node/migration/plan.js';
import { MigrationProxies, type PodEnd } from '../../src/node/migration/proxies.js';
import { testCa } from '../fakes/certificates.js';
import { emptyGuest, LauncherPod } from './launcher-pod.js';
import { hostCtx } from './namespaces.js';

const QEMU_USER = 107;
const WAIT_MS = 40_000;
const POLL_MS = 20;

/** A pod with the guest's image, as the node agent would mount it. */
export async function startPod(): Promise<LauncherPod> {
  const image = await tinyDisk();
  const pod = await LauncherPod.start([], async (dir) => {
    const disk = join(dir, 'kubevirt/container-disks/disk_0.img');
    await copyFile(image, disk);
    await chown(disk, QEMU_USER, QEMU_USER);
    await mkdir(join(dir, 'kubevirt/hotplug-disks'));
  });
  const deadline = Date.now() + WAIT_MS;
  while (!pod.isReady && Date.now() < deadline) await sleep(POLL_MS);
  await pod.listen();
  return pod;
}

export function movingGuest(): VirtualMachineInstance {
  const guest = emptyGuest();
  guest.spec.domain.memory = { guest: '128Mi' };
  guest.spec.domain.devices.disks = ['root', 'init', 'scratch'].map((name) => ({ name, disk: { bus: 'virtio' } }));
  guest.spec.volumes = [
    { name: 'root', containerDisk: { image: 'tiny' } },
    { name: 'init', cloudInitNoCloud: { userData: '#!/bin/sh\necho cloud-init was here\n' } },
    { name: 'scratch', emptyDisk: { capacity: '32Mi' } },
  ];
  return guest;
}

/** The VMI as its controllers make it for a migration. */
export const migrating = (vmi: VirtualMachineInstance, migrationUid: string): VirtualMachineInstance => ({
  ...vmi,
  status: { ...vmi.status, migrationState: { migrationUid } },
});

/** One connection: with several, emulated guests of older QEMUs hang now and then once they have arrived. */
export const options = (vmi: VirtualMachineInstance, patch: Partial<WireMigrationOptions> = {}): WireMigrationOptions => ({
  ...migrationOptions(vmi, {}),
  ParallelMigrationThreads: 0,
  ...patch,
});

/** Both node agents. */
export class Way {
  readonly #from: MigrationProxies;
  readonly #to: MigrationProxies;

  constructor() {
    const ca = testCa();
    const tls: PeerTls = { ...ca.issue('kubevirt.io:system:client:migration'), ca: () => ca.pem, kinds: ['migration'] };
    const agent = (): MigrationProxies => new MigrationProxies(hostCtx(), { tls: () => tls, listen: '127.0.0.1' });
    [this.#from, this.#to] = [agent(), agent()];
  }

  async open(vmi: VirtualMachineInstance, source: LauncherPod, target: LauncherPod): Promise<void> {
    const uid = vmi.metadata.uid ?? '';
    const ports = await this.#to.openTarget(uid, await endOf(target), channelsOf(vmi));
    await this.#from.openSource(uid, await endOf(source), { address: '127.0.0.1', ports });
  }

  async close(): Promise<void> {
    await Promise.all([this.#from.close(), this.#to.close()]);
  }
}

async function endOf(pod: LauncherPod): Promise<PodEnd> {
  const [pid] = await pod.pidsOf('tini');
  return { root: `/proc/${pid}/root`, uid: QEMU_USER };
}

/** The guest's serial console in one pod. */
export class Console {
  readonly #socket: Socket;
  #text = '';

  constructor(pod: LauncherPod) {
    this.#socket = connect(join(pod.dir, 'kubevirt-private/uid-1/virt-serial0'));
    this.#socket.on('error', () => undefined);
    this.#socket.setEncoding('utf8').on('data', (chunk: string) => (this.#text += chunk));
  }

  async expect(pattern: RegExp): Promise<string> {
    const deadline = Date.now() + WAIT_MS;
    for (;;) {
      const match = pattern.exec(this.#text);
      if (match) {
        this.#text = this.#text.slice(match.index + match[0].length);
        return match[0];
      }
      if (Date.now() > deadline) throw new Error(`${pattern} not seen; the console: ${JSON.stringify(this.#text.slice(-600))}`);
      await sleep(POLL_MS);
    }
  }

  async login(): Promise<void> {
    await this.expect(/login: $/);
    this.#socket.write('root\n');
    await this.expect(/:~# /);
  }

  /** What a command printed. Its echo, which the terminal may break, is not taken for the marks. */
  async run(command: string): Promise<string> {
    this.#socket.write(`echo "st"art; ${command}; echo "e"nd-$?\n`);
    const text = await this.expect(/\nstart\r*\n[\s\S]*?end-\d+\r*\n/);
    return (/\nstart\n([\s\S]*?)\n?end-\d+\n/.exec(text.replaceAll('\r', ''))?.[1] ?? '').trim();
  }

  close(): void {
    this.#socket.destroy();
  }
}

export const qemuImgSize = (file: string): number =>
  (JSON.parse(execFileSync('qemu-img', ['info', '-U', '--output=json', file], { encoding: 'utf8' })) as { 'virtual-size': number })[
    'virtual-size'
  ];
