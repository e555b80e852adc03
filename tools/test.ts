// `npm test`: the whole run, in order: quick checks, agreement with recorded cases, fuzzing, images, cluster, host, apiserver and
// end-to-end tests. Takes the cluster down at the end whatever happened. The last line is the sum of all.
import { writeSync } from 'node:fs';
import { seconds } from '../test/cluster/progress.js';
import { runAll } from './run/all.js';
import { add, lastLine } from './run/counts.js';
import { describe, untilSignal } from './run/steps.js';

const start = Date.now();
const say = (line: string) => console.log(line);
const signal = untilSignal(say);
const results = await runAll({ signal, say }, process.env);
const counts = add(...results.map((result) => result.counts));
say('');
for (const result of results) say(describe(result));
say(`the whole run took ${seconds(Date.now() - start)}`);
if (signal.aborted) say('it was ended by a signal: what did not run does not count');
writeSync(1, `${lastLine(counts)}\n`);
process.exitCode = counts.failed > 0 || signal.aborted ? 1 : 0;
