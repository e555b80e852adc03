// The objects that a VM or VMI depends on, as a tree: what has to come along when it is backed up or moved. Pure; graph-verb.ts collects
// the facts that the object itself does not tell.
import type { VirtualMachine, VirtualMachineInstance, Volume } from '../api/index.js';
import type { Result } from '../base/result.js';
import { ok } from '../base/result.js';
import { selectorTest } from '../core/label-selector.js';

export interface GraphNode {
  readonly objectReference: { readonly apiGroup: string; readonly kind: string; readonly name: string; readonly namespace: string };
  readonly labels: Readonly<Record<string, string>>;
  readonly optional?: true;
  readonly children?: readonly GraphNode[];
}

export interface GraphOptions {
  /** Absent: true. */
  readonly includeOptionalNodes?: boolean;
  readonly labelSelector?: object;
}

export interface GraphFacts {
  readonly launcherPod?: string;
  /** Claims of addresses, in the VM's namespace. */
  readonly ipamClaims: readonly string[];
  /** Claims in which the guest's own state is kept (TPM, firmware variables). */
  readonly stateClaims: readonly string[];
}

const DEPENDENCY_LABEL = 'kubevirt.io/dependency-type';
const INSTANCETYPE = 'instancetype.kubevirt.io';
const CNI = 'k8s.cni.cncf.io';

const KINDS = {
  VirtualMachine: { group: 'kubevirt.io', type: 'compute' },
  VirtualMachineInstance: { group: 'kubevirt.io', type: 'compute' },
  VirtualMachineInstancetype: { group: INSTANCETYPE, type: 'config' },
  VirtualMachineClusterInstancetype: { group: INSTANCETYPE, type: 'config' },
  VirtualMachinePreference: { group: INSTANCETYPE, type: 'config' },
  VirtualMachineClusterPreference: { group: INSTANCETYPE, type: 'config' },
  ControllerRevision: { group: 'apps', type: 'config' },
  DataVolume: { group: 'cdi.kubevirt.io', type: 'storage' },
  PersistentVolumeClaim: { group: '', type: 'storage' },
  ConfigMap: { group: '', type: 'config' },
  Secret: { group: '', type: 'config' },
  ServiceAccount: { group: '', type: 'network' },
  Pod: { group: '', type: 'compute' },
  NetworkAttachmentDefinition: { group: CNI, type: 'network' },
  IPAMClaim: { group: CNI, type: 'network' },
} as const;

type Kind = keyof typeof KINDS;
type VmiSpec = VirtualMachineInstance['spec'];
type Make = (kind: Kind, name: string, rest?: Partial<Pick<GraphNode, 'optional' | 'children'>>) => GraphNode;

const isKind = (kind: string): kind is Kind => Object.hasOwn(KINDS, kind);

const maker =
  (namespace: string): Make =>
  (kind, name, rest = {}) => ({
    objectReference: { apiGroup: KINDS[kind].group, kind, name, namespace },
    labels: { [DEPENDENCY_LABEL]: KINDS[kind].type },
    ...rest,
  });

const clusterWide = maker('');

function cloudInitSecrets({ cloudInitNoCloud, cloudInitConfigDrive }: Volume): string[] {
  const { secretRef, networkDataSecretRef } = cloudInitNoCloud ?? cloudInitConfigDrive ?? {};
  return [secretRef?.name, networkDataSecretRef?.name].filter((name) => name !== undefined);
}

function volumeNodes(volume: Volume, make: Make): GraphNode[] {
  const { dataVolume, persistentVolumeClaim, configMap, secret } = volume;
  if (dataVolume) return [make('DataVolume', dataVolume.name, { children: [make('PersistentVolumeClaim', dataVolume.name)] })];
  if (persistentVolumeClaim) return [make('PersistentVolumeClaim', persistentVolumeClaim.claimName)];
  if (configMap) return configMap.name ? [make('ConfigMap', configMap.name)] : [];
  if (secret) return secret.secretName ? [make('Secret', secret.secretName)] : [];
  return cloudInitSecrets(volume).map((name) => make('Secret', name));
}

