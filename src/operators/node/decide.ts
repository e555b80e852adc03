// When is a node lost to us, and what becomes of the guests on it? Pure.
import { ANNOTATION, LABEL, type Node, type Pod, type VirtualMachineInstance } from '../../api/index.js';
import { isPodDown } from '../vmi/pod-state.js';
import { isFinal } from '../vmi/seen.js';

export const HEARTBEAT_TIMEOUT_MS = 5 * 60_000;
export const RECHECK_MS = 60_000;

export interface SeenNode {
  readonly name: string;
  /** undefined: the node object is gone. */
  readonly node: Node | undefined;
  /** VMIs whose status names the node. */
  readonly vmis: readonly VirtualMachineInstance[];
  readonly podsOf: (vmi: VirtualMachineInstance) => readonly Pod[];
}

export interface NodePlan {
  /** The node must take no further guests. */
  readonly markUnschedulable: boolean;
  /** Guests that cannot be alive. */
  readonly lost: readonly VirtualMachineInstance[];
  readonly recheckMs?: number;
}

function isUnresponsive(node: Node | undefined, now: number): boolean {
  if (!node) return true;
  const beat = node.metadata.annotations?.[ANNOTATION.heartbeat];
  return beat !== undefined && now - Date.parse(beat) > HEARTBEAT_TIMEOUT_MS;
}

/** A pod on a vanished node is alive only on paper. */
function hasLivePod({ node, podsOf }: SeenNode, vmi: VirtualMachineInstance): boolean {
  return node !== undefined && podsOf(vmi).some((pod) => !isPodDown(pod));
}

export function decideNode(seen: SeenNode, now: number): NodePlan {
  const recheck = seen.node || seen.vmis.some((vmi) => !isFinal(vmi)) ? { recheckMs: RECHECK_MS } : {};
  if (!isUnresponsive(seen.node, now)) {
    const isOurs = seen.node?.metadata.annotations?.[ANNOTATION.heartbeat] !== undefined;
    return { markUnschedulable: false, lost: [], ...(isOurs ? recheck : {}) };
  }
  return {
    markUnschedulable: seen.node?.metadata.labels?.[LABEL.schedulable] === 'true',
    lost: seen.vmis.filter((vmi) => !isFinal(vmi) && !hasLivePod(seen, vmi)),
    ...recheck,
  };
}
