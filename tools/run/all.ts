// The order of the whole test run, and what a failure means for the steps after it: without images or a cluster the steps
// that need them do not run and count as failed. The cluster is taken down however the run ends.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/base/errors.js';
import { type ClusterHandle, ensureUp } from '../../test/cluster/cluster.js';
import { clusterConfig } from '../../test/cluster/config.js';
import { down } from '../../test/cluster/down.js';
import { timedLog } from '../../test/cluster/progress.js';
import { ONE_FAILED, ONE_PASSED } from './counts.js';
import { domainStep } from './domains.js';
import { leftOn, type Machine, ourThings, readMachine } from './leftovers.js';
import { oracleStep } from './oracle.js';
import type { OwnFolder } from './own-folder.js';
import { runQuick } from './quick-steps.js';
import { ROOT, runCommand, runStep, type Step, type StepContext, type StepResult } from './steps.js';
import { vitestStep } from './vitest.js';

interface Planned {
  readonly step: Step;
  /** Steps that must have passed. */
  readonly needs: readonly string[];
}

const IMAGES = 'images';
const CLUSTER = 'cluster up';
const LOOKS = 10;
const LOOK_MS = 1000;

export function plan(env: NodeJS.ProcessEnv): Planned[] {
  const imagesCommand = { command: [process.execPath, '--import', 'tsx', join(ROOT, 'images/main.ts')], live: true };
  return [
    { step: oracleStep(env.CI === 'true'), needs: [] },
    { step: vitestStep('fuzz'), needs: [] },
    {
      step: { name: IMAGES, run: async ({ signal }) => ((await runCommand(imagesCommand, signal)).code === 0 ? ONE_PASSED : ONE_FAILED) },
      needs: [],
    },
    { step: domainStep("domains by libvirt's schema", 'schema'), needs: [IMAGES] },
    { step: domainStep('domains by libvirt', 'define'), needs: [IMAGES] },
    { step: { name: CLUSTER, run: startCluster }, needs: [] },
    { step: vitestStep('host', { live: true }), needs: [] },
    { step: vitestStep('apiserver', { live: true }), needs: [CLUSTER] },
    { step: vitestStep('e2e', { live: true }), needs: [IMAGES, CLUSTER] },
  ];
}

async function startCluster({ say }: StepContext): Promise<typeof ONE_PASSED> {
  const handle: ClusterHandle = await ensureUp({ log: timedLog(say) });
  say(`logs of its components: ${handle.logsDir}`);
  return ONE_PASSED;
}

export async function runAll(context: StepContext, env: NodeJS.ProcessEnv): Promise<StepResult[]> {
  const results: StepResult[] = await runQuick(context);
  try {
    for (const { step, needs } of plan(env)) {
      if (context.signal.aborted) break;
      results.push(await runPlanned(step, missing(needs, results), context));
    }
  } finally {
    results.push(await runStep({ name: 'cluster down', run: () => stopCluster(context) }, context));
  }
  return results;
}

async function runPlanned(step: Step, without: readonly string[], context: StepContext): Promise<StepResult> {
  if (without.length === 0) {
    context.say(`--- ${step.name}`);
    return await runStep(step, context);
  }
  context.say(`${step.name}: cannot run, since this failed: ${without.join(', ')}`);
  return { name: step.name, ms: 0, counts: ONE_FAILED };
}

/** The last step: fails with the names of what the run leaves on the machine. A process may still be ending, so that it looks again. */
export function nothingLeftStep(own: OwnFolder | undefined, before: Machine): Step {
  return {
    name: 'nothing left behind',
    run: async ({ say }) => {
      const config = clusterConfig(process.env);
      const ours = ourThings(config, own?.dir ?? tmpdir());
      const look = () => [
        ...leftOn(before, readMachine(config), ours),
        ...(own?.leftovers() ?? []).map((name) => `${ours.temporary}/${name}`),
      ];
      let left = look();
      for (let again = 0; left.length > 0 && again < LOOKS; again++) {
        await sleep(LOOK_MS);
        left = look();
      }
      for (const each of left) say(`left behind: ${each}`);
      return left.length === 0 ? ONE_PASSED : ONE_FAILED;
    },
  };
}

/** The names among `needs` without a passed result. */
export function missing(needs: readonly string[], results: readonly StepResult[]): string[] {
  return needs.filter((name) => !results.some((result) => result.name === name && result.counts.failed === 0));
}

async function stopCluster({ say }: StepContext): Promise<typeof ONE_PASSED> {
  try {
    await down(clusterConfig(process.env), timedLog(say));
    return ONE_PASSED;
  } catch (err) {
    say(`the cluster could not be taken down: ${messageOf(err)}; try \`npm run cluster -- down\``);
    return ONE_FAILED;
  }
}
