// The demo itself: install, create the machine, show its console, and take away again what it made: what a cluster had of it before
// is used as it is, and stays.
import { messageOf } from '../../src/base/errors.js';
import type { Log } from '../../test/cluster/progress.js';
import { waitFor } from '../../test/cluster/wait.js';
import { ROOT } from '../run/steps.js';
import { showLoginPrompt } from './console.js';
import { addedSince, CR, type Found, itemsOf, MACHINE, planOf, VM } from './found.js';
import { installReason, machineReason, type Observed, pullReason } from './states.js';
import type { Target } from './target.js';

const { name: NAME, namespace: NAMESPACE } = MACHINE;
const INSTALL_MS = 300_000;
const BOOT_MS = 300_000;

export interface Scene {
  readonly target: Target;
  readonly found: Found;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export async function play(scene: Scene): Promise<void> {
  const { target, log, signal } = scene;
  await install(scene);
  await boot(scene);
  log(`${NAME} runs; its serial console (kubectl virt console ${NAME}):`);
  const write = (text: string) => process.stdout.write(text.replaceAll('\r', ''));
  await showLoginPrompt({ vm: NAME, namespace: NAMESPACE, kubeconfig: target.kubeconfig, timeoutMs: BOOT_MS, write, signal });
  process.stdout.write('\n\n');
  log('the guest shows its login prompt');
  process.stdout.write(`${await target.kubectl(['get', 'vm,vmi', '-n', NAMESPACE, '-o', 'wide'])}\n`);
}

const read = async ({ target }: Scene, ...what: readonly string[]) =>
  JSON.parse(await target.kubectl(['get', ...what, '-o', 'json'])) as Observed;

async function install(scene: Scene): Promise<void> {
  const { target, found, log } = scene;
  const { installsOperator, createsKubevirt, kubevirt } = planOf(found);
  if (installsOperator) {
    log('installing: kubectl apply -k . and config/samples/kubevirt-cr.yaml');
    await target.kubectl(['apply', '-k', ROOT]);
    await target.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd/kubevirts.kubevirt.io']);
  }
  if (createsKubevirt) await target.kubectl(['apply', '-f', CR]);
  else log(`KubeVirt is installed already (${kubevirt.namespace}/${kubevirt.name}): using it as it is`);
  await wait(scene, 'KubeVirt to be Available', INSTALL_MS, async () =>
    installReason(await read(scene, 'kubevirt', kubevirt.name, '-n', kubevirt.namespace)),
  );
}

async function boot(scene: Scene): Promise<void> {
  const { target, found, log } = scene;
  if (planOf(found).createsMachine) {
    log('KubeVirt is Available; creating the machine: kubectl apply -f config/samples/vm.yaml');
    await target.kubectl(['apply', '-f', VM]);
  } else log(`KubeVirt is Available, and there is a VirtualMachine ${NAME} already: using it as it is`);
  await wait(scene, `VirtualMachine ${NAME} to run`, BOOT_MS, async () => machineReason(await read(scene, 'vm', NAME, '-n', NAMESPACE)));
}

async function wait(scene: Scene, what: string, timeoutMs: number, reason: () => Promise<string | undefined>): Promise<void> {
  const { signal, log } = scene;
  let missing: string | undefined;
  await waitFor({
    what,
    timeoutMs,
    check: async () => {
      signal.throwIfAborted();
      const why = await reason();
      missing = why === undefined ? undefined : await missingImage(scene);
      return why;
    },
    hopeless: () => (signal.aborted ? messageOf(signal.reason) : missing),
    log,
    pollMs: 500,
  });
}

/** Nobody brings the images into a cluster of the user's own but the user. */
async function missingImage({ target, found }: Scene): Promise<string | undefined> {
  const { namespace } = planOf(found).kubevirt;
  const pods = await Promise.all(
    [namespace, NAMESPACE].map(async (each) => itemsOf(await target.kubectl(['get', 'pods', '-n', each, '-o', 'json']))),
  );
  return pullReason(pods.flat());
}

/** What a person needs next. */
export function instructions(target: Target): string {
  return [
    `console:  ${target.virtCommand} console ${NAME} -n ${NAMESPACE}   (user root, no password; Ctrl-] leaves it)`,
    `kubectl:  ${target.kubectlCommand} get vm,vmi -n ${NAMESPACE}`,
    `stop it:  ${target.kubectlCommand} delete vm ${NAME} -n ${NAMESPACE}`,
    ...(target.logsDir ? [`logs:     npm run cluster -- logs   (${target.logsDir})`, 'cluster:  npm run cluster -- status | down'] : []),
  ].join('\n');
}

/** Everything a person would look at, for a demo that failed. */
export async function diagnose(target: Target): Promise<string> {
  const questions = [
    ['get', 'nodes'],
    ['get', 'pods', '-A', '-o', 'wide'],
    ['get', 'kubevirt', '-A', '-o', 'yaml'],
    ['get', 'vm,vmi', '-n', NAMESPACE, '-o', 'yaml'],
    ['get', 'events', '-A', '--sort-by=.lastTimestamp'],
    ['logs', '-n', 'kubevirt', '-l', 'kubevirt.io', '--all-containers', '--prefix', '--tail=8', '--ignore-errors'],
  ];
  const ask = (args: readonly string[]) => target.kubectl(args).catch((err: unknown) => messageOf(err));
  const answers = await Promise.all(questions.map(async (args) => `--- kubectl ${args.join(' ')}\n${await ask(args)}`));
  return answers.join('\n');
}

/** A cluster that the demo started goes as a whole; from another one goes what the demo added. */
export async function takeAway({ target, found, log }: Omit<Scene, 'signal'>): Promise<void> {
  if (target.isOurs) {
    log('taking the cluster down');
    await target.down();
    return;
  }
  const { installsOperator, createsKubevirt, createsMachine } = planOf(found);
  const attempt = (args: readonly string[]) =>
    target.kubectl(args).catch((err: unknown) => log(`kubectl ${args.join(' ')}: ${messageOf(err)}`));
  log(`the cluster was there before and stays; removing ${whatGoes(planOf(found))} from it`);
  if (createsMachine) await attempt(['delete', '-f', VM, '--ignore-not-found', '--timeout=120s']);
  if (createsKubevirt) await attempt(['delete', '-f', CR, '--ignore-not-found', '--timeout=180s']);
  if (!installsOperator) return;
  const now = itemsOf(await target.kubectl(['get', '-k', ROOT, '--ignore-not-found', '-o', 'json']));
  await Promise.all(addedSince(found.objects, now).map((args) => attempt(['delete', ...args, '--ignore-not-found', '--timeout=120s'])));
}

function whatGoes({ createsKubevirt, createsMachine }: { readonly createsKubevirt: boolean; readonly createsMachine: boolean }): string {
  const parts = [...(createsMachine ? ['the machine'] : []), ...(createsKubevirt ? ['KubeVirt'] : [])];
  return parts.join(' and ') || 'nothing';
}
