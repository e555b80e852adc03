// kubectl-virt: the kubectl plugin (`kubectl virt …`). Reads the command line, runs one command, ends with its exit code: 0 done, 1 failed,
// 2 misused.
import './kubectl-virt/old-node.js';
import { systemClock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import { type Command, parseCommand, USAGE, type Verb } from './kubectl-virt/arguments.js';
import { type Cluster, connectCluster } from './kubectl-virt/cluster.js';
import { consoleCommand } from './kubectl-virt/console.js';
import { explainError } from './kubectl-virt/explain.js';
import { guestCommand } from './kubectl-virt/guest.js';
import { lifecycleCommand } from './kubectl-virt/lifecycle.js';
import { portForwardCommand } from './kubectl-virt/port-forward.js';
import type { Terminal } from './kubectl-virt/terminal.js';
import { GUEST_VERBS, type GuestVerb, type LifecycleVerb } from './kubectl-virt/verbs.js';
import { vncCommand } from './kubectl-virt/vnc.js';
import { waitUntilRunning } from './kubectl-virt/wait.js';

const clock = systemClock;

function openTerminal(): Terminal {
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stopped.abort());
  return {
    input: process.stdin,
    output: process.stdout,
    note: (line) => void process.stderr.write(`${line}\n`),
    signal: stopped.signal,
  };
}

const isGuestVerb = (verb: string): verb is GuestVerb => Object.hasOwn(GUEST_VERBS, verb);
const isStream = (verb: Verb): verb is 'console' | 'vnc' | 'port-forward' => ['console', 'vnc', 'port-forward'].includes(verb);

async function execute(command: Command & { readonly verb: Exclude<Verb, 'help'> }, cluster: Cluster, terminal: Terminal): Promise<number> {
  const { verb, name, timeoutMinutes, address, port } = command;
  if (isGuestVerb(verb)) return await guestCommand(cluster, verb, name, terminal);
  if (!isStream(verb)) return await lifecycleCommand(cluster, verb as LifecycleVerb, command, terminal);
  await waitUntilRunning(cluster, name, timeoutMinutes, { clock, terminal });
  if (verb === 'port-forward') return await portForwardCommand(cluster, command, { terminal, clock });
  if (verb === 'console') return await consoleCommand(cluster, name, terminal, clock);
  return await vncCommand(cluster, name, { address, port }, { terminal, clock });
}

async function main(): Promise<number> {
  const parsed = parseCommand(process.argv.slice(2));
  const terminal = openTerminal();
  if ('problem' in parsed) {
    terminal.note(`kubectl virt: ${parsed.problem}\n\n${USAGE}`);
    return 2;
  }
  const { command } = parsed;
  const { verb } = command;
  if (verb === 'help') {
    terminal.output.write(USAGE);
    return 0;
  }
  const cluster = connectCluster(command);
  try {
    return await execute({ ...command, verb }, cluster, terminal);
  } catch (err) {
    terminal.note(explainError(err, { verb: command.verb, name: command.name, namespace: cluster.namespace }));
    return 1;
  } finally {
    cluster.close();
  }
}

main().then(
  (code) => process.exit(code),
  (err: unknown) => {
    process.stderr.write(`kubectl virt: ${messageOf(err)}\n`);
    process.exit(1);
  },
);
