// How long a VM takes from its creation to each stage, one at a time and many at once, and how many API writes our components make for it.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuditTail, countWrites, isOurs, type Write } from './audit.js';
import { benchVm, NAMESPACE } from './bench-vm.js';
import { Observer } from './observer.js';
import { summarize } from './percentiles.js';
import type { Bench } from './prepare.js';
import { type Report, report } from './report.js';
import { stageTable, type Timeline } from './stages.js';
import type { Table } from './table.js';

const ONE_BY_ONE = 10;
const AT_ONCE = [10, 20];
const ONE_TIMEOUT_MS = 120_000;
const MANY_TIMEOUT_MS = 600_000;
/** Late writes of one round do not count for the next. */
const SETTLE_MS = 2_000;

interface Round {
  readonly timelines: readonly Timeline[];
  readonly writes: readonly Write[];
}

export async function boot({ cluster, log }: Bench): Promise<Report> {
  const observer = new Observer(cluster);
  const audit = new AuditTail(join(cluster.logsDir, 'audit.log'));
  await observer.start();
  try {
    const rounds: { title: string; rounds: Round[] }[] = [];
    log('one VM first, which does not count: it warms what only the first VM of a node needs');
    await round(observer, audit, ['warm-1', 'warm-2'], MANY_TIMEOUT_MS);
    const single: Round[] = [];
    for (let index = 1; index <= ONE_BY_ONE; index += 1) {
      log(`one by one: ${index} of ${ONE_BY_ONE}`);
      single.push(await round(observer, audit, [`single-${index}`], ONE_TIMEOUT_MS));
    }
    rounds.push({ title: `${ONE_BY_ONE} VMs, one by one`, rounds: single });
    for (const count of AT_ONCE) {
      log(`${count} at once`);
      const names = Array.from({ length: count }, (_, index) => `many${count}-${index + 1}`);
      rounds.push({ title: `${count} VMs at once`, rounds: [await round(observer, audit, names, MANY_TIMEOUT_MS)] });
    }
    return describe(rounds);
  } finally {
    await observer.close();
  }
}

async function round(observer: Observer, audit: AuditTail, names: readonly string[], timeoutMs: number): Promise<Round> {
  audit.read();
  await Promise.all(names.map((name) => observer.create(benchVm(name))));
  await Promise.all(names.map((name) => observer.untilLogin(name, timeoutMs)));
  await Promise.all(names.map((name) => observer.delete(name, timeoutMs)));
  await sleep(SETTLE_MS);
  const writes = audit.read().filter((write) => isOurs(write) && write.namespace === NAMESPACE);
  return { timelines: names.map((name) => observer.timeline(name)), writes };
}

function describe(all: readonly { title: string; rounds: readonly Round[] }[]): Report {
  const tables = all.map(({ title, rounds }) =>
    stageTable(
      title,
      rounds.flatMap(({ timelines }) => timelines),
    ),
  );
  return report([...tables, writesTable(all), ...byKind(all)], { rounds: all });
}

/** Writes per VM: the median of single rounds, the mean where many ran at once. */
function writesTable(all: readonly { title: string; rounds: readonly Round[] }[]): Table {
  return {
    title: 'API writes of our components per VM',
    columns: ['', 'to Running', 'whole life'],
    rows: all.map(({ title, rounds }) => {
      const whole = rounds.map(({ writes, timelines }) => writes.length / timelines.length);
      const toRunning = rounds.map(({ writes, timelines }) => {
        const [only] = timelines;
        // With several at once a write cannot be told to lie before "its" VM ran.
        return timelines.length === 1 ? writes.filter(({ at }) => at <= (only?.running ?? 0)).length : undefined;
      });
      return [title, summarize(toRunning.filter((value) => value !== undefined))?.p50, summarize(whole)?.p50.toFixed(1)];
    }),
  };
}

/** What they are, for the first way of running. */
function byKind([first]: readonly { rounds: readonly Round[] }[]): Table[] {
  if (!first) return [];
  const writes = first.rounds.flatMap((each) => each.writes);
  const rows = countWrites(writes).map(({ component, verb, resource, count }) => [
    `${component} ${verb} ${resource}`,
    (count / first.rounds.length).toFixed(1),
  ]);
  return [{ title: 'API writes per VM by component, one by one', columns: ['write', 'per VM'], rows }];
}
