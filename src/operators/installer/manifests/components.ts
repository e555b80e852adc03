// virt-api and virt-controller as Deployments: arguments, ports, probes, certificates, replicas. Pure.
import type { Deployment } from '../../../api/index.js';
import type { InstallContext } from '../install-context.js';
import { componentDeployment } from './deployment.js';
import { ACCOUNT, AUTHORITY, SECRET } from './names.js';
import { CPU, httpsGet, PROFILE_DATA, processCommand, requests, secretVolume, startup, tcpPort } from './pod-parts.js';

const DEFAULT_REPLICAS = 2;
const NODES_PER_API = 10;

/** A single node needs one; a large cluster asks more. */
function apiReplicas({ spec, schedulableNodes }: InstallContext): number {
  if (spec.infra?.replicas !== undefined) return spec.infra.replicas;
  return schedulableNodes === 1 ? 1 : Math.max(DEFAULT_REPLICAS, Math.floor(schedulableNodes / NODES_PER_API));
}

export function virtApi(context: InstallContext): Deployment {
  return componentDeployment(context, {
    name: 'virt-api',
    account: ACCOUNT.api,
    replicas: apiReplicas(context),
    container: {
      image: context.apiImage,
      command: processCommand('virt-api'),
      args: ['--port', '8443', '--console-server-port', '8186', '--subresources-only', '-v', '2'],
      ports: [tcpPort('virt-api', 8443), tcpPort('metrics', 8443)],
      env: [{ name: 'KUBEVIRT_VERSION', value: context.version }],
      startupProbe: startup('/apis/subresources.kubevirt.io/v1/healthz'),
      readinessProbe: { httpGet: httpsGet('/apis/subresources.kubevirt.io/v1/healthz'), periodSeconds: 10 },
      resources: requests(CPU.api, '500Mi'),
    },
    volumes: [
      secretVolume(SECRET.api, '/etc/virt-api/certificates'),
      secretVolume(SECRET.handlerClient, '/etc/virt-handler/clientcertificates'),
      PROFILE_DATA,
    ],
  });
}

export function virtController(context: InstallContext): Deployment {
  return componentDeployment(context, {
    name: 'virt-controller',
    account: ACCOUNT.controller,
    replicas: context.spec.infra?.replicas ?? DEFAULT_REPLICAS,
    container: {
      image: context.controllerImage,
      command: processCommand('virt-controller'),
      args: ['--launcher-image', context.launcherImage, '--port', '8443', '-v', '2'],
      ports: [tcpPort('metrics', 8443)],
      startupProbe: startup('/leader'),
      livenessProbe: { httpGet: httpsGet('/healthz'), failureThreshold: 8, timeoutSeconds: 10 },
      readinessProbe: { httpGet: httpsGet('/leader'), timeoutSeconds: 10 },
      resources: requests(CPU.controller, '275Mi'),
    },
    volumes: [
      secretVolume(SECRET.controller, '/etc/virt-controller/certificates'),
      secretVolume(AUTHORITY.export, '/etc/virt-controller/exportca'),
      secretVolume(AUTHORITY.backup, '/etc/virt-controller/backupca'),
      PROFILE_DATA,
    ],
  });
}
