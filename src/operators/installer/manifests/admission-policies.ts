// Node restriction: with the node agent's token a node can change only itself, and of itself only our labels and annotations.
// Checked by the API server (CEL), because the token lies on every node. Pure.
import { LABEL, type ValidatingAdmissionPolicy, type ValidatingAdmissionPolicyBinding } from '../../../api/index.js';
import { ACCOUNT } from './names.js';

const POLICY = 'kubevirt-node-restriction-policy';
const BINDING = 'kubevirt-node-restriction-binding';
const API_VERSION = 'admissionregistration.k8s.io/v1';
const NODE_NAME_CLAIM = 'authentication.kubernetes.io/node-name';
const MUTABLE_METADATA = ['labels', 'annotations', 'managedFields', 'resourceVersion'];

/** CEL: the keys of a map (maybe absent) that are not ours. */
const foreignKeys = (path: string): string => `(has(${path}) ? ${path} : {}).filter(k, !k.contains('kubevirt.io') && k != 'cpumanager')`;
const sameValues = (next: string, old: string, keys: string): string => `variables.${keys}.all(k, k in ${old} && ${next}[k] == ${old}[k])`;

const deny = (expression: string, message: string): { expression: string; message: string; reason: string } => ({
  expression,
  message,
  reason: 'Forbidden',
});

const metadataUnchanged = (): string => {
  const fixed = `!(k in [${MUTABLE_METADATA.map((name) => `'${name}'`).join(', ')}])`;
  const kept = (a: string, b: string, more: string): string => `${a}.metadata.filter(k, ${fixed}).all(k, k in ${b}.metadata${more})`;
  return `${kept('oldObject', 'object', '')} && ${kept('object', 'oldObject', ' && object.metadata[k] == oldObject.metadata[k]')}`;
};

function policy(namespace: string): ValidatingAdmissionPolicy {
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: POLICY },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['UPDATE'], resources: ['nodes'] }] },
      matchConditions: [
        {
          name: 'virt-handler-user-only',
          expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${ACCOUNT.handler}'`,
        },
      ],
      variables: [
        { name: 'ownNode', expression: `request.userInfo.extra[?'${NODE_NAME_CLAIM}'].orValue([''])[0]` },
        { name: 'oldLabels', expression: foreignKeys('oldObject.metadata.labels') },
        { name: 'newLabels', expression: foreignKeys('object.metadata.labels') },
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
  };
}

export function admissionPolicies(namespace: string): (ValidatingAdmissionPolicy | ValidatingAdmissionPolicyBinding)[] {
  return [
    policy(namespace),
    {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: BINDING, labels: { [LABEL.app]: 'kubevirt-node-restriction' } },
      spec: {
        policyName: POLICY,
        validationActions: ['Deny'],
        matchResources: { resourceRules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: ['nodes'] }] },
      },
    },
  ];
}
