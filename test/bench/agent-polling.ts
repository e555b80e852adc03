// A day of asking the guest agent in minutes: whether the launcher and libvirt hold more at its end than after a quarter. Needs no cluster.
import { timedLog } from '../cluster/progress.js';
import { type Hour, runAgentPolling } from '../load/agent-polling.js';
import { type Report, report } from './report.js';
import { mebibytes } from './table.js';

const HOURS = 24;
const SHOWN = [0, 6, 12, 18, 24];

const row = ({ hour, rssBytes, heapBytes, descriptors, callbacks, resources, libvirtRssBytes, libvirtDescriptors }: Hour) => [
  `after ${hour} h`,
  mebibytes(rssBytes),
  mebibytes(heapBytes),
  ...[descriptors, callbacks, resources],
  mebibytes(libvirtRssBytes),
  libvirtDescriptors,
];

export async function agentPolling(): Promise<Report> {
  const figures = await runAgentPolling(
    HOURS,
    timedLog((line) => process.stderr.write(`${line}\n`)),
  );
  const { hours, asked, calls, reports, realMs } = figures;
  const held = {
    title: `${HOURS} hours with the guest agent in ${Math.round(realMs / 1000)} s: the launcher, and libvirt beside it`,
    columns: ['', 'RSS MiB', 'heap MiB', 'descriptors', 'callbacks from C', 'handles', 'libvirt RSS MiB', 'its descriptors'],
    rows: hours.filter(({ hour }) => SHOWN.includes(hour)).map(row),
  };
  const traffic = {
    title: 'Meanwhile',
    columns: ['', 'count'],
    rows: [...Object.entries(asked), ['calls of the node agent', calls], ['reports to the node agent', reports]],
  };
  return report([held, traffic], figures);
}
