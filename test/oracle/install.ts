// Prints how far what we install agrees with the recorded installation, by kind of object; ends with 1 where they differ without
// a reason.
import { figures, installAgreement } from './install/agreement.js';

const { verdicts, stale } = installAgreement();
for (const line of figures(verdicts)) console.log(`  ${line}`);
const disagreeing = verdicts.filter(({ outcome }) => outcome === 'disagrees');
for (const { id, differences } of disagreeing) console.log(`  ${id}: ${differences.join('; ')}`);
for (const text of stale) console.log(`  explains nothing any more: ${text}`);
const agreeing = verdicts.length - disagreeing.length;
console.log(`install: ${agreeing}/${verdicts.length} agree (${((100 * agreeing) / verdicts.length).toFixed(2)} %)`);
process.exitCode = disagreeing.length === 0 && stale.length === 0 && verdicts.length > 0 ? 0 : 1;
