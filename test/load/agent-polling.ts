// A day with the guest agent in as little time as it takes: the launcher of the image with libvirt and QEMU, whose clock jumps, an agent that
// answers at once, and a node agent that asks and listens meanwhile. Says what launcher and libvirt hold after each hour.
import { readdirSync } from 'node:fs';
import { chmod, chown, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { launcherRoot, tinyDisk } from '../../images/main.js';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { KvError } from '../../src/base/errors.js';
import { serveNotify } from '../../src/rpc/index.js';
import { bundleOne } from '../../tools/bundle.js';
import { ImageLauncher, QEMU_USER } from '../bench/image-launcher.js';
import { scratchDir } from '../fakes/scratch.js';
import { emptyGuest } from '../host/launcher-pod.js';
import { AGENT_SOCKET, HOUR_MARK, type HourReport } from './agent-polling-words.js';
import { ScriptedAgent } from './scripted-agent.js';

const POLL_MS = 100;
/** What the node agent asks, once each time it asks. */
const ASKS = ['getDomain', 'getDomainStats', 'getGuestInfo', 'getUsers', 'getFilesystems'] as const;
const HOUR_TIMEOUT_MS = 120_000;

export interface Hour extends HourReport {
  readonly libvirtRssBytes: number;
  readonly libvirtDescriptors: number;
}

export interface PollingFigures {
  readonly hours: readonly Hour[];
  /** Questions to the agent by name. */
  readonly asked: Readonly<Record<string, number>>;
  /** Calls of the command service, and reports of the launcher. */
  readonly calls: number;
  readonly reports: number;
  readonly realMs: number;
}

/** Its kernel opens the agent's port, which is when libvirt begins to talk. */
function guest(): VirtualMachineInstance {
  const vmi = emptyGuest({ volumes: [{ name: 'root', containerDisk: { image: 'tiny' } }] });
  vmi.spec.domain.devices.disks = [{ name: 'root', disk: { bus: 'virtio' } }];
  vmi.spec.domain.memory = { guest: '128Mi' };
  return vmi;
}

async function startLauncher(agent: ScriptedAgent, log: (line: string) => void): Promise<ImageLauncher> {
  const [root, disk] = [await launcherRoot({ log }), await tinyDisk({ log })];
  const dir = scratchDir();
  const program = await bundleOne(join(import.meta.dirname, 'polling-launcher.ts'), join(dir, 'launcher.js'));
  return await ImageLauncher.start(root, {
    program,
    prepare: async (run) => {
      await agent.listen(join(run, AGENT_SOCKET));
      await chmod(join(run, AGENT_SOCKET), 0o666);
      const image = join(run, 'kubevirt/container-disks/disk_0.img');
      await copyFile(disk, image);
      await chown(image, QEMU_USER, QEMU_USER);
    },
  });
}

const reportsIn = (output: string): HourReport[] =>
  output.split('\n').flatMap((line) => (line.startsWith(HOUR_MARK) ? [JSON.parse(line.slice(HOUR_MARK.length)) as HourReport] : []));

async function hourOf(launcher: ImageLauncher, hour: number): Promise<Hour> {
  const deadline = Date.now() + HOUR_TIMEOUT_MS;
  for (;;) {
    const report = reportsIn(launcher.output).find((each) => each.hour === hour);
    const libvirt = launcher.processes.find(({ program }) => program === 'libvirtd');
    if (report && libvirt) {
      return { ...report, libvirtRssBytes: libvirt.rss, libvirtDescriptors: readdirSync(`/proc/${libvirt.pid}/fd`).length };
    }
    if (Date.now() > deadline)
      throw new KvError('Timeout', `hour ${hour} of polling did not end; the launcher said: ${launcher.output.trim()}`);
    await wait(POLL_MS);
  }
}

/** Asks as a node agent does, all the time; the returned function ends it and tells how often. */
function askAlways({ client }: ImageLauncher): () => Promise<number> {
  let ended = false;
  let calls = 0;
  const asking = (async () => {
    while (!ended) {
      for (const ask of ASKS) {
        await client[ask]();
        calls += 1;
      }
      await wait(POLL_MS);
    }
  })();
  // Awaited at the end: what fails meanwhile is thrown there.
  asking.catch(() => undefined);
  return async () => {
    ended = true;
    await asking;
    return calls;
  };
}

export async function runAgentPolling(hours: number, log: (line: string) => void = () => undefined): Promise<PollingFigures> {
  const agent = new ScriptedAgent();
  let reports = 0;
  const notify = serveNotify({ domainEvent: () => void reports++, k8sEvent: () => undefined });
  const launcher = await startLauncher(agent, log);
  try {
    await launcher.ready();
    await notify.listen(join(launcher.run, 'kubevirt/domain-notify-pipe.sock'), { owner: { uid: QEMU_USER, gid: QEMU_USER } });
    await launcher.client.syncVirtualMachine(guest());
    log('the guest boots until it opens its agent’s port');
    const found = [await hourOf(launcher, 0)];
    const begin = Date.now();
    const endAsking = askAlways(launcher);
    for (let hour = 1; hour <= hours; hour += 1) {
      found.push(await hourOf(launcher, hour));
      log(`hour ${hour} of ${hours}: ${agent.total} questions`);
    }
    const realMs = Date.now() - begin;
    return { hours: found, asked: Object.fromEntries(agent.asked), calls: await endAsking(), reports, realMs };
  } finally {
    await launcher.remove();
    await notify.close();
    await agent.close();
  }
}
