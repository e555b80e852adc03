// `npm test`: the whole run, in order: quick checks, agreement with recorded cases, fuzzing, images, cluster, host, apiserver and
// end-to-end tests. Takes the cluster down at the end whatever happened, and fails for what is left then. The last line is the sum of all.
import { writeSync } from 'node:fs';
import { clusterConfig } from '../test/cluster/config.js';
import { seconds } from '../test/cluster/progress.js';
import { nothingLeftStep, runAll } from './run/all.js';
import { add, lastLine } from './run/counts.js';
import { readMachine } from './run/leftovers.js';
import { ownFolder } from './run/own-folder.js';
import { describe, runStep, untilSignal } from './run/steps.js';

const start = Date.now();
const say = (line: string) => console.log(line);
const signal = untilSignal(say);
const before = readMachine(clusterConfig(process.env));
const own = ownFolder(process.env);
const results = await runAll({ signal, say }, process.env);
results.push(await runStep(nothingLeftStep(own, before), { signal, say }));
own?.remove();
const counts = add(...results.map((result) => result.counts));
say('');
for (const result of results) say(describe(result));
say(`the whole run took ${seconds(Date.now() - start)}`);
if (signal.aborted) say('it was ended by a signal: what did not run does not count');
writeSync(1, `${lastLine(counts)}\n`);
process.exitCode = counts.failed > 0 || signal.aborted ? 1 : 0;
