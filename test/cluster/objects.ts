// The API objects that make the bare control plane a cluster: the nodes before their kubelets register (so that labels and
// pod ranges are ours), the cluster DNS service, whose one endpoint is the coredns process on the host, and storage. Pure.
import type { ApiObject } from './api.js';
import type { ClusterConfig, NodeConfig } from './config.js';
import { storageObjects } from './storage.js';

export interface Applied {
  readonly collection: string;
  readonly object: ApiObject & Readonly<Record<string, unknown>>;
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

export function baseObjects(config: ClusterConfig): Applied[] {
  return [...config.nodes.map(nodeObject), ...dnsAccess(), dnsService(config), dnsEndpoints(config), ...storageObjects()];
}

function nodeObject(node: NodeConfig): Applied {
  return {
    collection: '/api/v1/nodes',
    object: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: node.name, labels: { 'kubernetes.io/hostname': node.name, ...node.labels } },
      spec: { podCIDR: node.podCidr, podCIDRs: [node.podCidr] },
    },
  };
}

function dnsAccess(): Applied[] {
  const metadata = { name: 'system:coredns' };
  const read = ['list', 'watch'];
  return [
    {
      collection: `${RBAC}/clusterroles`,
      object: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata,
        rules: [
          { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: read },
          { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: read },
        ],
      },
    },
    {
      collection: `${RBAC}/clusterrolebindings`,
      object: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:coredns' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:coredns' }],
      },
    },
  ];
}

const DNS_LABELS = { 'k8s-app': 'kube-dns', 'kubernetes.io/name': 'CoreDNS' };
const DNS_PORTS = [
  { name: 'dns', protocol: 'UDP' },
  { name: 'dns-tcp', protocol: 'TCP' },
] as const;

function dnsService(config: ClusterConfig): Applied {
  return {
    collection: '/api/v1/namespaces/kube-system/services',
    object: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: 'kube-system', labels: DNS_LABELS },
      spec: { clusterIP: config.dnsServiceIp, ports: DNS_PORTS.map((port) => ({ ...port, port: 53, targetPort: config.dnsPort })) },
    },
  };
}

function dnsEndpoints(config: ClusterConfig): Applied {
  return {
    collection: '/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices',
    object: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'kubernetes.io/service-name': 'kube-dns' } },
      addressType: 'IPv4',
      ports: DNS_PORTS.map((port) => ({ ...port, port: config.dnsPort })),
      endpoints: [{ addresses: [config.hostIp], conditions: { ready: true, serving: true, terminating: false } }],
    },
  };
}
