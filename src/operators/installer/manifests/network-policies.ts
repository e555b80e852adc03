// For namespaces where traffic is forbidden unless it is allowed: what our components must be able to reach of each other. Not part of
// an ordinary installation, since a policy for outgoing traffic forbids all that it does not name; rendered into config/. Pure.
import type { KubeObject } from '../../../api/index.js';
import { LABEL } from '../../../api/index.js';

type Selector = Readonly<Record<string, unknown>>;

const app = (name: string): Selector => ({ matchLabels: { [LABEL.app]: name } });
const oneOf = (...values: readonly string[]): Selector => ({ matchExpressions: [{ key: LABEL.app, operator: 'In', values }] });
const tcp = (...ports: readonly number[]): { ports: object[] } => ({ ports: ports.map((port) => ({ port, protocol: 'TCP' })) });
const ANY_TCP = { ports: [{ protocol: 'TCP' }] };
const pods = (podSelector: Selector): object[] => [{ podSelector }];

const HANDLER = app('virt-handler');
const API = app('virt-api');

/** Also those of the reference's components that an installation may get besides ours. */
const SCRAPED = ['virt-operator', 'virt-handler', 'virt-controller', 'virt-api', 'virt-exportproxy', 'virt-synchronization-controller'];

interface Rules {
  readonly ingress?: readonly object[];
  readonly egress?: readonly object[];
}

function policy(namespace: string, name: string, podSelector: Selector, { ingress, egress }: Rules): KubeObject {
  const object = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `kubevirt-allow-${name}`, namespace },
    spec: {
      podSelector,
      policyTypes: [...(ingress ? ['Ingress'] : []), ...(egress ? ['Egress'] : [])],
      ...(ingress ? { ingress } : {}),
      ...(egress ? { egress } : {}),
    },
  };
  return object;
}

export const networkPolicies = (namespace: string): KubeObject[] => [
  policy(namespace, 'ingress-to-metrics', oneOf(...SCRAPED, 'virt-observability-controller'), { ingress: [tcp(8443, 8187)] }),
  policy(namespace, 'ingress-to-virt-api-webhook-server', API, { ingress: [tcp(8443)] }),
  policy(namespace, 'ingress-to-virt-operator-webhook-server', app('virt-operator'), { ingress: [tcp(8444)] }),
  policy(namespace, 'virt-api-to-components', API, {
    egress: [{ to: pods(oneOf('virt-operator', 'virt-handler', 'virt-controller', 'virt-api')), ...tcp(8443) }],
  }),
  policy(namespace, 'virt-api-to-launchers', API, { egress: [{ to: [{ podSelector: app('virt-launcher'), namespaceSelector: {} }] }] }),
  policy(namespace, 'virt-api-to-virt-handler', API, { egress: [{ to: pods(HANDLER), ...ANY_TCP }] }),
  policy(namespace, 'ingress-to-virt-handler', HANDLER, { ingress: [{ from: pods(API), ...ANY_TCP }] }),
  policy(namespace, 'handler-to-handler', HANDLER, { ingress: [{ from: pods(HANDLER) }], egress: [{ to: pods(HANDLER) }] }),
  policy(namespace, 'handler-to-prometheus', HANDLER, { egress: [tcp(8443)] }),
];
