// Prints how far our CRDs agree with the recorded ones, in the form of the other groups' comparisons; ends with 1 where they differ.
import { crds } from '../../src/api/schema/crds.js';
import { agreementOf } from './schema/agreement.js';
import { recordedCrds } from './schema/recorded.js';

const ours = crds();
const all = recordedCrds().map((recorded) =>
  agreementOf(
    recorded,
    ours.find(({ metadata }) => metadata.name === recorded.metadata.name),
  ),
);
const cases = all.reduce((sum, each) => sum + each.cases, 0);
const differences = all.flatMap((each) => each.differences);

for (const line of differences) console.log(`  ${line}`);
console.log(`crds: ${cases - differences.length}/${cases} agree (${((100 * (cases - differences.length)) / cases).toFixed(2)} %)`);
process.exitCode = differences.length === 0 && all.length > 0 ? 0 : 1;
