// Admission of plugins and of the sidecars that they put into launcher pods, evaluated by the API server itself (CEL); part of an
// installation with the gate Plugins. Pure.
import { LABEL } from '../../../api/index.js';
import { type MatchRule, type PolicyObject, policyWithBinding, refuse } from './policy-parts.js';

const PLUGINS: MatchRule = {
  apiGroups: ['plugin.kubevirt.io'],
  apiVersions: ['v1alpha1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['plugins'],
};
const PODS: MatchRule = {
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['pods', 'pods/ephemeralcontainers'],
};

const SOCKETS_VOLUME = 'kubevirt-plugin-sockets';
const NODE_HOOKS = ['VMStart', 'VMStop', 'MigrationSource', 'MigrationTarget'].flatMap((point) => [`Pre${point}`, `Post${point}`]);

const listOf = (values: readonly string[]): string => `[${values.map((value) => `'${value}'`).join(', ')}]`;
const STRATEGIES = listOf(['Fail', 'Ignore']);

/** CEL: true for every item of an optional list of the spec. */
const every = (list: string, item: string, holds: string): string => `object.spec.?${list}.orValue([]).all(${item}, ${holds})`;
const strategyOf = (path: string): string => `${path}.?failureStrategy.orValue('Fail') in ${STRATEGIES}`;

/** CEL: every other container of this list that mounts the sockets sees only a folder of its own. */
const subPathsOf = (list: string): string => {
  const mounts = `c.?volumeMounts.orValue([]).filter(m, m.name == '${SOCKETS_VOLUME}')`;
  return every(list, 'c', `${list === 'containers' ? "c.name == 'compute' || " : ''}${mounts}.all(m, m.?subPath.orValue('') != '')`);
};

const CONTAINER_LISTS = ['containers', 'initContainers', 'ephemeralContainers'];
const ofSidecars = (holds: string): string => every('domainHooks', 'h', `!has(h.sidecar) || ${holds}`);
const SOCKET = 'h.sidecar.socketPath';

const ADMISSION_LISTS = [
  'mutatingAdmissionPolicies',
  'validatingAdmissionPolicies',
  'mutatingAdmissionWebhooks',
  'validatingAdmissionWebhooks',
];
const anyOf = (lists: readonly string[]): string => lists.map((list) => `size(object.spec.?${list}.orValue([])) > 0`).join(' || ');

const STRATEGY_MESSAGE = "failureStrategy must be either 'Fail' or 'Ignore'";

const HOOK_RULES = [
  refuse(every('domainHooks', 'h', 'has(h.cel) != has(h.sidecar)'), 'exactly one of cel or sidecar must be specified for each domain hook'),
  refuse(every('domainHooks', 'h', strategyOf('h')), STRATEGY_MESSAGE),
  refuse(every('nodeHooks', 'h', strategyOf('h')), STRATEGY_MESSAGE),
  refuse(
    every('nodeHooks', 'h', `h.permittedHooks.all(p, p in ${listOf(NODE_HOOKS)})`),
    'permittedHooks must only contain valid node hook points',
  ),
  refuse(strategyOf('object.spec'), STRATEGY_MESSAGE),
];

export function pluginPolicies(): PolicyObject[] {
  const ofPlugins = { match: PLUGINS, bindTo: PLUGINS };
  return [
    ...policyWithBinding('kubevirt-plugin-sidecar-subpath', {
      match: PODS,
      bindTo: PODS,
      objectLabels: { [LABEL.app]: 'virt-launcher' },
      spec: {
        validations: [
          refuse(
            CONTAINER_LISTS.map(subPathsOf).join(' && '),
            'sidecar containers must use subPath when mounting the plugin socket volume',
          ),
        ],
      },
    }),
    ...policyWithBinding('kubevirt-plugin-socket-path', {
      ...ofPlugins,
      spec: {
        validations: [
          refuse(ofSidecars(`${SOCKET}.endsWith('.sock')`), 'sidecar socketPath must end with .sock'),
          refuse(ofSidecars(`size(${SOCKET}) <= 108`), 'sidecar socketPath must not exceed 108 characters (Unix socket limit)'),
          refuse(
            ofSidecars(`${SOCKET}.startsWith('/var/run/kubevirt-plugin/' + object.metadata.name + '/')`),
            'sidecar socketPath must start with /var/run/kubevirt-plugin/<plugin-name>/',
          ),
        ],
      },
    }),
    ...policyWithBinding('kubevirt-plugin-validation', { ...ofPlugins, spec: { validations: HOOK_RULES } }),
    ...policyWithBinding('kubevirt-plugin-warning', {
      ...ofPlugins,
      actions: ['Warn'],
      spec: {
        failurePolicy: 'Ignore',
        validations: [
          refuse(
            anyOf(['domainHooks', 'nodeHooks', ...ADMISSION_LISTS]),
            'no hooks or admission references are defined; this plugin will have no effect',
          ),
        ],
      },
    }),
  ];
}
