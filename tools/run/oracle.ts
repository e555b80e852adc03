// Agreement with recorded cases: one result a group. The recordings lie beside a clone of this repository where they exist at
// all; without them the step is skipped, except under CI, which has them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { add, type Counts, ONE_FAILED, ONE_PASSED, ONE_SKIPPED } from './counts.js';
import { ROOT, runCommand, type Step, type StepContext } from './steps.js';

export interface OracleGroup {
  /** As compare.mjs takes it: GROUP or GROUP/FILE. */
  readonly group: string;
  /** Smallest share of cases that must agree. */
  readonly min: number;
}

const CONVERT = ['amd64', 'arm64', 's390x', 'context', 'examples', 'more'].map((file) => `convert/${file}`);
const OTHERS = ['admit', 'gatemap', 'mutate', 'expand', 'describe', 'netnames', 'nft', 'nmstate', 'pod'];

export const GROUPS: readonly OracleGroup[] = [
  ...[...OTHERS, ...CONVERT, 'memory', 'cloudinit', 'dhcp'].map((group) => ({ group, min: 0.99 })),
  // One of the few cases has labels that end in a slash where the CPU's name and vendor are unknown; Kubernetes refuses such names.
  { group: 'labels', min: 0.97 },
];

/** Compared as a whole, by programs of our own: they print a figure in the same form and end with 1 where something differs. */
export const WHOLE: Readonly<Record<string, string>> = {
  crds: 'test/oracle/crds.ts',
  install: 'test/oracle/install.ts',
  discovery: 'test/oracle/discovery.ts',
};

const ORACLES = join(ROOT, '..', 'shared', 'oracles');
const SCRIPT = join(ORACLES, 'compare.mjs');
/** A folder a group; absent on most machines. */
export const RECORDINGS = join(ORACLES, 'pairs');

export function oracleStep(isCi: boolean): Step {
  return {
    name: 'agreement with recorded cases',
    run: async (context) => {
      if (existsSync(SCRIPT)) return await compareAll(context);
      context.say(`there are no recorded cases at ${SCRIPT}`);
      return isCi ? ONE_FAILED : ONE_SKIPPED;
    },
  };
}

async function compareAll(context: StepContext): Promise<Counts> {
  const all: Counts[] = [];
  for (const each of GROUPS) all.push(await compare(each, context));
  for (const script of Object.values(WHOLE)) all.push(await compareWhole(script, context));
  return add(...all);
}

async function compareWhole(script: string, { signal, say }: StepContext): Promise<Counts> {
  const { code, output } = await runCommand({ command: [process.execPath, '--import', 'tsx', script] }, signal);
  say(output.trimEnd());
  return code === 0 ? ONE_PASSED : ONE_FAILED;
}

async function compare({ group, min }: OracleGroup, { signal, say }: StepContext): Promise<Counts> {
  const command = [process.execPath, SCRIPT, '--min', String(min), '--show', '2', '--cmd', 'npm run -s oracle --', group];
  const { code, output } = await runCommand({ command }, signal);
  say(`  ${figureOf(output, group)}${min > 0 ? ` (needs ${min * 100} %)` : ''}`);
  if (code === 0) return ONE_PASSED;
  say(output.trimEnd());
  return ONE_FAILED;
}

/** The line "GROUP: n/m agree (x %)" of the comparison. */
export function figureOf(output: string, group: string): string {
  const line = output.split('\n').find((each) => / agree \(/.test(each));
  return line?.replace(/^[^:]*/, group) ?? `${group}: no figure`;
}