function credentialNodes(spec: VmiSpec, make: Make): GraphNode[] {
  const names = (spec.accessCredentials ?? []).map((c) => (c.sshPublicKey ?? c.userPassword)?.source.secret?.secretName);
  return names.filter((name) => name !== undefined).map((name) => make('Secret', name));
}

/** `namespace/name`, or a name in the VM's own namespace. */
function networkNodes(spec: VmiSpec, make: Make): GraphNode[] {
  const names = (spec.networks ?? []).map((network) => network.multus?.networkName ?? '').filter(Boolean);
  return names.map((full) => {
    const parts = full.split('/');
    const [namespace = '', name = ''] = parts;
    const own = parts.length === 2 ? maker(namespace) : make;
    return own('NetworkAttachmentDefinition', parts.length === 2 ? name : full, { optional: true });
  });
}

function specNodes(spec: VmiSpec, facts: GraphFacts, make: Make): GraphNode[] {
  return [
    ...credentialNodes(spec, make),
    ...(spec.volumes ?? []).flatMap((volume) => volumeNodes(volume, make)),
    ...facts.stateClaims.map((name) => make('PersistentVolumeClaim', name)),
    ...networkNodes(spec, make),
    ...facts.ipamClaims.map((name) => make('IPAMClaim', name, { optional: true })),
  ];
}

type Matcher = { readonly kind?: string; readonly name?: string; readonly revisionName?: string };
type MatcherStatus = { readonly controllerRevisionRef?: { readonly name?: string } };

function matcherNodes(matcher: Matcher | undefined, status: MatcherStatus | undefined, make: Make): GraphNode[] {
  if (!matcher) return [];
  const { kind = '', name = '' } = matcher;
  // Kinds may be written in any case.
  const known = Object.keys(KINDS).find((k) => k.toLowerCase() === kind.toLowerCase()) ?? '';
  const own = known.startsWith('VirtualMachineCluster') ? clusterWide : make;
  const revision = status ? status.controllerRevisionRef?.name : matcher.revisionName;
  return [
    ...(isKind(known) && name ? [own(known, name, { optional: true })] : []),
    ...(revision ? [make('ControllerRevision', revision)] : []),
  ];
}

const podNodes = ({ launcherPod }: GraphFacts, make: Make): GraphNode[] => (launcherPod ? [make('Pod', launcherPod)] : []);

function withChildren(children: readonly GraphNode[]): { children?: readonly GraphNode[] } {
  return children.length > 0 ? { children } : {};
}

export function vmGraph(vm: VirtualMachine, facts: GraphFacts): GraphNode {
  const { name = '', namespace = '' } = vm.metadata;
  const make = maker(namespace);
  const { instancetype, preference, template } = vm.spec;
  const children = [
    ...(vm.status?.created ? [make('VirtualMachineInstance', name, withChildren(podNodes(facts, make)))] : []),
    ...matcherNodes(instancetype, vm.status?.instancetypeRef, make),
    ...matcherNodes(preference, vm.status?.preferenceRef, make),
    ...(template.spec ? specNodes(template.spec, facts, make) : []),
  ];
  return make('VirtualMachine', name, withChildren(children));
}

export function vmiGraph(vmi: VirtualMachineInstance, facts: GraphFacts): GraphNode {
  const { name = '', namespace = '' } = vmi.metadata;
  const make = maker(namespace);
  return make('VirtualMachineInstance', name, withChildren([...podNodes(facts, make), ...specNodes(vmi.spec, facts, make)]));
}

/** Leaves out what is not asked for; with a node go the nodes below it. The root stays. An error says what is wrong with the selector. */
export function filterGraph(root: GraphNode, { includeOptionalNodes = true, labelSelector }: GraphOptions): Result<GraphNode, string> {
  const fits = selectorTest(labelSelector);
  if (!fits.ok) return fits;
  const isWanted = (node: GraphNode): boolean => (includeOptionalNodes || !node.optional) && fits.value(node.labels);
  const filter = ({ children = [], ...node }: GraphNode): GraphNode => ({
    ...node,
    ...withChildren(children.filter(isWanted).map(filter)),
  });
  return ok(filter(root));
}
