// The node controller's shell: notices nodes whose agent fell silent, takes them out of scheduling and fails the guests that
// went down with them, so that their VMs can start elsewhere.
import { keyOf, LABEL, type Node, type Pod, type VirtualMachineInstance } from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import { guarded, mapOps, testUid } from '../../runtime/patch.js';
import { NODES, PODS, VIRTUAL_MACHINE_INSTANCES } from '../../runtime/resources.js';
import type { Controller, EventRecorder, KubeClient, Manager, Reconcile, Store } from '../../runtime/types.js';
import { VIRT_PODS } from '../vmi/controller.js';
import { PODS_BY_OWNER } from '../vmi/reconciler.js';
import { launchersOf } from '../vmi/sight.js';
import { decideNode, type NodePlan, type SeenNode } from './decide.js';

const VMIS_BY_NODE = 'node';
const REASON = 'NodeUnresponsive';

const text = {
  node: 'virt-handler is not responsive, marking node as unresponsive',
  vmi: (node: string) => `virt-handler on node ${node} is not responsive, marking VMI as failed`,
};

interface NodeDeps {
  readonly nodes: Store<Node>;
  readonly vmis: Store<VirtualMachineInstance>;
  readonly pods: Store<Pod>;
  readonly client: KubeClient;
  readonly events: EventRecorder;
}

async function failVmi(d: NodeDeps, vmi: VirtualMachineInstance, node: string, now: number): Promise<void> {
  const transitions = vmi.status?.phaseTransitionTimestamps;
  const ops = [
    ...testUid(vmi),
    ...guarded('/status/phase', vmi.status?.phase, 'Failed'),
    ...guarded('/status/reason', vmi.status?.reason, REASON),
    ...guarded('/status/phaseTransitionTimestamps', transitions, [
      ...(transitions ?? []),
      { phase: 'Failed', phaseTransitionTimestamp: metaTime(now) },
    ]),
  ];
  await d.client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, keyOf(vmi), ops);
  d.events.event(vmi, 'Normal', REASON, text.vmi(node));
}

/**
 * The same node as the API server has it now. Caches are filled apart from each other: that of nodes may not show one yet on which guests
 * run already, or a heartbeat of minutes ago, and that of pods may lack a launcher.
 */
async function asItIs(d: NodeDeps, seen: SeenNode, { lost }: NodePlan): Promise<SeenNode> {
  const node = await d.client.find(NODES, seen.name);
  const found = await Promise.all(lost.map(async (vmi) => [vmi.metadata.uid, await launchersOf(d.client, vmi)] as const));
  const pods = new Map(found);
  return { ...seen, node, podsOf: (vmi) => pods.get(vmi.metadata.uid) ?? seen.podsOf(vmi) };
}

async function perform(d: NodeDeps, { name, node }: SeenNode, plan: NodePlan, now: number): Promise<void> {
  if (plan.markUnschedulable && node) {
    await d.client.jsonPatch(NODES, name, mapOps('/metadata/labels', node.metadata.labels, { [LABEL.schedulable]: 'false' }));
    d.events.event(node, 'Warning', REASON, text.node);
  }
  for (const vmi of plan.lost) await failVmi(d, vmi, name, now);
}

const reconcileNode =
  (d: NodeDeps): Reconcile =>
  async (name, ctx) => {
    const seen: SeenNode = {
      name,
      node: d.nodes.get(name),
      vmis: d.vmis.byIndex(VMIS_BY_NODE, name),
      podsOf: (vmi) => d.pods.byIndex(PODS_BY_OWNER, vmi.metadata.uid ?? ''),
    };
    let plan = decideNode(seen, ctx.now());
    if (plan.markUnschedulable || plan.lost.length > 0) {
      const now = await asItIs(d, seen, plan);
      plan = decideNode(now, ctx.now());
      await perform(d, now, plan, ctx.now());
    }
    return plan.recheckMs === undefined ? undefined : { afterMs: plan.recheckMs, why: 'next look at the heartbeat' };
  };

const nodeKeys = (vmi: VirtualMachineInstance): string[] => (vmi.status?.nodeName ? [vmi.status.nodeName] : []);

/** After startVmiController: the pod store's owner index is the VMI controller's. */
export function startNodeController(manager: Manager, { workers = 2 }: { workers?: number } = {}): Controller {
  const nodes = manager.informer(NODES);
  const vmis = manager.informer(VIRTUAL_MACHINE_INSTANCES);
  const pods = manager.informer(PODS, VIRT_PODS);
  vmis.addIndex(VMIS_BY_NODE, nodeKeys);
  return manager.controller({
    name: 'virt-controller-node',
    workers,
    reconcile: reconcileNode({
      nodes: nodes.store,
      vmis: vmis.store,
      pods: pods.store,
      client: manager.client,
      events: manager.events('node-controller'),
    }),
    sources: [
      // Heartbeats and kubelet status change a node often; the minute's recheck sees them. Only what decides is an event.
      { informer: nodes, keys: (node, old) => (old && sameForUs(node, old) ? [] : [keyOf(node)]) },
      { informer: vmis, keys: (vmi, old) => (old && vmi.status?.nodeName === old.status?.nodeName ? [] : nodeKeys(vmi)) },
    ],
  });
}

const sameForUs = (a: Node, b: Node): boolean => a.metadata.labels?.[LABEL.schedulable] === b.metadata.labels?.[LABEL.schedulable];
