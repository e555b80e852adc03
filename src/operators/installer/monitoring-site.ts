// Looks whether the Prometheus operator's kinds are served and where its Prometheus runs: only then there is something to monitor with.
// Reads the API server; writes nothing.
import type { KubeVirtSpec } from '../../api/index.js';
import { SERVICE_ACCOUNTS } from '../../runtime/resources.js';
import type { KubeClient } from '../../runtime/types.js';
import type { MonitoringSite } from './install-context.js';

const DEFAULT_ACCOUNT = 'prometheus-k8s';
const USUAL_NAMESPACES = ['openshift-monitoring', 'monitoring'];

/** Where to look, first one first. */
export const candidates = ({ monitorNamespace, monitorAccount }: KubeVirtSpec): { account: string; namespaces: readonly string[] } => ({
  account: monitorAccount || DEFAULT_ACCOUNT,
  namespaces: monitorNamespace ? [monitorNamespace] : USUAL_NAMESPACES,
});

export async function findMonitoring(client: KubeClient, spec: KubeVirtSpec): Promise<MonitoringSite | undefined> {
  const { account, namespaces } = candidates(spec);
  for (const namespace of namespaces) {
    if (await client.find(SERVICE_ACCOUNTS, `${namespace}/${account}`)) {
      return { account, namespace, monitorNamespace: spec.serviceMonitorNamespace || namespace };
    }
  }
  return undefined;
}
