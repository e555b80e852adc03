// What our components write to the API while nothing happens: one VM runs, nobody touches anything, for a minute.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuditTail, countWrites, isHeartbeat, isOurs, type Write } from './audit.js';
import { benchVm } from './bench-vm.js';
import { Observer } from './observer.js';
import type { Bench } from './prepare.js';
import { type Report, report } from './report.js';
import type { Table } from './table.js';

const WINDOW_MS = 60_000;
const QUIET_MS = 15_000;
const TIMEOUT_MS = 120_000;

export async function idle({ cluster, log }: Bench): Promise<Report> {
  const observer = new Observer(cluster);
  await observer.start();
  try {
    await observer.create(benchVm('idle'));
    await observer.untilLogin('idle', TIMEOUT_MS);
    log(`the VM runs; ${QUIET_MS / 1000} s for what follows a start, then ${WINDOW_MS / 1000} s of counting`);
    await sleep(QUIET_MS);
    const audit = new AuditTail(join(cluster.logsDir, 'audit.log'));
    await sleep(WINDOW_MS);
    const writes = audit.read().filter(isOurs);
    await observer.delete('idle', TIMEOUT_MS);
    return describe(writes);
  } finally {
    await observer.close();
  }
}

export function describe(writes: readonly Write[]): Report {
  const others = writes.filter((write) => !isHeartbeat(write));
  const table = (title: string, some: readonly Write[]): Table => ({
    title,
    columns: ['component', 'verb', 'resource', 'count'],
    rows: countWrites(some).map(({ component, verb, resource, count }) => [component, verb, resource, count]),
  });
  return report(
    [
      table(`Leases and node heartbeats in ${WINDOW_MS / 1000} s`, writes.filter(isHeartbeat)),
      table(`other API writes in ${WINDOW_MS / 1000} s: ${others.length}`, others),
    ],
    { writes },
  );
}
