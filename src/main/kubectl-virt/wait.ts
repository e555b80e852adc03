// Waits until a machine runs, telling what it waits for. Used before console and display are opened.
import type { VirtualMachineInstance } from '../../api/index.js';
import { type Clock, sleep } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import type { Cluster } from './cluster.js';
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

/** Resolves when it runs; throws when it has ended, or when `minutes` have passed. */
export async function waitUntilRunning(
  cluster: Pick<Cluster, 'vmi' | 'namespace'>,
  name: string,
  minutes: number,
  { clock, terminal }: { readonly clock: Clock; readonly terminal: Terminal },
): Promise<void> {
  const deadline = clock.now() + minutes * 60_000;
  let told = '';
  for (;;) {
    const vmi = await cluster.vmi(name);
    const phase = vmi?.status?.phase ?? '';
    if (phase === 'Running') return;
    const why = waitingFor(vmi);
    if (FINAL.includes(phase))
      throw new KvError('Terminal', `the machine has ended (${why}): see kubectl describe vmi ${name} -n ${cluster.namespace}`);
    if (clock.now() >= deadline)
      throw new KvError(
        'Timeout',
        `it does not run after ${minutes} min (${why}): see kubectl describe vmi ${name} -n ${cluster.namespace}`,
      );
    if (why !== told) terminal.note(`Waiting for ${cluster.namespace}/${name}: ${why}`);
    told = why;
    await sleep(clock, POLL_MS, terminal.signal);
    if (terminal.signal.aborted) throw new KvError('Terminal', 'stopped while waiting');
  }
}
