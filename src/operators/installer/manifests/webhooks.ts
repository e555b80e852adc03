// Webhook configurations: a row for each kind and operation that virt-api or virt-operator checks or completes. Pure.
import { LABEL, type MutatingWebhookConfiguration, type ValidatingWebhookConfiguration } from '../../../api/index.js';
import { SECRET, SERVICE } from './names.js';

type Webhook = NonNullable<ValidatingWebhookConfiguration['webhooks']>[number];
type MutatingWebhook = NonNullable<MutatingWebhookConfiguration['webhooks']>[number];
type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | '*';

interface Hook {
  /** Without `.kubevirt.io`. */
  readonly name: string;
  readonly path: string;
  readonly operations: readonly Operation[];
  /** Group and versions, as `group/v1,v1beta1`. */
  readonly api: string;
  readonly resources: readonly string[];
  readonly rest?: Partial<Webhook>;
}

const CREATE: readonly Operation[] = ['CREATE'];
const UPDATE: readonly Operation[] = ['UPDATE'];
const BOTH: readonly Operation[] = ['CREATE', 'UPDATE'];

/** The one version that a request is converted to before it is shown to us; kubevirt.io's two are the same. */
const API = {
  core: 'kubevirt.io/v1alpha3,v1',
  pool: 'pool.kubevirt.io/v1beta1',
  snapshot: 'snapshot.kubevirt.io/v1beta1',
  backup: 'backup.kubevirt.io/v1alpha1',
  export: 'export.kubevirt.io/v1',
  instancetype: 'instancetype.kubevirt.io/v1beta1',
  migrations: 'migrations.kubevirt.io/v1alpha1',
  clone: 'clone.kubevirt.io/v1beta1',
  plugin: 'plugin.kubevirt.io/v1alpha1',
  pods: '/v1',
} as const;

type Row = readonly [name: string, path: string, operations: readonly Operation[], api: string, ...resources: string[]];

const hook = ([name, path, operations, api, ...resources]: Row): Hook => ({ name, path, operations, api, resources });

const MUTATING: readonly Hook[] = (
  [
    ['virtualmachines-mutator', '/virtualmachines-mutate', BOTH, API.core, 'virtualmachines'],
    ['virtualmachineinstances-mutator', '/virtualmachineinstances-mutate', BOTH, API.core, 'virtualmachineinstances'],
    ['migrations-mutator', '/migration-mutate-create', CREATE, API.core, 'virtualmachineinstancemigrations'],
    ['virtualmachineclones-mutator', '/vm-clone-mutate-create', CREATE, API.clone, 'virtualmachineclones'],
  ] satisfies Row[]
).map(hook);

/** Pods whose names start like those that hold guests, or their hot-plugged volumes. An eviction's own name is the pod's. */
const eviction = (name: string, condition: string, prefix: string): Hook => ({
  ...hook([name, '/pod-eviction-validate', ['*'], API.pods, 'pods/eviction']),
  rest: {
    // It may mark the VMI for evacuation.
    sideEffects: 'NoneOnDryRun',
    matchConditions: [{ name: condition, expression: `object.metadata.name.startsWith("${prefix}")` }],
  },
});

const INSTANCETYPE_KINDS = ['instancetype', 'clusterinstancetype', 'preference', 'clusterpreference'];

const VALIDATING: readonly Hook[] = [
  eviction('virt-launcher-eviction-interceptor', 'only-vms', 'virt-launcher'),
  eviction('hotplug-pod-eviction-interceptor', 'only-hotplug-pods', 'hp-volume-'),
  ...(
    [
      ['virtualmachineinstances-create-validator', '/virtualmachineinstances-validate-create', CREATE, API.core, 'virtualmachineinstances'],
      ['virtualmachineinstances-update-validator', '/virtualmachineinstances-validate-update', UPDATE, API.core, 'virtualmachineinstances'],
      ['virtualmachine-validator', '/virtualmachines-validate', BOTH, API.core, 'virtualmachines'],
      ['virtualmachinereplicaset-validator', '/virtualmachinereplicaset-validate', BOTH, API.core, 'virtualmachineinstancereplicasets'],
      ['virtualmachinepool-validator', '/virtualmachinepool-validate', BOTH, API.pool, 'virtualmachinepools'],
      ['virtualmachinepreset-validator', '/vmipreset-validate', BOTH, API.core, 'virtualmachineinstancepresets'],
      ['migration-create-validator', '/migration-validate-create', CREATE, API.core, 'virtualmachineinstancemigrations'],
      ['migration-update-validator', '/migration-validate-update', UPDATE, API.core, 'virtualmachineinstancemigrations'],
      ['virtualmachinesnapshot-validator.snapshot', '/virtualmachinesnapshots-validate', BOTH, API.snapshot, 'virtualmachinesnapshots'],
      ['virtualmachinerestore-validator.snapshot', '/virtualmachinerestores-validate', BOTH, API.snapshot, 'virtualmachinerestores'],
      ['virtualmachinebackup-validator.backup', '/virtualmachinebackups-validate', BOTH, API.backup, 'virtualmachinebackups'],
      [
        'virtualmachinebackuptracker-validator.backup',
        '/virtualmachinebackuptrackers-validate',
        BOTH,
        API.backup,
        'virtualmachinebackuptrackers',
      ],
      ['virtualmachineexport-validator.export', '/virtualmachineexports-validate', BOTH, API.export, 'virtualmachineexports'],
      ...INSTANCETYPE_KINDS.map((kind): Row => {
        const resource = `virtualmachine${kind}s`;
        return [`virtualmachine${kind}-validator.instancetype`, `/${resource}-validate`, BOTH, API.instancetype, resource];
      }),
      [
        'kubevirt-crd-status-validator',
        '/status-validate',
        BOTH,
        API.core,
        'virtualmachines/status',
        'virtualmachineinstancereplicasets/status',
        'virtualmachineinstancemigrations/status',
      ],
      ['migration-policy-validator', '/migration-policy-validate-create', BOTH, API.migrations, 'migrationpolicies'],
      ['vm-clone-validator', '/vm-clone-validate-create', BOTH, API.clone, 'virtualmachineclones'],
      ['plugin-validator.plugin', '/plugin-validate', BOTH, API.plugin, 'plugins'],
    ] satisfies Row[]
  ).map(hook),
];

