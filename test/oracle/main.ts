// Answers recorded cases through the functions that the processes use: JSON lines {id, …} in, {id, actual} out.
// One adapter a group in groups/; a case that throws is answered with the error, so that one fault hides no other.
import { createInterface } from 'node:readline';
import { messageOf } from '../../src/base/errors.js';
import type { OracleCase } from './oracle-case.js';

const group = process.argv[2];
if (!group) {
  process.stderr.write('usage: npm run -s oracle -- GROUP < cases.jsonl\n');
  process.exit(2);
}
const { answer } = (await import(`./groups/${group}.js`)) as { answer: (testCase: OracleCase) => unknown };

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  const testCase = JSON.parse(line) as OracleCase;
  let actual: unknown;
  try {
    actual = await answer(testCase);
  } catch (err) {
    actual = { error: messageOf(err) };
  }
  process.stdout.write(`${JSON.stringify({ id: testCase.id, actual })}\n`);
}
