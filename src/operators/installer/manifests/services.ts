// Services: virt-api, the operator's webhooks, and one for scraping the metrics of all. Pure.
import { LABEL, type Service } from '../../../api/index.js';
import { OPERATOR_NAME, SERVICE } from './names.js';

const SCRAPED = { 'prometheus.kubevirt.io': 'true' };

type ServiceSpec = NonNullable<Service['spec']>;

const service = (namespace: string, name: string, app: string, spec: ServiceSpec, labels: Record<string, string> = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, labels: { [LABEL.app]: app, ...labels } },
  spec,
});

export function services(namespace: string): Service[] {
  return [
    service(namespace, SERVICE.api, SERVICE.api, {
      type: 'ClusterIP',
      selector: { [LABEL.app]: 'virt-api' },
      ports: [{ port: 443, targetPort: 8443, protocol: 'TCP' }],
    }),
    service(
      namespace,
      SERVICE.operatorWebhook,
      '',
      {
        type: 'ClusterIP',
        selector: { [LABEL.app]: OPERATOR_NAME },
        ports: [{ name: 'webhooks', port: 443, targetPort: 'webhooks', protocol: 'TCP' }],
      },
      SCRAPED,
    ),
    service(
      namespace,
      SERVICE.metrics,
      '',
      {
        type: 'ClusterIP',
        clusterIP: 'None',
        selector: SCRAPED,
        ports: [{ name: 'metrics', port: 443, targetPort: 'metrics', protocol: 'TCP' }],
      },
      SCRAPED,
    ),
  ];
}
