// Renders what one node needs: the script that makes its namespaces look like a machine, and the configuration of
// containerd, the CNI plugins, the kubelet and kube-proxy. Pure; node.ts writes and starts it.
import { join } from 'node:path';
import { stringify } from 'yaml';
import { nodeCgroup } from './cgroups.js';
import type { ClusterConfig, NodeConfig } from './config.js';

export const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';
export const CNI_BIN_DIR = '/usr/lib/cni';

/** Folders that each node has for itself, and the names under which they are kept below the node's own folder. */
export const PRIVATE_DIRS: readonly (readonly [path: string, name: string])[] = [
  ['/var/lib/kubelet', 'var-lib-kubelet'],
  ['/var/lib/containerd', 'var-lib-containerd'],
  ['/var/lib/cni', 'var-lib-cni'],
  ['/var/lib/kubevirt', 'var-lib-kubevirt'],
  ['/var/lib/kubevirt-node-labeller', 'var-lib-kubevirt-node-labeller'],
  ['/var/log/pods', 'var-log-pods'],
  ['/var/log/containers', 'var-log-containers'],
  ['/etc/cni/net.d', 'etc-cni-net.d'],
];

/** Runs as the first process of the node's namespaces. Ends by becoming an init that only reaps. */
export function renderNodeScript(node: NodeConfig, cgroupMounts: readonly string[], { kvm }: Pick<ClusterConfig, 'kvm'>): string {
  const cgroups = join(node.dir, 'cgroup');
  return [
    'set -eu',
    `hostname ${node.name}`,
    // Pods with Bidirectional mounts need a shared parent mount; private first, so that nothing leaks to the host.
    'mount --make-rprivate /',
    'mount --make-rshared /',
    ...PRIVATE_DIRS.map(([path, name]) => `mount --bind ${join(node.dir, name)} ${path}`),
    // A machine's KVM may be there and not work, so that guests hang on it; a plain file in its place is no device.
    ...(kvm ? [] : [`test ! -e /dev/kvm || { touch ${join(node.dir, 'no-kvm')}; mount --bind ${join(node.dir, 'no-kvm')} /dev/kvm; }`]),
    'mount -t tmpfs -o mode=755 tmpfs /run',
    'mkdir -p /run/netns /run/lock /run/containerd',
    'mount --make-rshared /run',
    // The host's sysfs shows the host's network devices; a fresh one shows this node's, but comes without the groups.
    // Private, or else taking the helper mount away again would take away the one it is copied to as well.
    `mount --rbind /sys/fs/cgroup ${cgroups}`,
    `mount --make-rprivate ${cgroups}`,
    'mount -t sysfs sysfs /sys',
    `mount --rbind ${cgroups} /sys/fs/cgroup`,
    `umount -R -l ${cgroups}`,
    'mount --make-rshared /sys',
    ...cgroupMounts.map((mount) => `test -d ${mount} || { echo "control groups are missing at ${mount}" >&2; exit 1; }`),
    `touch ${readyFile(node)}`,
    'exec catatonit -P',
    '',
  ].join('\n');
}

export function readyFile(node: NodeConfig): string {
  return join(node.dir, 'namespaces-ready');
}

export function renderContainerd(config: ClusterConfig): string {
  return `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "${CONTAINERD_SOCKET}"

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${config.pauseImage}"

[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE a lower oom_score_adj than our own is refused, and every sandbox would fail.
  restrict_oom_score_adj = true
  # Block volumes and devices of pods that do not run as root.
  device_ownership_from_security_context = true
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["${CNI_BIN_DIR}"]
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
`;
}

/** No ipMasq: source translation towards the outside is one rule a node (network.ts), not one a pod. */
export function renderCni(node: NodeConfig, { ipv6 }: { readonly ipv6: boolean }): string {
  const ranges = [
    [{ subnet: node.podCidr, gateway: node.podGateway }],
    ...(ipv6 ? [[{ subnet: node.podCidr6, gateway: node.podGateway6 }]] : []),
  ];
  const routes = [{ dst: '0.0.0.0/0' }, ...(ipv6 ? [{ dst: '::/0' }] : [])];
  const bridge = {
    type: 'bridge',
    bridge: 'cni0',
    isGateway: true,
    ipMasq: false,
    hairpinMode: true,
    ipam: { type: 'host-local', ranges, routes },
  };
  const portmap = { type: 'portmap', capabilities: { portMappings: true } };
  return `${JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [bridge, portmap] }, null, 2)}\n`;
}

/** memoryBytes is the machine's: each node offers its share, so that the scheduler does not promise the same memory twice. */
export function renderKubelet(config: ClusterConfig, node: NodeConfig, memoryBytes: number): string {
  const others = Math.floor((memoryBytes * (config.nodes.length - 1)) / config.nodes.length);
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: join(config.pkiDir, 'ca.crt') } },
    authorization: { mode: 'Webhook' },
    tlsCertFile: join(config.pkiDir, `${node.name}.crt`),
    tlsPrivateKeyFile: join(config.pkiDir, `${node.name}.key`),
    cgroupDriver: 'cgroupfs',
    cgroupRoot: nodeCgroup(config.cgroup, node.name),
    failCgroupV1: false,
    failSwapOn: false,
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    clusterDNS: [config.dnsServiceIp],
    clusterDomain: config.domain,
    resolvConf: '',
    volumePluginDir: '/var/lib/kubelet/volumeplugins',
    makeIPTablesUtilChains: false,
    // Images are loaded, never pulled; their garbage collection could only lose them.
    imageGCHighThresholdPercent: 100,
    // What pods take of the node's storage is looked at this often; the default makes a test of evictions wait for more than a minute.
    volumeStatsAggPeriod: '15s',
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    systemReserved: { memory: String(others) },
    enforceNodeAllocatable: ['pods'],
    serializeImagePulls: false,
    registryPullQPS: 0,
    kubeAPIQPS: 50,
    kubeAPIBurst: 100,
    eventRecordQPS: 50,
    eventBurst: 100,
  });
}

export function kubeletArgs(config: ClusterConfig, node: NodeConfig): string[] {
  return [
    `--config=${join(node.dir, 'kubelet.yaml')}`,
    `--kubeconfig=${join(config.pkiDir, `${node.name}.conf`)}`,
    `--hostname-override=${node.name}`,
    `--node-ip=${node.ip}`,
    '--v=2',
  ];
}

export function proxyArgs(config: ClusterConfig, node: NodeConfig): string[] {
  return [
    `--kubeconfig=${join(config.pkiDir, 'proxy.conf')}`,
    `--hostname-override=${node.name}`,
    `--cluster-cidr=${config.podNet}`,
    '--proxy-mode=nftables',
    // These are limits of the machine, not of the node.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  ];
}
