// What the cluster's configuration and the files rendered from it say.
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { cacheDir, clusterConfig } from './config.js';
import { controlPlane, renderCorefile } from './control-plane.js';
import { renderKubeconfig } from './kubeconfig.js';
import { PRIVATE_DIRS, renderCni, renderContainerd, renderKubelet, renderNodeScript } from './node-config.js';
import { baseObjects } from './objects.js';
import { identities } from './pki.js';

const config = clusterConfig({ HOME: '/home/x', KUBEVIRT_TS_CLUSTER_DIR: '/state' });
const [node1, node2] = config.nodes;
if (!node1 || !node2) throw new Error('two nodes are needed here');

describe('clusterConfig', () => {
  it.each([
    ['the override', { KUBEVIRT_TS_CACHE: '/c', XDG_CACHE_HOME: '/x', HOME: '/h' }, '/c'],
    ['the XDG folder', { XDG_CACHE_HOME: '/x', HOME: '/h' }, '/x/kubevirt-ts'],
    ['the home folder', { HOME: '/h' }, '/h/.cache/kubevirt-ts'],
    ['an empty override is none', { KUBEVIRT_TS_CACHE: '', HOME: '/h' }, '/h/.cache/kubevirt-ts'],
  ])('cache folder: %s', (_title, env, expected) => {
    expect(cacheDir(env)).toBe(expected);
  });

  it('lies in one fixed folder unless told otherwise', () => {
    expect(clusterConfig({}).kubeconfig).toBe('/var/lib/kubevirt-ts-cluster/kubeconfig');
    expect(config.kubeconfig).toBe('/state/kubeconfig');
  });

  it('gives each node its own addresses and a link name that the kernel accepts', () => {
    expect(new Set(config.nodes.flatMap((node) => [node.ip, node.podCidr, node.hostLink, node.ip6, node.podCidr6])).size).toBe(10);
    for (const node of config.nodes) expect(node.hostLink.length).toBeLessThanOrEqual(15);
  });

  it('labels exactly one node for the control plane', () => {
    expect(config.nodes.filter((node) => 'node-role.kubernetes.io/control-plane' in node.labels)).toEqual([node1]);
  });
});

describe('the kubelet', () => {
  const kubelet = parse(renderKubelet(config, node1, 24 * 1024 ** 3)) as Record<string, unknown>;

  it('starts on both versions of control groups, in the node’s own sub-tree', () => {
    expect(kubelet).toMatchObject({ failCgroupV1: false, cgroupDriver: 'cgroupfs', cgroupRoot: `/${config.cgroup}/node1` });
  });

  it('leaves the other nodes their share of the memory', () => {
    expect(kubelet.systemReserved).toEqual({ memory: String(12 * 1024 ** 3) });
  });

  it('keeps ephemeral storage allocatable and images uncollected', () => {
    expect(kubelet).not.toHaveProperty('localStorageCapacityIsolation');
    expect(kubelet.imageGCHighThresholdPercent).toBe(100);
  });

  it('hands out the cluster DNS', () => {
    expect(kubelet).toMatchObject({ clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local' });
  });
});

describe('the node script', () => {
  const lines = renderNodeScript(node1, ['/sys/fs/cgroup/cpu'], config).split('\n');
  const at = (start: string) => lines.findIndex((line) => line.startsWith(start));

  it('cuts the tie to the host before it shares its own mounts', () => {
    expect(at('mount --make-rprivate /')).toBeLessThan(at('mount --make-rshared /'));
    expect(at('mount --make-rshared /')).toBeLessThan(at('mount --bind'));
  });

  it('gives the node every private folder', () => {
    for (const [path, name] of PRIVATE_DIRS) expect(lines).toContain(`mount --bind /state/node1/${name} ${path}`);
  });

  it('hides a KVM that nobody asked for', () => {
    const hides = (kvm: boolean) => renderNodeScript(node1, [], { kvm }).includes(' /dev/kvm');
    expect([hides(false), hides(true)]).toEqual([true, false]);
  });

  it.each([
    ['version 1', ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/memory']],
    ['version 2', ['/sys/fs/cgroup']],
  ])('keeps the machine’s groups of %s over its own view of the devices', (_version, mounts) => {
    const script = renderNodeScript(node1, mounts, config).split('\n');
    const order = [
      'mount --rbind /sys/fs/cgroup /state/node1/cgroup',
      'mount -t sysfs sysfs /sys',
      'mount --rbind /state/node1/cgroup /sys/fs/cgroup',
    ];
    expect(script.filter((line) => order.includes(line))).toEqual(order);
    for (const mount of mounts) expect(script.filter((line) => line.startsWith(`test -d ${mount} `))).toHaveLength(1);
  });

  it('says that it is ready only after everything, and ends as an init', () => {
    expect(lines.slice(-3)).toEqual(['touch /state/node1/namespaces-ready', 'exec catatonit -P', '']);
  });
});

it('the pod network of a node is the range that its Node object promises', () => {
  const cni = JSON.parse(renderCni(node2, { ipv6: true })) as { plugins: { ipam: { ranges: { subnet: string }[][] } }[] };
  const object = baseObjects(config).find(({ object: each }) => each.kind === 'Node' && each.metadata.name === 'node2');

  expect(cni.plugins[0]?.ipam.ranges.flat().map(({ subnet }) => subnet)).toEqual([node2.podCidr, node2.podCidr6]);
  expect(object?.object).toMatchObject({ spec: { podCIDR: node2.podCidr } });
});

it('the API server reaches webhooks and aggregated APIs by their endpoints', () => {
  expect(controlPlane(config).apiserver.command).toContain('--enable-aggregator-routing=true');
});

it('containerd works without the right to lower its score and pins the pause image', () => {
  expect(renderContainerd(config)).toContain('restrict_oom_score_adj = true');
  expect(renderContainerd(config)).toContain(`sandbox = "${config.pauseImage}"`);
});

describe('renderCorefile', () => {
  it.each([
    ['a resolver', '# c\nnameserver 192.0.2.1\n', true],
    ['only a comment', '# nameserver 192.0.2.1\n', false],
    ['nothing', '', false],
  ])('forwards other names with %s in resolv.conf: %s', (_title, resolvConf, forwards) => {
    expect(renderCorefile(config, resolvConf).includes('forward . /etc/resolv.conf')).toBe(forwards);
  });
});

describe('identities', () => {
  it('every kubelet is a node of its name', () => {
    const subjects = identities(config).map((identity) => identity.subject);
    expect(subjects).toContain('O=system:nodes, CN=system:node:node1');
    expect(subjects).toContain('O=system:nodes, CN=system:node:node2');
  });

  it('the API server is known under its service name and both addresses', () => {
    const server = identities(config).find((identity) => identity.file === 'apiserver');
    expect(server?.dns).toContain('kubernetes.default.svc');
    expect(server?.ips).toEqual(['10.96.0.1', '172.30.0.1', '127.0.0.1']);
  });
});

it('a kubeconfig embeds what it needs', () => {
  const text = renderKubeconfig({ server: 'https://a:1', ca: 'CA', cert: 'CERT', key: 'KEY\n' });
  expect(parse(text)).toMatchObject({
    clusters: [{ cluster: { server: 'https://a:1', 'certificate-authority-data': Buffer.from('CA\n').toString('base64') } }],
    users: [{ user: { 'client-key-data': Buffer.from('KEY\n').toString('base64') } }],
  });
});
