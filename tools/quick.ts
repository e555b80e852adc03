// `npm run test:quick`: what every change must pass, in under a minute.
import { seconds } from '../test/cluster/progress.js';
import { add, lastLine } from './run/counts.js';
import { runQuick } from './run/quick-steps.js';
import { untilSignal } from './run/steps.js';

const start = Date.now();
const say = (line: string) => console.log(line);
const results = await runQuick({ signal: untilSignal(say), say });
const counts = add(...results.map((result) => result.counts));
say(`quick checks took ${seconds(Date.now() - start)}`);
say(lastLine(counts));
process.exitCode = counts.failed > 0 ? 1 : 0;
