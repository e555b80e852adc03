// Handlers of objectgraph: collects the objects around a VM or VMI that its own fields do not name, and answers with the tree.
import type { VirtualMachineInstance } from '../api/index.js';
import { LABEL, LAUNCHER_POD } from '../api/labels.js';
import { hasCode } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { type Handler, type HttpRequest, json } from '../http/index.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { answering, keyOf, nameOf } from './handling.js';
import { filterGraph, type GraphFacts, type GraphNode, type GraphOptions, vmGraph, vmiGraph } from './object-graph.js';
import { OBJECT_GRAPH_FIELDS, parseOptions } from './options.js';
import { badRequest, notFound, type ResourceKind, statusAnswer } from './status.js';

export interface GraphDeps {
  readonly client: KubeClient;
  readonly config: () => ClusterConfig;
  readonly log: Logger;
}

const GATE_OFF = badRequest('ObjectGraph feature gate not enabled: Unable to return object graph.');
/** Set by what makes these objects. */
const IPAM_VM_LABEL = 'kubevirt.io/vm';

async function launcherPod({ client }: GraphDeps, vmi: VirtualMachineInstance | undefined): Promise<string | undefined> {
  if (!vmi?.metadata.uid || !vmi.metadata.namespace) return undefined;
  const labelSelector = `${LABEL.app}=${LAUNCHER_POD},${LABEL.createdBy}=${vmi.metadata.uid}`;
  const { items } = await client.list(PODS, { namespace: vmi.metadata.namespace, labelSelector });
  // During a migration there are two: the one that the guest is in counts.
  return (items.find((pod) => pod.spec?.nodeName === vmi.status?.nodeName) ?? items[0])?.metadata.name;
}

/** Few clusters have them; the others do not know the kind, or do not let us read it. */
async function ipamClaims({ client }: GraphDeps, namespace: string, name: string): Promise<readonly string[]> {
  const selector = new URLSearchParams({ labelSelector: `${IPAM_VM_LABEL}=${name}` });
  try {
    const list = await client.raw(
      'GET',
      `/apis/k8s.cni.cncf.io/v1alpha1/namespaces/${encodeURIComponent(namespace)}/ipamclaims?${selector}`,
    );
    const { items = [] } = list as { items?: readonly { metadata?: { name?: string } }[] };
    return items.map((item) => item.metadata?.name ?? '').filter(Boolean);
  } catch (err) {
    if (hasCode(err, 'NotFound', 'Forbidden')) return [];
    throw err;
  }
}

async function factsOf(
  deps: GraphDeps,
  request: HttpRequest,
  vmi: VirtualMachineInstance | undefined,
  networks: number,
): Promise<GraphFacts> {
  const { ns = '', name = '' } = request.params;
  const [pod, ipam, state] = await Promise.all([
    launcherPod(deps, vmi),
    networks > 0 ? ipamClaims(deps, ns, name) : [],
    deps.client.list(PERSISTENT_VOLUME_CLAIMS, { namespace: ns, labelSelector: `${LABEL.stateOf}=${name}` }),
  ]);
  const stateClaims = state.items.map((pvc) => pvc.metadata.name ?? '').filter(Boolean);
  return { ...(pod ? { launcherPod: pod } : {}), ipamClaims: ipam, stateClaims };
}

type Draw = (deps: GraphDeps, request: HttpRequest) => Promise<GraphNode | undefined>;

const drawVm: Draw = async (deps, request) => {
  const vm = await deps.client.find(VIRTUAL_MACHINES, keyOf(request));
  if (!vm) return undefined;
  const vmi = vm.status?.created ? await deps.client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request)) : undefined;
  return vmGraph(vm, await factsOf(deps, request, vmi, vm.spec.template.spec?.networks?.length ?? 0));
};

const drawVmi: Draw = async (deps, request) => {
  const vmi = await deps.client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
  return vmi && vmiGraph(vmi, await factsOf(deps, request, vmi, vmi.spec.networks?.length ?? 0));
};

const graphVerb =
  (deps: GraphDeps, kind: ResourceKind, draw: Draw): Handler =>
  async (request) => {
    if (!deps.config().isEnabled('ObjectGraph')) return statusAnswer(GATE_OFF);
    const root = await draw(deps, request);
    if (!root) return statusAnswer(notFound(kind, nameOf(request)));
    const options = parseOptions<GraphOptions>(request.body, OBJECT_GRAPH_FIELDS);
    if (!options.ok) return statusAnswer(options.error);
    const graph = filterGraph(root, options.value);
    return graph.ok ? json(200, graph.value) : statusAnswer(badRequest(`labelSelector: ${graph.error}`));
  };

export const vmGraphHandler = (deps: GraphDeps): Handler => answering(graphVerb(deps, 'virtualmachine', drawVm), deps.log);
export const vmiGraphHandler = (deps: GraphDeps): Handler => answering(graphVerb(deps, 'virtualmachineinstance', drawVmi), deps.log);
