// The aggregated API: both versions of subresources.kubevirt.io are served by virt-api. Pure.
import { type APIService, LABEL } from '../../../api/index.js';
import { SECRET, SERVICE } from './names.js';

const GROUP = 'subresources.kubevirt.io';

/** `caBundle`: PEM of the authorities that virt-api's certificate may be signed by. */
export function apiServices(namespace: string, caBundle: string): APIService[] {
  return ['v1', 'v1alpha3'].map((version) => ({
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: {
      name: `${version}.${GROUP}`,
      labels: { [LABEL.app]: 'virt-api-aggregator' },
      annotations: { 'certificates.kubevirt.io/secret': SECRET.api },
    },
    spec: {
      group: GROUP,
      version,
      service: { name: SERVICE.api, namespace },
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      caBundle: Buffer.from(caBundle).toString('base64'),
    },
  }));
}
