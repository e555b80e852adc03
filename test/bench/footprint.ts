// How much memory a VM costs besides its guest, and what the control plane takes: resident and proportional size of every process,
// with one VM on the node and with ten.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../src/api/index.js';
import { PODS } from '../../src/runtime/index.js';
import { benchVm, GUEST_MIB } from './bench-vm.js';
import { isQemu, type Memory, memoryWithout, type ProcessMemory, processesOfPod, totalOf } from './memory.js';
import { Observer } from './observer.js';
import { percentile } from './percentiles.js';
import type { Bench } from './prepare.js';
import { type Report, report } from './report.js';
import { mebibytes, type Table } from './table.js';

const FULL = 10;
const GUEST_BYTES = GUEST_MIB * 1024 * 1024;
const TIMEOUT_MS = 600_000;
/** Garbage of the start is collected by then, and the first statistics are polled. */
const QUIET_MS = 20_000;

/** QEMU's memory besides that of its guest. */
interface Measured extends ProcessMemory {
  readonly beyondGuest?: Memory;
}
type Sample = readonly Measured[];

export async function footprint({ cluster, log }: Bench): Promise<Report> {
  const observer = new Observer(cluster);
  await observer.start();
  try {
    const node = cluster.nodes[0]?.name;
    const names = Array.from({ length: FULL }, (_, index) => `foot-${index + 1}`);
    const launch = async (some: readonly string[]): Promise<void> => {
      await Promise.all(some.map((name) => observer.create(benchVm(name, node))));
      await Promise.all(some.map((name) => observer.untilLogin(name, TIMEOUT_MS)));
      log(`${QUIET_MS / 1000} s of quiet before measuring`);
      await sleep(QUIET_MS);
    };
    log('one VM on the node');
    await launch(names.slice(0, 1));
    const alone = sample(observer, names.slice(0, 1));
    log(`${FULL} VMs on the node`);
    await launch(names.slice(1));
    const full = sample(observer, names);
    const control = await controlPlane(observer);
    log('deleting the VMs');
    await Promise.all(names.map((name) => observer.delete(name, TIMEOUT_MS)));
    return report(
      [
        launcherTable('launcher pod, one VM on the node (MiB)', alone),
        launcherTable(`launcher pod, ${FULL} VMs on the node (MiB, median)`, full),
        controlTable(control),
      ],
      {
        alone,
        full,
        control,
      },
    );
  } finally {
    await observer.close();
  }
}

function sample(observer: Observer, names: readonly string[]): Sample[] {
  return names.map((name) =>
    processesOfPod(observer.pod(name).metadata.uid ?? '').map((process) =>
      isQemu(process) ? { ...process, beyondGuest: memoryWithout(process.pid, GUEST_BYTES) } : process,
    ),
  );
}

/** Middle value of each program over the pods. */
export function medianByProgram(samples: readonly Sample[]): Map<string, Memory> {
  const programs = [...new Set(samples.flat().map(({ program }) => program))];
  const median = (values: readonly number[]): number => percentile(values, 0.5) ?? 0;
  return new Map(
    programs.map((program) => {
      const totals = samples.map((each) => totalOf(each.filter((process) => process.program === program)));
      return [program, { rss: median(totals.map(({ rss }) => rss)), pss: median(totals.map(({ pss }) => pss)) }];
    }),
  );
}

function launcherTable(title: string, samples: readonly Sample[]): Table {
  const programs = [...medianByProgram(samples)].toSorted(([, a], [, b]) => b.pss - a.pss);
  const without = samples.map((each) => totalOf(each.filter((process) => !isQemu(process))));
  const row = (name: string, { rss, pss }: Memory) => [name, mebibytes(rss), mebibytes(pss)];
  const rows = [...programs.map(([name, memory]) => row(name, memory)), row('all but QEMU', middle(without))];
  const beyond = samples
    .map((each) => totalOf(each.filter(isQemu)))
    .map(({ rss, pss }) => ({ rss: rss - GUEST_BYTES, pss: pss - GUEST_BYTES }));
  return { title, columns: ['process', 'RSS', 'PSS'], rows: [...rows, row("QEMU without its guest's memory", middle(beyond))] };
}

/** Of each figure the middle value. */
const middle = (values: readonly Memory[]): Memory => ({
  rss:
    percentile(
      values.map(({ rss }) => rss),
      0.5,
    ) ?? 0,
  pss:
    percentile(
      values.map(({ pss }) => pss),
      0.5,
    ) ?? 0,
});

interface ControlPod {
  readonly pod: string;
  readonly memory: Memory;
}

async function controlPlane({ client }: Observer): Promise<ControlPod[]> {
  const { items } = await client.list<Pod>(PODS, { namespace: 'kubevirt' });
  return items
    .filter(({ status }) => status?.phase === 'Running')
    .map(({ metadata }) => ({ pod: metadata.name ?? '', memory: totalOf(processesOfPod(metadata.uid ?? '')) }))
    .toSorted((a, b) => a.pod.localeCompare(b.pod));
}

function controlTable(pods: readonly ControlPod[]): Table {
  return {
    title: `control plane with ${FULL} VMs (MiB)`,
    columns: ['pod', 'RSS', 'PSS'],
    rows: pods.map(({ pod, memory }) => [pod, mebibytes(memory.rss), mebibytes(memory.pss)]),
  };
}
