// The demo itself: install, create the machine, show its console, and take away again what it made.
import { join } from 'node:path';
import { messageOf } from '../../src/base/errors.js';
import type { Log } from '../../test/cluster/progress.js';
import { waitFor } from '../../test/cluster/wait.js';
import { ROOT } from '../run/steps.js';
import { showLoginPrompt } from './console.js';
import { installReason, machineReason, type Observed } from './states.js';
import type { Target } from './target.js';

const CR = join(ROOT, 'config/samples/kubevirt-cr.yaml');
const VM = join(ROOT, 'config/samples/vm.yaml');
const NAME = 'demo';
const INSTALL_MS = 300_000;
const BOOT_MS = 300_000;

export async function play(target: Target, log: Log, signal: AbortSignal): Promise<void> {
  const read = async (...what: string[]) => JSON.parse(await target.kubectl(['get', ...what, '-o', 'json'])) as Observed;
  log('installing: kubectl apply -k . and config/samples/kubevirt-cr.yaml');
  await target.kubectl(['apply', '-k', ROOT]);
  await target.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd/kubevirts.kubevirt.io']);
  await target.kubectl(['apply', '-f', CR]);
  const check = (reason: () => Promise<string | undefined>) => async () => {
    signal.throwIfAborted();
    return await reason();
  };
  await waitFor({
    what: 'KubeVirt to be Available',
    timeoutMs: INSTALL_MS,
    check: check(async () => installReason(await read('kubevirt', 'kubevirt', '-n', 'kubevirt'))),
    hopeless: () => (signal.aborted ? messageOf(signal.reason) : undefined),
    log,
    pollMs: 500,
  });
  log('KubeVirt is Available; creating the machine: kubectl apply -f config/samples/vm.yaml');
  await target.kubectl(['apply', '-f', VM]);
  await waitFor({
    what: `VirtualMachine ${NAME} to run`,
    timeoutMs: BOOT_MS,
    check: check(async () => machineReason(await read('vm', NAME))),
    hopeless: () => (signal.aborted ? messageOf(signal.reason) : undefined),
    log,
    pollMs: 500,
  });
  log(`${NAME} runs; its serial console (kubectl virt console ${NAME}):`);
  const write = (text: string) => process.stdout.write(text.replaceAll('\r', ''));
  await showLoginPrompt({ vm: NAME, kubeconfig: target.kubeconfig, timeoutMs: BOOT_MS, write, signal });
  process.stdout.write('\n\n');
  log('the guest shows its login prompt');
  process.stdout.write(`${await target.kubectl(['get', 'vm,vmi', '-o', 'wide'])}\n`);
}

/** What a person needs next. */
export function instructions(target: Target): string {
  return [
    `console:  ${target.virtCommand} console ${NAME}   (user root, no password; Ctrl-] leaves it)`,
    `kubectl:  ${target.kubectlCommand} get vm,vmi`,
    `stop it:  ${target.kubectlCommand} delete vm ${NAME}`,
    ...(target.logsDir ? [`logs:     npm run cluster -- logs   (${target.logsDir})`, 'cluster:  npm run cluster -- status | down'] : []),
  ].join('\n');
}

/** Everything a person would look at, for a demo that failed. */
export async function diagnose(target: Target): Promise<string> {
  const questions = [
    ['get', 'nodes'],
    ['get', 'pods', '-A', '-o', 'wide'],
    ['get', 'kubevirt', '-A', '-o', 'yaml'],
    ['get', 'vm,vmi', '-o', 'yaml'],
    ['get', 'events', '-A', '--sort-by=.lastTimestamp'],
    ['logs', '-n', 'kubevirt', '-l', 'kubevirt.io', '--all-containers', '--prefix', '--tail=8', '--ignore-errors'],
  ];
  const ask = (args: readonly string[]) => target.kubectl(args).catch((err: unknown) => messageOf(err));
  const answers = await Promise.all(questions.map(async (args) => `--- kubectl ${args.join(' ')}\n${await ask(args)}`));
  return answers.join('\n');
}

/** A cluster that the demo started goes as a whole; from another one it removes what it installed. */
export async function takeAway(target: Target, log: Log): Promise<void> {
  if (target.isOurs) {
    log('taking the cluster down');
    await target.down();
    return;
  }
  log('the cluster was there before and stays; removing the machine and KubeVirt from it');
  for (const args of [
    ['delete', '-f', VM, '--ignore-not-found', '--timeout=120s'],
    ['delete', '-f', CR, '--ignore-not-found', '--timeout=180s'],
    ['delete', '-k', ROOT, '--ignore-not-found', '--timeout=120s'],
  ]) {
    await target.kubectl(args).catch((err: unknown) => log(`kubectl ${args.join(' ')}: ${messageOf(err)}`));
  }
}
