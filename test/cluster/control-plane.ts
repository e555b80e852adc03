// The control plane's processes as command lines, and the Corefile. Pure; up.ts starts them in this order.
import { join } from 'node:path';
import { apiUrl, type ClusterConfig } from './config.js';
import type { Daemon } from './processes.js';
import { storageDaemons } from './storage.js';

const ETCD = 'https://127.0.0.1:32379';
const ETCD_PEER = 'https://127.0.0.1:32380';
const CONTROLLER_MANAGER_PORT = 32257;
const SCHEDULER_PORT = 32259;

export function controlPlane(config: ClusterConfig): { etcd: Daemon; apiserver: Daemon; followers: Daemon[] } {
  return {
    etcd: { name: 'etcd', command: [join(config.binDir, 'etcd'), ...etcdArgs(config)] },
    apiserver: { name: 'kube-apiserver', command: [join(config.binDir, 'kube-apiserver'), ...apiserverArgs(config)] },
    followers: [
      { name: 'kube-controller-manager', command: [join(config.binDir, 'kube-controller-manager'), ...controllerManagerArgs(config)] },
      { name: 'kube-scheduler', command: [join(config.binDir, 'kube-scheduler'), ...schedulerArgs(config)] },
      { name: 'coredns', command: [join(config.binDir, 'coredns'), '-conf', join(config.stateDir, 'Corefile')] },
      ...storageDaemons(config),
    ],
  };
}

function etcdArgs(config: ClusterConfig): string[] {
  const pki = (file: string) => join(config.pkiDir, file);
  return [
    `--data-dir=${join(config.stateDir, 'etcd')}`,
    `--listen-client-urls=${ETCD}`,
    `--advertise-client-urls=${ETCD}`,
    `--listen-peer-urls=${ETCD_PEER}`,
    `--initial-advertise-peer-urls=${ETCD_PEER}`,
    `--initial-cluster=default=${ETCD_PEER}`,
    `--cert-file=${pki('etcd.crt')}`,
    `--key-file=${pki('etcd.key')}`,
    `--trusted-ca-file=${pki('etcd-ca.crt')}`,
    '--client-cert-auth=true',
    `--peer-cert-file=${pki('etcd.crt')}`,
    `--peer-key-file=${pki('etcd.key')}`,
    `--peer-trusted-ca-file=${pki('etcd-ca.crt')}`,
    '--peer-client-cert-auth=true',
    // The data lives no longer than the cluster: speed over durability.
    '--unsafe-no-fsync=true',
    '--log-level=warn',
  ];
}

function apiserverArgs(config: ClusterConfig): string[] {
  const pki = (file: string) => join(config.pkiDir, file);
  return [
    `--etcd-servers=${ETCD}`,
    `--etcd-cafile=${pki('etcd-ca.crt')}`,
    `--etcd-certfile=${pki('etcd-client.crt')}`,
    `--etcd-keyfile=${pki('etcd-client.key')}`,
    `--bind-address=${config.hostIp}`,
    `--advertise-address=${config.hostIp}`,
    `--secure-port=${config.apiPort}`,
    `--service-cluster-ip-range=${config.serviceNet}`,
    `--tls-cert-file=${pki('apiserver.crt')}`,
    `--tls-private-key-file=${pki('apiserver.key')}`,
    `--client-ca-file=${pki('ca.crt')}`,
    '--authorization-mode=Node,RBAC',
    '--allow-privileged=true',
    '--enable-admission-plugins=NodeRestriction',
    `--service-account-key-file=${pki('sa.pub')}`,
    `--service-account-signing-key-file=${pki('sa.key')}`,
    `--service-account-issuer=https://kubernetes.default.svc.${config.domain}`,
    // The host has routes to the pods but no service addresses: talk to the endpoints of webhooks and aggregated APIs.
    '--enable-aggregator-routing=true',
    `--kubelet-certificate-authority=${pki('ca.crt')}`,
    `--kubelet-client-certificate=${pki('kubelet-client.crt')}`,
    `--kubelet-client-key=${pki('kubelet-client.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--requestheader-client-ca-file=${pki('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    `--proxy-client-cert-file=${pki('front-proxy-client.crt')}`,
    `--proxy-client-key-file=${pki('front-proxy-client.key')}`,
    `--audit-policy-file=${join(config.stateDir, 'audit-policy.yaml')}`,
    `--audit-log-path=${join(config.logsDir, 'audit.log')}`,
    '--audit-log-maxsize=100',
    '--audit-log-maxbackup=2',
  ];
}

function controllerManagerArgs(config: ClusterConfig): string[] {
  const kubeconfig = join(config.pkiDir, 'controller-manager.conf');
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${CONTROLLER_MANAGER_PORT}`,
    '--allocate-node-cidrs=false',
    `--service-account-private-key-file=${join(config.pkiDir, 'sa.key')}`,
    `--root-ca-file=${join(config.pkiDir, 'ca.crt')}`,
    `--cluster-signing-cert-file=${join(config.pkiDir, 'ca.crt')}`,
    `--cluster-signing-key-file=${join(config.pkiDir, 'ca.key')}`,
    '--use-service-account-credentials=true',
    '--leader-elect=false',
    '--kube-api-qps=100',
    '--kube-api-burst=200',
  ];
}

function schedulerArgs(config: ClusterConfig): string[] {
  const kubeconfig = join(config.pkiDir, 'scheduler.conf');
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${SCHEDULER_PORT}`,
    '--leader-elect=false',
    '--kube-api-qps=100',
    '--kube-api-burst=200',
  ];
}

/** Writes only: what the figures on API writes count. */
export function renderAuditPolicy(): string {
  return `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
  - level: None
`;
}

/** Names outside the cluster go to the host's own resolvers, if it has any. */
export function renderCorefile(config: ClusterConfig, resolvConf: string): string {
  const forward = /^\s*nameserver\s+\S/m.test(resolvConf) ? ['    forward . /etc/resolv.conf'] : [];
  return [
    `.:${config.dnsPort} {`,
    `    bind ${config.hostIp}`,
    '    errors',
    `    health ${config.hostIp}:${config.dnsPort + 1}`,
    `    ready ${config.hostIp}:${config.dnsPort + 2}`,
    `    kubernetes ${config.domain} in-addr.arpa ip6.arpa {`,
    `        endpoint ${apiUrl(config)}`,
    `        kubeconfig ${join(config.pkiDir, 'coredns.conf')}`,
    '        pods insecure',
    '        fallthrough in-addr.arpa ip6.arpa',
    '        ttl 5',
    '    }',
    ...forward,
    '    cache 5',
    '}',
    '',
  ].join('\n');
}
