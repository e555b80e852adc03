// Webhook configurations for the kinds that are served, and the operator's own guard of the KubeVirt CR. Pure.
import { LABEL, type MutatingWebhookConfiguration, type ValidatingWebhookConfiguration } from '../../../api/index.js';
import { SECRET, SERVICE } from './names.js';

type Webhook = NonNullable<ValidatingWebhookConfiguration['webhooks']>[number];
type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

interface Hook {
  readonly name: string;
  readonly path: string;
  readonly operations: readonly Operation[];
  readonly resources: readonly string[];
}

const hook = (name: string, path: string, operations: readonly Operation[], ...resources: readonly string[]): Hook => ({
  name,
  path,
  operations,
  resources,
});

const MUTATING = [
  hook('virtualmachines-mutator', '/virtualmachines-mutate', ['CREATE', 'UPDATE'], 'virtualmachines'),
  hook('virtualmachineinstances-mutator', '/virtualmachineinstances-mutate', ['CREATE', 'UPDATE'], 'virtualmachineinstances'),
];

const VALIDATING = [
  hook('virtualmachineinstances-create-validator', '/virtualmachineinstances-validate-create', ['CREATE'], 'virtualmachineinstances'),
  hook('virtualmachineinstances-update-validator', '/virtualmachineinstances-validate-update', ['UPDATE'], 'virtualmachineinstances'),
  hook('virtualmachine-validator', '/virtualmachines-validate', ['CREATE', 'UPDATE'], 'virtualmachines'),
  hook('kubevirt-crd-status-validator', '/status-validate', ['CREATE', 'UPDATE'], 'virtualmachines/status'),
];

export const OPERATOR_HOOK_PATH = {
  delete: '/kubevirt-validate-delete',
  update: '/kubevirt-validate-update',
  create: '/kubevirt-validate-create',
} as const;

const OPERATOR = [
  hook('kubevirt-validator', OPERATOR_HOOK_PATH.delete, ['DELETE'], 'kubevirts'),
  hook('kubevirt-update-validator', OPERATOR_HOOK_PATH.update, ['UPDATE'], 'kubevirts'),
  hook('kubevirt-create-validator', OPERATOR_HOOK_PATH.create, ['CREATE'], 'kubevirts'),
];

interface Target {
  readonly namespace: string;
  readonly service: string;
  readonly caBundle: string;
}

const webhook = ({ name, path, operations, resources }: Hook, { namespace, service, caBundle }: Target): Webhook => ({
  name: `${name}.kubevirt.io`,
  admissionReviewVersions: ['v1'],
  clientConfig: { service: { name: service, namespace, path }, caBundle: Buffer.from(caBundle).toString('base64') },
  rules: [{ apiGroups: ['kubevirt.io'], apiVersions: ['v1alpha3', 'v1'], operations: [...operations], resources: [...resources] }],
  failurePolicy: 'Fail',
  sideEffects: 'None',
  timeoutSeconds: 10,
});

const metadata = (name: string, secret: string): ValidatingWebhookConfiguration['metadata'] => ({
  name,
  labels: { [LABEL.app]: name },
  annotations: { 'certificates.kubevirt.io/secret': secret },
});

export function validatingWebhooks(namespace: string, caBundle: string): ValidatingWebhookConfiguration[] {
  const api: Target = { namespace, service: SERVICE.api, caBundle };
  const operator: Target = { namespace, service: SERVICE.operatorWebhook, caBundle };
  const configuration = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
  return [
    {
      ...configuration,
      metadata: metadata('virt-operator-validator', SECRET.operator),
      webhooks: OPERATOR.map((one) => webhook(one, operator)),
    },
    { ...configuration, metadata: metadata('virt-api-validator', SECRET.api), webhooks: VALIDATING.map((one) => webhook(one, api)) },
  ];
}

export function mutatingWebhooks(namespace: string, caBundle: string): MutatingWebhookConfiguration[] {
  return [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: metadata('virt-api-mutator', SECRET.api),
      webhooks: MUTATING.map((one) => webhook(one, { namespace, service: SERVICE.api, caBundle })),
    },
  ];
}
