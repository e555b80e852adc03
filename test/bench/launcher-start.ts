// How long a launcher takes from its start until it is ready for commands: twenty times out of its image on this machine, and in pods of the
// local cluster, one at a time. Says also what the processes hold by then, and what of it is shared between launchers.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launcherRoot } from '../../images/main.js';
import { KvError } from '../../src/base/errors.js';
import { benchVm } from './bench-vm.js';
import { medianByProgram } from './footprint.js';
import { ImageLauncher, type Readiness } from './image-launcher.js';
import { type ProcessMemory, processesOfPod, startedAt } from './memory.js';
import { Observer } from './observer.js';
import { percentile, summarize } from './percentiles.js';
import type { Bench } from './prepare.js';
import { type Report, report } from './report.js';
import { mebibytes, type Table } from './table.js';

const ALONE = 20;
/** So many are measured together afterwards: what they share counts once. */
const TOGETHER = 10;
const PODS = 10;
const TIMEOUT_MS = 120_000;
/** For the asking of capabilities, which follows readiness. */
const SETTLE_MS = 2_000;
const POLL_MS = 20;

export async function launcherStart({ cluster, log }: Bench): Promise<Report> {
  const root = await launcherRoot({ log });
  log(`${ALONE} launchers out of the image, one by one`);
  const alone = await oneByOne(root);
  log(`${TOGETHER} launchers beside each other`);
  const together = await besideEachOther(root);
  const observer = new Observer(cluster);
  await observer.start();
  try {
    const inPods: number[] = [];
    for (let index = 1; index <= PODS; index += 1) {
      log(`in a pod: ${index} of ${PODS}`);
      inPods.push(await inPod(observer, cluster, `start-${index}`));
    }
    return report([timesTable(alone, inPods), memoryTable(together)], { alone, inPods, together });
  } finally {
    await observer.close();
  }
}

async function oneByOne(root: string): Promise<Readiness[]> {
  const found: Readiness[] = [];
  // The first one reads the files from disk and does not count.
  for (let index = 0; index <= ALONE; index += 1) {
    const launcher = await ImageLauncher.start(root);
    try {
      const readiness = await launcher.ready();
      if (index > 0) found.push(readiness);
    } finally {
      await launcher.remove();
    }
  }
  return found;
}

async function besideEachOther(root: string): Promise<ProcessMemory[][]> {
  const launchers: ImageLauncher[] = [];
  try {
    for (let index = 0; index < TOGETHER; index += 1) {
      const launcher = await ImageLauncher.start(root);
      launchers.push(launcher);
      await launcher.ready();
    }
    await sleep(SETTLE_MS);
    return launchers.map(({ processes }) => processes);
  } finally {
    await Promise.all(launchers.map((launcher) => launcher.remove()));
  }
}

/** From the start of the container's first process to the published command socket, both by the kernel's clock. */
async function inPod(observer: Observer, { nodes }: Bench['cluster'], name: string): Promise<number> {
  await observer.create(benchVm(name));
  await observer.untilReady(name, TIMEOUT_MS);
  const pod = observer.pod(name);
  const uid = pod.metadata.uid ?? '';
  const node = nodes.find((each) => each.name === pod.spec?.nodeName);
  const [first] = processesOfPod(uid).filter(({ program }) => program === 'tini');
  if (!node || !first) throw new KvError('NotFound', `pod ${pod.metadata.name} of ${name} has no first process on a node of this cluster`);
  const sockets = `/proc/${node.pid}/root/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/sockets`;
  const ready = await renamedAt(join(sockets, 'launcher-sock'));
  const ms = ready - startedAt(first.pid);
  await observer.delete(name, TIMEOUT_MS);
  return ms;
}

async function renamedAt(socket: string): Promise<number> {
  const deadline = Date.now() + TIMEOUT_MS;
  while (Date.now() < deadline) {
    const found = statSync(socket, { throwIfNoEntry: false });
    if (found) return found.ctimeMs;
    await sleep(POLL_MS);
  }
  throw new KvError('Timeout', `${socket} did not appear within ${TIMEOUT_MS / 1000} s`);
}

function timesTable(alone: readonly Readiness[], inPods: readonly number[]): Table {
  const row = (title: string, values: readonly number[]) => {
    const { p50, p95 } = summarize(values) ?? {};
    return [title, values.length, p50?.toFixed(0), p95?.toFixed(0)];
  };
  return {
    title: 'launcher, from its start to ready for commands (ms)',
    columns: ['', 'count', 'P50', 'P95'],
    rows: [
      row(
        'out of its image',
        alone.map(({ ms }) => ms),
      ),
      row(
        'processor time until then, launcher and libvirt',
        alone.map(({ cpuMs }) => cpuMs),
      ),
      row('in a pod', inPods),
    ],
  };
}

function memoryTable(samples: readonly ProcessMemory[][]): Table {
  const programs = [...medianByProgram(samples)].toSorted(([, a], [, b]) => b.pss - a.pss);
  const sums = samples.map((each) => each.reduce((sum, { pss }) => sum + pss, 0));
  return {
    title: `${TOGETHER} launchers beside each other, ready and without a guest (MiB, median)`,
    columns: ['process', 'RSS', 'PSS'],
    rows: [
      ...programs.map(([name, { rss, pss }]) => [name, mebibytes(rss), mebibytes(pss)]),
      ['all of a launcher', undefined, mebibytes(percentile(sums, 0.5))],
    ],
  };
}
