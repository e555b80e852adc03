// Node restriction: with the node agent's token a node can change only itself, and of itself only our labels and annotations, and of
// virtual machines only the state of those that run on it or move to or from it. Checked by the API server (CEL), because the token
// lies on every node. Pure.
import { LABEL, type ValidatingAdmissionPolicy, type ValidatingAdmissionPolicyBinding } from '../../../api/index.js';
import { ACCOUNT } from './names.js';
import { deny, type PolicyObject, policyWithBinding } from './policy-parts.js';

const NODE_NAME_CLAIM = 'authentication.kubernetes.io/node-name';
const MUTABLE_METADATA = ['labels', 'annotations', 'managedFields', 'resourceVersion'];

/** The token names the node of the pod that it was given to; empty for a token that is bound to none. */
const OWN_NODE = { name: 'ownNode', expression: `request.userInfo.extra[?'${NODE_NAME_CLAIM}'].orValue([''])[0]` };

/** CEL: the keys of a map (maybe absent) that are not ours. */
const foreignKeys = (path: string, more = ''): string => `(has(${path}) ? ${path} : {}).filter(k, !k.contains('kubevirt.io')${more})`;
/** The CPU manager's state is a node label without our prefix. */
const foreignLabels = (path: string): string => foreignKeys(path, " && k != 'cpumanager'");
const sameValues = (next: string, old: string, keys: string): string => `variables.${keys}.all(k, k in ${old} && ${next}[k] == ${old}[k])`;

const metadataUnchanged = (): string => {
  const fixed = `!(k in [${MUTABLE_METADATA.map((name) => `'${name}'`).join(', ')}])`;
  const kept = (a: string, b: string, more: string): string => `${a}.metadata.filter(k, ${fixed}).all(k, k in ${b}.metadata${more})`;
  return `${kept('oldObject', 'object', '')} && ${kept('object', 'oldObject', ' && object.metadata[k] == oldObject.metadata[k]')}`;
};

/** Policies of this file judge only the node agent. */
const agentOnly = (namespace: string): { name: string; expression: string }[] => [
  { name: 'virt-handler-user-only', expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${ACCOUNT.handler}'` },
];

const nodePolicy = (namespace: string): PolicyObject[] =>
  policyWithBinding('kubevirt-node-restriction', {
    match: { apiGroups: [''], apiVersions: ['*'], operations: ['UPDATE'], resources: ['nodes'] },
    bindTo: { apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: ['nodes'] },
    spec: {
      matchConditions: agentOnly(namespace),
      variables: [
        OWN_NODE,
        { name: 'oldLabels', expression: foreignLabels('oldObject.metadata.labels') },
        { name: 'newLabels', expression: foreignLabels('object.metadata.labels') },
        { name: 'oldAnnotations', expression: foreignKeys('oldObject.metadata.annotations') },
        { name: 'newAnnotations', expression: foreignKeys('object.metadata.annotations') },
      ],
      validations: [
        deny('object.metadata.name == variables.ownNode', 'this user cannot modify this node'),
        deny('object.spec == oldObject.spec', 'this user cannot modify spec of node'),
        deny(metadataUnchanged(), 'this user can only change allowed metadata fields'),
        deny('size(variables.newLabels) == size(variables.oldLabels)', 'this user cannot add/delete non kubevirt-owned labels'),
        deny(
          sameValues('object.metadata.labels', 'oldObject.metadata.labels', 'newLabels'),
          'this user cannot update non kubevirt-owned labels',
        ),
        deny(
          'size(variables.newAnnotations) == size(variables.oldAnnotations)',
          'this user cannot add/delete non kubevirt-owned annotations',
        ),
        deny(
          sameValues('object.metadata.annotations', 'oldObject.metadata.annotations', 'newAnnotations'),
          'this user cannot update non kubevirt-owned annotations',
        ),
      ],
    },
  });

/** Where a VMI is, and during a migration where it comes from and goes to: as it was before the change. */
const NODES_OF_VMI = [
  `oldObject.metadata.?labels[?'${LABEL.nodeName}']`,
  `oldObject.metadata.?labels[?'${LABEL.migrationTargetNodeName}']`,
  'oldObject.?status.?nodeName',
  'oldObject.?status.?migrationState.?sourceNode',
  'oldObject.?status.?migrationState.?targetNode',
].map((path) => `string(${path}.orValue(''))`); // a list needs one type, and the status has none where the CRD says little of it

const vmiPolicy = (namespace: string): PolicyObject[] => {
  const match = { apiGroups: ['kubevirt.io'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['virtualmachineinstances'] };
  return policyWithBinding('kubevirt-vmi-restriction', {
    match,
    bindTo: match,
    spec: {
      matchConditions: agentOnly(namespace),
      variables: [OWN_NODE, { name: 'nodes', expression: `[${NODES_OF_VMI.join(', ')}]` }],
      validations: [
        deny("variables.ownNode != '' && variables.ownNode in variables.nodes", 'this user cannot modify this virtual machine instance'),
        deny('object.spec == oldObject.spec', 'this user cannot modify spec of virtual machine instance'),
      ],
    },
  });
};

export function admissionPolicies(namespace: string): (ValidatingAdmissionPolicy | ValidatingAdmissionPolicyBinding)[] {
  return [...nodePolicy(namespace), ...vmiPolicy(namespace)];
}
