// The local cluster is a real one: pods on both nodes, image volumes for pods without rights, names, services, exec and logs,
// mounts that a privileged agent shares with its node, and repair of what was killed.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { type ClusterHandle, ensureUp } from '../cluster/cluster.js';
import { clusterConfig } from '../cluster/config.js';
import { isAlive, readRecord } from '../cluster/process-records.js';
import { run } from '../cluster/run.js';

const NAMESPACE = 'local-cluster-test';
let cluster: ClusterHandle;

const kubectl = (...args: string[]) => cluster.kubectl(['-n', NAMESPACE, ...args]);
const apply = (...objects: object[]) =>
  cluster.kubectl(['-n', NAMESPACE, 'apply', '-f', '-'], objects.map((each) => stringify(each)).join('---\n'));
const onNode = (at: number, ...command: string[]) =>
  run(['nsenter', '-t', String(cluster.nodes[at]?.pid), '-m', '-n', '-p', '--', ...command]);

const shell = (script: string) => ({ name: 'c', image: cluster.toolImage, command: ['sh', '-c', script] });
const pod = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: { terminationGracePeriodSeconds: 0, restartPolicy: 'Never', ...spec },
});
const ready = (...pods: string[]) => kubectl('wait', '--for=condition=Ready', '--timeout=60s', ...pods.map((name) => `pod/${name}`));

/** A web server pinned to a node, saying which. */
const web = (node: string) => ({
  ...pod(`web-${node}`, {
    nodeName: node,
    containers: [shell(`mkdir /tmp/w; echo ${node} > /tmp/w/index.html; httpd -f -p 8080 -h /tmp/w`)],
  }),
  metadata: { name: `web-${node}`, labels: { app: 'web', node } },
});
const service = (name: string, selector: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector, ports: [{ port: 80, targetPort: 8080 }] },
});

beforeAll(async () => {
  cluster = await ensureUp();
  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  await kubectl('wait', '--for=create', '--timeout=30s', 'serviceaccount/default');
  await apply(
    ...cluster.nodes.map((node) => web(node.name)),
    service('web', { app: 'web' }),
    service('web1', { node: 'node1' }),
    pod('client', { nodeName: 'node1', containers: [shell('echo started; sleep 3600')] }),
  );
  await ready('client', ...cluster.nodes.map((node) => `web-${node.name}`));
});

afterAll(async () => {
  await cluster.kubectl(['delete', 'namespace', NAMESPACE, '--timeout=90s']);
});

describe('pods', () => {
  it('run on both nodes, answer exec and show logs', async () => {
    expect(await kubectl('logs', 'client')).toBe('started\n');
    expect(await kubectl('exec', 'client', '--', 'cat', '/etc/hostname')).toBe('client\n');
    await expect(kubectl('exec', 'client', '--', 'sh', '-c', 'exit 7')).rejects.toThrow(/exit code 7/);
  });

  it('without rights read an image volume', async () => {
    const reader = pod('reader', {
      automountServiceAccountToken: false,
      securityContext: { runAsUser: 107, runAsGroup: 107, runAsNonRoot: true, fsGroup: 107, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          ...shell('id -u; ls /image/bin/busybox; grep CapEff /proc/self/status; sleep 3600'),
          resources: { requests: { cpu: '10m', memory: '16Mi', 'ephemeral-storage': '10M' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'image', mountPath: '/image' }],
        },
      ],
      volumes: [{ name: 'image', image: { reference: cluster.toolImage, pullPolicy: 'IfNotPresent' } }],
    });
    await apply(reader);
    await ready('reader');

    expect(await kubectl('logs', 'reader')).toBe('107\n/image/bin/busybox\nCapEff:\t0000000000000000\n');
  });
});

describe('network', () => {
  it('names resolve to services', async () => {
    const address = await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
    const answer = await kubectl('exec', 'client', '--', 'nslookup', `web.${NAMESPACE}.svc.cluster.local`);
    expect(answer).toContain(`Address: ${address}`);
  });

  it.each([
    ['on the same node', 'node1'],
    ['on the other node', 'node2'],
  ])('a pod reaches another one %s', async (_title, node) => {
    const address = await kubectl('get', 'pod', `web-${node}`, '-o', 'jsonpath={.status.podIP}');
    expect(await kubectl('exec', 'client', '--', 'wget', '-q', '-O', '-', `http://${address}:8080/`)).toBe(`${node}\n`);
    expect(await (await fetch(`http://${address}:8080/`)).text()).toBe(`${node}\n`);
  });

  it('a service answers from its own node, too', async () => {
    const address = await kubectl('get', 'service', 'web1', '-o', 'jsonpath={.spec.clusterIP}');
    expect(await kubectl('exec', 'client', '--', 'wget', '-q', '-O', '-', `http://${address}/`)).toBe('node1\n');
  });
});

describe('a privileged agent', () => {
  it('shares its mounts with its own node only, and sees that node’s processes', async () => {
    const agent = pod('agent', {
      nodeName: 'node2',
      hostPID: true,
      containers: [
        {
          ...shell(
            'mkdir -p /shared/m; mount -t tmpfs t /shared/m; touch /shared/m/here; tr "\\0" " " < /proc/1/cmdline; echo; sleep 3600',
          ),
          securityContext: { privileged: true },
          volumeMounts: [{ name: 'shared', mountPath: '/shared', mountPropagation: 'Bidirectional' }],
        },
      ],
      volumes: [{ name: 'shared', hostPath: { path: '/var/run/kubevirt-test', type: 'DirectoryOrCreate' } }],
    });
    await apply(agent);
    await ready('agent');

    await vi.waitFor(async () => expect(await onNode(1, 'ls', '/run/kubevirt-test/m')).toBe('here\n'), 10_000);
    await expect(onNode(0, 'ls', '/run/kubevirt-test')).rejects.toThrow(/No such file/);
    expect(await kubectl('logs', 'agent')).toContain('catatonit -P');
    await onNode(1, 'sh', '-c', 'while umount /run/kubevirt-test/m 2>/dev/null; do :; done; rm -r /run/kubevirt-test');
  });
});

describe('repair', () => {
  it.each(['node1-kubelet', 'kube-scheduler'])('%s comes back after a kill, and pods live on', async (component) => {
    const config = clusterConfig(process.env);
    const before = readRecord(config.pidsDir, component);
    if (!before) throw new Error(`${component} has no record`);
    process.kill(before.pid, 'SIGKILL');
    await vi.waitFor(() => expect(isAlive(before)).toBe(false));

    await ensureUp();

    expect(readRecord(config.pidsDir, component)?.pid).not.toBe(before.pid);
    // A fresh kubelet knows its pods a moment later.
    await vi.waitFor(async () => expect(await kubectl('exec', 'client', '--', 'cat', '/etc/hostname')).toBe('client\n'), 20_000);
    expect(await kubectl('get', 'pod', 'client', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}')).toBe('0');
  });
});
