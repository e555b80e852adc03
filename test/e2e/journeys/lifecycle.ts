// A VM's life by plain kubectl on each node and with each binding: boot, console, traffic both ways, pause, restart, stop, delete.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { apply, Console, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm, webPod } from '../manifests.js';
import { virt, waitForStatus, waitRunning } from '../vm-waits.js';

function ipOf(vmi: VirtualMachineInstance): string {
  return vmi.status?.interfaces?.[0]?.ipAddress ?? '';
}

async function podIp(name: string): Promise<string> {
  return eventually(`pod ${name} running`, async () => {
    const text = await kubectl('get', 'pod', name, '-n', NAMESPACE, '-o', 'jsonpath={.status.phase} {.status.podIP}');
    const [phase, ip] = text.split(' ');
    return phase === 'Running' && ip ? ip : undefined;
  });
}

function lifeOn(node: string, other: string, binding: 'masquerade' | 'bridge'): void {
  const name = `life-${binding}-${node}`;
  const peer = `peer-${binding}-${node}`;

  it('boots to a login prompt that takes a command', async () => {
    await apply(tinyVm(name, { node, binding }), webPod(peer, other));
    const vmi = await waitRunning(name);
    expect(vmi.status?.nodeName).toBe(node);
    const console = await Console.open(name);
    await console.login();
    expect(await console.run('uname -s')).toContain('Linux');
    await console.close();
  });

  it('shows upstream columns in kubectl get', async () => {
    const table = await kubectl('get', 'vm,vmi', '-n', NAMESPACE);
    expect(table).toMatch(/NAME\s+AGE\s+STATUS\s+READY/);
    expect(table).toMatch(/NAME\s+AGE\s+PHASE\s+IP\s+NODENAME\s+READY/);
  });

  it('reaches a pod on the other node and is reached by it', async () => {
    const ip = await podIp(peer);
    const console = await Console.open(name);
    await console.login();
    await eventually('the guest reads the pod’s page', async () =>
      (await console.run(`wget -qO- http://${ip}/`)).includes(`hello from ${peer}`),
    );
    await console.close();
    const guest = ipOf(await waitRunning(name));
    await eventually(`pod ${peer} reads the guest’s page at ${guest}`, async () => {
      const request = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${guest} 80`; // busybox's static wget crashes
      return (await kubectl('exec', '-n', NAMESPACE, peer, '--', 'sh', '-c', request)).startsWith('HTTP/1');
    });
  });

  it('pauses and resumes', async () => {
    await virt('pause', 'vm', name);
    await waitForStatus(name, 'Paused');
    await virt('unpause', 'vm', name);
    await waitForStatus(name, 'Running');
  });

  it('restarts as a new instance', async () => {
    const before = await waitRunning(name);
    await virt('restart', name);
    await eventually('a new instance runs', async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', name);
      return vmi?.status?.phase === 'Running' && vmi.metadata.uid !== before.metadata.uid;
    });
  });

  it('stops, starts again and is deleted without leaving anything', async () => {
    await virt('stop', name);
    await waitForStatus(name, 'Stopped');
    await eventually('the instance is gone', async () => (await find('vmi', name)) === undefined);
    await virt('start', name);
    await waitRunning(name);
    await kubectl('delete', 'vm', name, '-n', NAMESPACE, '--timeout=120s');
    expect(await find<VirtualMachine>('vm', name)).toBeUndefined();
    await eventually('no pod of it left', async () => (await list('pods', '-n', NAMESPACE, '-l', `vm=${name}`)).length === 0);
    await kubectl('delete', 'pod', peer, '-n', NAMESPACE, '--wait=false');
  });
}

export function lifecycle(): void {
  describe('masquerade on node1', () => lifeOn('node1', 'node2', 'masquerade'));
  describe('bridge on node2', () => lifeOn('node2', 'node1', 'bridge'));
}
