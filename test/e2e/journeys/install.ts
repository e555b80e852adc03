// Installation by kubectl alone, and what it leaves in the cluster.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DaemonSet, Deployment, KubeVirt } from '../../../src/api/index.js';
import { eventually, find, kubectl, list, ROOT } from '../harness.js';

export function install(): void {
  it('rolls out from `kubectl apply -k .` and a KubeVirt CR to Available', async () => {
    await kubectl('apply', '-k', ROOT);
    await kubectl('apply', '-f', join(ROOT, 'config/samples/kubevirt-cr.yaml'));
    const kv = await eventually(
      'KubeVirt Available',
      async () => {
        const found = await find<KubeVirt>('kubevirt', 'kubevirt', 'kubevirt');
        return found?.status?.conditions?.some((c) => c.type === 'Available' && c.status === 'True') ? found : undefined;
      },
      { timeoutMs: 240_000 },
    );
    expect(kv.status?.phase).toBe('Deployed');
  });

  it('has two of virt-api and virt-controller, and a virt-handler on each node', async () => {
    const replicas = (await list<Deployment>('deployments', '-n', 'kubevirt')).map((d) => [d.metadata.name, d.status?.readyReplicas]);
    expect(replicas).toEqual(
      expect.arrayContaining([
        ['virt-api', 2],
        ['virt-controller', 2],
      ]),
    );
    const [handler] = await list<DaemonSet>('daemonsets', '-n', 'kubevirt');
    expect([handler?.metadata.name, handler?.status?.numberReady]).toEqual(['virt-handler', 2]);
  });

  it('makes both nodes schedulable for guests', async () => {
    await eventually('both nodes labelled kubevirt.io/schedulable=true', async () => {
      const nodes = await list('nodes', '-l', 'kubevirt.io/schedulable=true');
      return nodes.length === 2;
    });
  });
}
