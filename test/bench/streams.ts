// Fifty consoles for two hours of the guests' time, with more traffic than a person makes: what the process holds meanwhile, and how
// many bytes a second go through one virt-api and one node agent on one core. Needs no cluster.
import { runConsoleLoad } from '../load/console-load.js';
import type { Held } from '../load/held.js';
import { type Report, report } from './report.js';
import { mebibytes } from './table.js';

const LOAD = { consoles: 50, seconds: 7200, bytesPerSecond: 400, tickMs: 10 } as const;

const row = (when: string, { rssBytes, heapBytes, descriptors }: Held): (string | number | undefined)[] => [
  when,
  mebibytes(rssBytes),
  mebibytes(heapBytes),
  descriptors,
];

export async function streams(): Promise<Report> {
  const figures = await runConsoleLoad(LOAD);
  const { before, early, late, after, bytes, realMs, damaged } = figures;
  const held = {
    title: `${LOAD.consoles} consoles: clients, virt-api, node agent and guests in one process`,
    columns: ['when', 'RSS MiB', 'heap and buffers MiB', 'descriptors'],
    rows: [row('no console', before), row('after a fifth', early), row('at the end', late), row('all closed', after)],
  };
  const traffic = {
    title: 'Traffic',
    columns: ['guests’ time', 'real time s', 'MiB', 'MiB/s', 'consoles with wrong bytes'],
    rows: [[`${LOAD.seconds / 60} min`, Math.round(realMs / 1000), mebibytes(bytes), mebibytes((bytes * 1000) / realMs), damaged]],
  };
  return report([held, traffic], { load: LOAD, ...figures });
}
