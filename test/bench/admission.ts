// How long an admission takes and whether the process that answers them grows: a VM of fifty devices at fifty requests a second over TLS, then
// many of them in a row. The server is a process of its own on one core; nothing else of the project runs.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS } from '../../src/operators/installer/manifests/pod-parts.js';
import { testCa } from '../fakes/certificates.js';
import { DEVICES, reviewOf } from './admission-vm.js';
import { summarize } from './percentiles.js';
import { type Report, report } from './report.js';
import { mebibytes, type Table } from './table.js';

const SERVER = fileURLToPath(new URL('./admission-server.ts', import.meta.url));
const RATE = 50;
const SECONDS = 20;
const WARM_UP = 500;
const IN_FLIGHT = 4;
const CHECKPOINTS = 10;

interface Question {
  readonly path: string;
  readonly body: string;
}

const QUESTIONS: readonly Question[] = [
  { path: '/virtualmachines-mutate', body: reviewOf('VirtualMachine') },
  { path: '/virtualmachines-validate', body: reviewOf('VirtualMachine') },
  { path: '/virtualmachineinstances-mutate', body: reviewOf('VirtualMachineInstance') },
  { path: '/virtualmachineinstances-validate-create', body: reviewOf('VirtualMachineInstance') },
];

interface Served {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly lines: AsyncIterator<string>;
  readonly port: number;
  readonly agent: Agent;
}

async function numberFrom(lines: AsyncIterator<string>): Promise<number> {
  const { done, value } = await lines.next();
  if (done) throw new Error('the server of the benchmark ended: its error is above');
  return Number(value);
}

async function serve(): Promise<Served> {
  const { certFile, keyFile } = testCa().issue('server');
  const command = ['--expose-gc', ...NODE_FLAGS, ...process.execArgv, SERVER, certFile, keyFile];
  const child = spawn('taskset', ['-c', '0', process.execPath, ...command], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    lines,
    port: await numberFrom(lines),
    agent: new Agent({ keepAlive: true, maxSockets: IN_FLIGHT, rejectUnauthorized: false }),
  };
}

/** What is left in the heap after its garbage is collected. */
async function liveBytes({ child, lines }: Served): Promise<number> {
  child.stdin.write('\n');
  return await numberFrom(lines);
}

/** Milliseconds from sending to the last byte. */
function ask(served: Served, question: Question): Promise<number> {
  const { port, agent } = served;
  const { path, body } = question;
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    };
    const call = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        if (/"allowed":true/.test(text)) resolve(performance.now() - begin);
        else reject(new Error(`the VM of the benchmark was refused at ${path}: ${text.slice(0, 300)}`));
      });
    });
    // The server closes connections that were idle; clients ask again on another, as the API server does.
    call.on('error', (err) => (call.reusedSocket ? ask(served, question).then(resolve, reject) : reject(err))).end(body);
  });
}

const questionAt = (i: number): Question => QUESTIONS[i % QUESTIONS.length] as Question;

/** Asked on time, whether earlier ones are answered or not. */
async function atRate(served: Served): Promise<Map<string, number[]>> {
  const begin = performance.now();
  const asked = Array.from({ length: RATE * SECONDS }, async (_, i) => {
    await sleep(Math.max(0, begin + (i * 1000) / RATE - performance.now()));
    const question = questionAt(i);
    return { path: question.path, ms: await ask(served, question) };
  });
  const taken = new Map<string, number[]>();
  for (const { path, ms } of await Promise.all(asked)) taken.set(path, [...(taken.get(path) ?? []), ms]);
  return taken;
}

async function inARow(served: Served, count: number): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) await ask(served, questionAt(next++));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, one));
}

function residentBytes({ child }: Served): number {
  const text = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * 1024;
}

interface Growth {
  readonly requests: number;
  readonly rss: number;
  readonly live: number;
  readonly perSecond: number;
}

async function growth(served: Served, requests: number): Promise<Growth[]> {
  const found: Growth[] = [];
  const share = Math.ceil(requests / CHECKPOINTS);
  for (let done = share; done <= requests; done += share) {
    const begin = performance.now();
    await inARow(served, share);
    const perSecond = Math.round((share * 1000) / (performance.now() - begin));
    found.push({ requests: done, rss: residentBytes(served), live: await liveBytes(served), perSecond });
  }
  return found;
}

function latencyTable(taken: ReadonlyMap<string, readonly number[]>): Table {
  const row = (name: string, values: readonly number[]) => {
    const { count, p50, p95, p99 } = summarize(values) ?? { count: 0, p50: 0, p95: 0, p99: 0 };
    return [name, count, ...[p50, p95, p99].map((ms) => ms.toFixed(1))];
  };
  return {
    title: `a VM of ${DEVICES} devices, ${RATE} requests a second over TLS, one core (ms)`,
    columns: ['webhook', 'requests', 'P50', 'P95', 'P99'],
    rows: [...[...taken].map(([path, values]) => row(path, values)), row('all', [...taken.values()].flat())],
  };
}

const growthTable = (found: readonly Growth[]): Table => ({
  title: `${IN_FLIGHT} at a time, as fast as they are answered`,
  columns: ['requests', 'RSS (MiB)', 'live heap (MiB)', 'a second'],
  rows: found.map(({ requests, rss, live, perSecond }) => [String(requests), mebibytes(rss), mebibytes(live), perSecond]),
});

export async function admission(requests: number): Promise<Report> {
  const served = await serve();
  try {
    await inARow(served, WARM_UP);
    const taken = await atRate(served);
    const found = await growth(served, requests);
    return report([latencyTable(taken), growthTable(found)], { latencies: Object.fromEntries(taken), growth: found });
  } finally {
    served.agent.destroy();
    served.child.stdin.end();
  }
}
