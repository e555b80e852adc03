// `npm run bench -- admission|agent-polling|boot|footprint|idle|launcher-start|streams [--json] [--keep] [--requests N]`: measures, on the local
// cluster where one is needed, and prints tables on standard output, or the raw data with --json; progress goes to standard error. Only argv and the
// exit code live here.
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/base/errors.js';
import { timedLog } from '../cluster/progress.js';
import { admission } from './admission.js';
import { agentPolling } from './agent-polling.js';
import { boot } from './boot.js';
import { footprint } from './footprint.js';
import { idle } from './idle.js';
import { launcherStart } from './launcher-start.js';
import { type Bench, prepare } from './prepare.js';
import { type Report, renderJson, renderReport } from './report.js';
import { streams } from './streams.js';

const BENCHES: Readonly<Record<string, (bench: Bench) => Promise<Report>>> = { boot, footprint, idle, 'launcher-start': launcherStart };
/** Those that need no cluster. */
const STANDALONE: Readonly<Record<string, (options: { readonly requests: number }) => Promise<Report>>> = {
  admission: ({ requests }) => admission(requests),
  streams,
  'agent-polling': agentPolling,
};
const USAGE = `usage: npm run bench -- ${[...Object.keys(BENCHES), ...Object.keys(STANDALONE)].join('|')} [--json] [--keep] [--requests N]`;

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      requests: { type: 'string', default: '100000' },
    },
    allowPositionals: true,
  });
  const [name = '', ...others] = positionals;
  const print = (result: Report): void => void process.stdout.write(`${values.json ? renderJson(result) : renderReport(result)}\n`);
  const [measure, alone] = [BENCHES[name], STANDALONE[name]];
  if (others.length > 0 || !(measure ?? alone)) throw new Error(USAGE);
  const requests = Number(values.requests);
  if (!Number.isInteger(requests) || requests < 1) throw new Error(`--requests ${values.requests} is no count: ${USAGE}`);
  if (alone) print(await alone({ requests }));
  if (!measure) return 0;
  const log = timedLog((line) => process.stderr.write(`${line}\n`));
  const bench = await prepare(log, values.keep);
  try {
    print(await measure(bench));
    return 0;
  } finally {
    await bench.close();
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (err) {
  process.stderr.write(`${messageOf(err)}\n`);
  process.exitCode = 1;
}
