// kill -9 of each part while VMs run: guests survive all but their own launcher's end, which is reported and handled by the run strategy.
import { expect, it } from 'vitest';
import type { Lease, Pod, VirtualMachineInstance } from '../../../src/api/index.js';
import { apply, Console, eventsOf, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { killInPod } from '../node-access.js';
import { virt, waitForStatus, waitRunning } from '../vm-waits.js';

const NAME = 'survivor';

async function podsOf(component: string): Promise<Pod[]> {
  return list<Pod>('pods', '-n', 'kubevirt', '-l', `kubevirt.io=${component}`);
}

/** Waits until each container of the component runs again. */
async function recovered(component: string, killed: Pod): Promise<void> {
  await eventually(
    `${component} is back`,
    async () => {
      const pods = await podsOf(component);
      const again = pods.find((p) => p.metadata.uid === killed.metadata.uid);
      return again?.status?.containerStatuses?.every((c) => c.ready && c.restartCount > 0) === true;
    },
    { timeoutMs: 120_000 },
  );
}

async function guestUptime(): Promise<number> {
  const console = await Console.open(NAME);
  await console.login();
  const text = await console.run('cat /proc/uptime');
  await console.close();
  return Number(/(\d+\.\d+) \d+\.\d+/.exec(text)?.[1]);
}

export function kills(): void {
  it('the guest survives virt-handler, the virt-controller leader and virt-api', async () => {
    await apply(tinyVm(NAME));
    const before = await waitRunning(NAME);
    const uptime = await guestUptime();
    const node = before.status?.nodeName ?? '';
    const [handler] = (await podsOf('virt-handler')).filter((p) => p.spec?.nodeName === node);
    const lease = JSON.parse(await kubectl('get', 'lease', 'virt-controller', '-n', 'kubevirt', '-o', 'json')) as Lease;
    const controllers = await podsOf('virt-controller');
    const leader = controllers.find((p) => lease.spec?.holderIdentity?.includes(p.metadata.name ?? '-'));
    const [api] = await podsOf('virt-api');
    for (const [component, pod] of [
      ['virt-handler', handler],
      ['virt-controller', leader],
      ['virt-api', api],
    ] as const) {
      expect(pod, component).toBeDefined();
      if (!pod) continue;
      await killInPod(pod);
      await recovered(component, pod);
    }
    const after = await waitRunning(NAME);
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(await guestUptime(), 'the guest went on without a reboot').toBeGreaterThan(uptime);
    await virt('pause', 'vm', NAME);
    await waitForStatus(NAME, 'Paused');
    await virt('unpause', 'vm', NAME);
    await waitForStatus(NAME, 'Running');
  });

  it('a killed launcher is reported as a crash and the VM comes up again', async () => {
    const before = await waitRunning(NAME);
    const [pod] = await list<Pod>('pods', '-n', NAMESPACE, '-l', `vm=${NAME}`);
    if (!pod) throw new Error(`no launcher pod of ${NAME}`);
    await killInPod(pod);
    await eventually('a new instance runs', async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', NAME);
      return vmi?.status?.phase === 'Running' && vmi.metadata.uid !== before.metadata.uid;
    });
    expect((await eventsOf('VirtualMachineInstance', NAME)).join('\n')).toMatch(/crashed|LauncherFailed/);
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--timeout=60s');
  });
}
