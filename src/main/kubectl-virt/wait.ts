// Waits until a machine runs, telling what it waits for. Used before console and display are opened. A machine that nobody has asked to
// start is not waited for.
import type { VirtualMachine, VirtualMachineInstance } from '../../api/index.js';
import { type Clock, sleep } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import type { Cluster } from './cluster.js';
import { flags, startFirst } from './explain.js';
import type { Terminal } from './terminal.js';

const POLL_MS = 500;
const FINAL = ['Succeeded', 'Failed'];

/** The reason in the conditions why a VMI does not run yet, if one says so. */
export function waitingFor(vmi: VirtualMachineInstance | undefined): string {
  if (!vmi) return 'it has not been created yet';
  const told = vmi.status?.conditions?.find((c) => c.status === 'False' && c.message);
  const phase = vmi.status?.phase || 'Pending';
  return told ? `${phase}: ${told.message}` : phase;
}

interface Place {
  readonly name: string;
  readonly namespace: string;
}

/** Whether the controller will start it without anybody asking again. */
function isToStart({ spec, status }: VirtualMachine): boolean {
  if (status?.stateChangeRequests?.some((request) => request.action === 'Start')) return true;
  switch (spec.runStrategy ?? (spec.running ? 'Always' : 'Halted')) {
    case 'Always':
      // It may have been set just now, with the status still telling of before.
      return true;
    case 'Once':
    case 'RerunOnFailure':
      return status?.printableStatus !== 'Stopped';
    default:
      return false;
  }
}

/** Why there is nothing to wait for, and what to do; undefined while it may still come to run. Without a VMI. Pure. */
export function hopeless(vm: VirtualMachine | undefined, place: Place): string | undefined {
  const list = `kubectl get vm${flags(place)}`;
  if (!vm) return `there is no such machine; check the name and the namespace: ${list}`;
  return isToStart(vm) ? undefined : `it is stopped; ${startFirst(place)}`;
}

/** Why the machine will not run, if so. */
async function endedReason({ vmi, cluster, name }: Seen): Promise<string | undefined> {
  const place = { name, namespace: cluster.namespace };
  if (!vmi) return hopeless(await cluster.vm(name), place);
  if (!FINAL.includes(vmi.status?.phase ?? '')) return undefined;
  return `the machine has ended (${waitingFor(vmi)}): see kubectl describe vmi ${name}${flags(place)}`;
}

type Reader = Pick<Cluster, 'vmi' | 'vm' | 'namespace'>;

interface Seen {
  readonly vmi: VirtualMachineInstance | undefined;
  readonly cluster: Reader;
  readonly name: string;
}

/** Resolves when it runs; throws when it has ended or will not start, or when `minutes` have passed. */
export async function waitUntilRunning(
  cluster: Reader,
  name: string,
  minutes: number,
  { clock, terminal }: { readonly clock: Clock; readonly terminal: Terminal },
): Promise<void> {
  const deadline = clock.now() + minutes * 60_000;
  let told = '';
  for (;;) {
    const vmi = await cluster.vmi(name);
    if (vmi?.status?.phase === 'Running') return;
    const ended = await endedReason({ vmi, cluster, name });
    if (ended) throw new KvError('Terminal', ended);
    const why = waitingFor(vmi);
    if (clock.now() >= deadline) {
      const describe = `kubectl describe ${vmi ? 'vmi' : 'vm'} ${name}${flags({ name, namespace: cluster.namespace })}`;
      throw new KvError('Timeout', `it does not run after ${minutes} min (${why}): see ${describe}`);
    }
    if (why !== told) terminal.note(`Waiting for ${cluster.namespace}/${name}: ${why}`);
    told = why;
    await sleep(clock, POLL_MS, terminal.signal);
    if (terminal.signal.aborted) throw new KvError('Terminal', 'stopped while waiting');
  }
}
