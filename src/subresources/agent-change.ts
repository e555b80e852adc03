// A virt-handler that is being replaced: which of a node's pods is the one to ask, and whether a failure will have passed in a moment. Pure;
// node-agent.ts asks, and waits.
import { isDeleting, type Pod, type VirtualMachineInstance } from '../api/index.js';
import { isKvError } from '../base/errors.js';
import { fail, ok, type Result } from '../base/result.js';
import { badRequest, type StatusError } from './status.js';

export interface AgentFailure {
  readonly error: StatusError;
  /** The next virt-handler, or the same one in a moment, may do it; this one has not begun. */
  readonly passes: boolean;
}

/** As long a client waits for the next virt-handler at most, and between two looks for it. */
export const PATIENCE_MS = 10_000;
export const LOOK_AGAIN_MS = 300;

const lasting = (error: StatusError): AgentFailure => ({ error, passes: false });
const passing = (error: StatusError): AgentFailure => ({ error, passes: true });

/** Chooses among the agent pods of one node: one that goes counts only while there is no other. */
export function agentPod(vmi: VirtualMachineInstance, pods: readonly Pod[]): Result<Pod, AgentFailure> {
  const phase = vmi.status?.phase ?? '';
  if (phase !== 'Running' && phase !== 'Scheduled') {
    const where = 'Unable to connect to VirtualMachineInstance because phase is';
    return fail(lasting(badRequest(`${where} ${phase} instead of Running or Scheduled`)));
  }
  const staying = pods.filter((pod) => !isDeleting(pod));
  const [pod, ...others] = staying.length > 0 ? staying : pods;
  if (!pod) return fail(passing(badRequest(`No virt-handler on node ${vmi.status?.nodeName ?? ''} found`)));
  if (others.length > 0) return fail(passing(badRequest(`Expected to find one Pod, found ${pods.length} Pods`)));
  return pod.status?.podIP ? ok(pod) : fail(passing(badRequest(`virt-handler pod ${pod.metadata.name} has no address yet`)));
}

/** No connection: nothing can have been begun. */
const NOT_REACHED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

function codeOf(err: unknown): string | undefined {
  const cause = isKvError(err) ? err.cause : err;
  return (cause as NodeJS.ErrnoException | undefined)?.code;
}

/** Opening a stream anew harms nobody; a command may have been carried out although the connection broke. */
export function isPassingFault(err: unknown, isStream: boolean): boolean {
  return NOT_REACHED.has(codeOf(err) ?? '') || (isStream && codeOf(err) === 'ECONNRESET');
}

/** What an agent says that has just begun and does not know the node's guests yet, or has not reached their launchers. */
const BEGINNING =
  /does not run on this node$|is not reachable \((starting|initialising)\)|the process of the launcher of .* is not known yet/;

export const isPassingAnswer = (status: number, body: string): boolean => (status === 404 || status === 500) && BEGINNING.test(body.trim());