export const OPERATOR_HOOK_PATH = {
  delete: '/kubevirt-validate-delete',
  update: '/kubevirt-validate-update',
  create: '/kubevirt-validate-create',
} as const;

const OPERATOR: readonly Hook[] = (
  [
    ['kubevirt-validator', OPERATOR_HOOK_PATH.delete, ['DELETE'], API.core, 'kubevirts'],
    ['kubevirt-update-validator', OPERATOR_HOOK_PATH.update, UPDATE, API.core, 'kubevirts'],
    ['kubevirt-create-validator', OPERATOR_HOOK_PATH.create, CREATE, API.core, 'kubevirts'],
  ] satisfies Row[]
).map(hook);

const LAUNCHER_PODS = hook(['virt-launcher-pod-mutator', '/virt-launcher-pod-mutate', CREATE, API.pods, 'pods']);

/** A pod is created even while virt-api is away; the mutator runs again when another one changed the pod after it. */
const LAUNCHER_PODS_REST: Partial<MutatingWebhook> = {
  failurePolicy: 'Ignore',
  reinvocationPolicy: 'IfNeeded',
  objectSelector: { matchLabels: { [LABEL.app]: 'virt-launcher' } },
};

/** Every path that virt-api is asked on. */
export const API_HOOK_PATHS: readonly string[] = [...new Set([...MUTATING, ...VALIDATING, LAUNCHER_PODS].map(({ path }) => path))];

interface Target {
  readonly namespace: string;
  readonly service: string;
  readonly caBundle: string;
}

function webhook({ name, path, operations, api, resources, rest }: Hook, { namespace, service, caBundle }: Target): Webhook {
  const [group = '', versions = ''] = api.split('/');
  return {
    name: `${name}.kubevirt.io`,
    admissionReviewVersions: ['v1'],
    clientConfig: { service: { name: service, namespace, path }, caBundle: Buffer.from(caBundle).toString('base64') },
    rules: [{ apiGroups: [group], apiVersions: versions.split(','), operations: [...operations], resources: [...resources] }],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    timeoutSeconds: 10,
    ...rest,
  };
}

const metadata = (name: string, secret: string): ValidatingWebhookConfiguration['metadata'] => ({
  name,
  labels: { [LABEL.app]: name },
  annotations: { 'certificates.kubevirt.io/secret': secret },
});

const API_VERSION = 'admissionregistration.k8s.io/v1';

export function validatingWebhooks(namespace: string, caBundle: string): ValidatingWebhookConfiguration[] {
  const api: Target = { namespace, service: SERVICE.api, caBundle };
  const operator: Target = { namespace, service: SERVICE.operatorWebhook, caBundle };
  const configuration = { apiVersion: API_VERSION, kind: 'ValidatingWebhookConfiguration' };
  return [
    {
      ...configuration,
      metadata: metadata('virt-operator-validator', SECRET.operator),
      webhooks: OPERATOR.map((one) => webhook(one, operator)),
    },
    { ...configuration, metadata: metadata('virt-api-validator', SECRET.api), webhooks: VALIDATING.map((one) => webhook(one, api)) },
  ];
}

/** `containerPaths`: also shows virt-api the launcher pods, before they are created. */
export function mutatingWebhooks(namespace: string, caBundle: string, containerPaths: boolean): MutatingWebhookConfiguration[] {
  const target: Target = { namespace, service: SERVICE.api, caBundle };
  const mutator = (name: string, webhooks: MutatingWebhook[]): MutatingWebhookConfiguration => ({
    apiVersion: API_VERSION,
    kind: 'MutatingWebhookConfiguration',
    metadata: metadata(name, SECRET.api),
    webhooks,
  });
  return [
    mutator(
      'virt-api-mutator',
      MUTATING.map((one) => webhook(one, target)),
    ),
    ...(containerPaths ? [mutator('virt-launcher-pod-mutator', [{ ...webhook(LAUNCHER_PODS, target), ...LAUNCHER_PODS_REST }])] : []),
  ];
}
