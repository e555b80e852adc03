// What comes to a running guest and goes again: volumes by `kubectl virt`, vCPUs and memory by a change of the VM. The guest itself is asked for
// volumes and memory; the kernel of the tiny guest takes no CPUs while it runs, so of those the status tells.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod, VirtualMachine, VirtualMachineInstance, VolumeStatus } from '../../../src/api/index.js';
import { apply, Console, eventsOf, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { virt, waitRunning } from '../vm-waits.js';
import { claim, fillPod, NODE } from '../volume-objects.js';

const NAME = 'hot';
const LABEL = 'kubevirt.io=hotplug-disk';

/** Large enough for memory that comes and goes. */
function growingVm(): object {
  const vm = structuredClone(tinyVm(NAME, { node: NODE })) as VirtualMachine;
  const domain = vm.spec.template.spec?.domain;
  if (domain) Object.assign(domain, { cpu: { sockets: 1 }, memory: { guest: '1Gi' } });
  return vm;
}

const vmiNow = (): Promise<VirtualMachineInstance | undefined> => find<VirtualMachineInstance>('vmi', NAME);

async function volume(name: string): Promise<VolumeStatus | undefined> {
  return (await vmiNow())?.status?.volumeStatus?.find((status) => status.name === name);
}

const waitReady = (name: string): Promise<unknown> =>
  eventually(`volume ${name} is in the guest`, async () => {
    const status = await volume(name);
    if (status?.phase !== 'Ready') throw new Error(`it is ${JSON.stringify(status)}`);
    return status;
  });

const attachments = (): Promise<Pod[]> => list<Pod>('pods', '-n', NAMESPACE, '-l', LABEL);

async function patchDomain(domain: object): Promise<void> {
  const patch = { spec: { template: { spec: { domain } } } };
  await kubectl('patch', 'vm', NAME, '-n', NAMESPACE, '--type', 'merge', '-p', JSON.stringify(patch));
}

const needsRestart = async (): Promise<boolean> =>
  (await find<VirtualMachine>('vm', NAME))?.status?.conditions?.some(({ type }) => type === 'RestartRequired') === true;

/** The guest's console breaks lines that are longer than these. */
async function textOf(console: Console, disk: string): Promise<string> {
  await console.run(`until [ -b /dev/${disk} ]; do sleep 1; done`);
  return console.run(`head -c 11 /dev/${disk}`);
}

const kilobytesIn = async (console: Console): Promise<number> =>
  Number(/MemTotal: +(\d+)/.exec(await console.run('head -1 /proc/meminfo'))?.[1]);

export function hotplug(): void {
  let console: Console;

  beforeAll(async () => {
    await apply(growingVm(), claim('hot-data', '64Mi'), claim('hot-more', '64Mi'));
    await apply(fillPod('hot-fill', { 'hot-data': { 'disk.img': 'plugged-one' }, 'hot-more': { 'disk.img': 'plugged-two' } }));
    await kubectl('wait', 'pod/hot-fill', '-n', NAMESPACE, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s');
    await kubectl('delete', 'pod', 'hot-fill', '-n', NAMESPACE);
    await waitRunning(NAME);
    console = await Console.open(NAME);
    await console.login();
  });

  afterAll(async () => {
    await console?.close();
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
    await kubectl('delete', 'pvc', 'hot-data', 'hot-more', '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
  });

  it('shows a running guest the volumes that are added', async () => {
    await virt('addvolume', NAME, '--volume-name', 'hot-data');
    await waitReady('hot-data');
    expect(await textOf(console, 'sda')).toContain('plugged-one');
    await virt('addvolume', NAME, '--volume-name', 'hot-more');
    await waitReady('hot-more');
    expect(await textOf(console, 'sdb')).toContain('plugged-two');
    expect(await textOf(console, 'sda')).toContain('plugged-one');
    const [pod, ...others] = await eventually('the first pod is gone', async () => {
      const pods = await attachments();
      return pods.length === 1 ? pods : undefined;
    });
    expect([(await volume('hot-data'))?.hotplugVolume?.attachPodName, others]).toEqual([pod?.metadata.name, []]);
    expect(await needsRestart()).toBe(false);
  });

  it('takes them away again', async () => {
    await virt('removevolume', NAME, '--volume-name', 'hot-data');
    await virt('removevolume', NAME, '--volume-name', 'hot-more');
    await eventually('no pod is left', async () => (await attachments()).length === 0);
    expect(await console.run('ls /sys/block')).not.toMatch(/sd[ab]/);
    expect((await vmiNow())?.status?.volumeStatus?.map(({ name }) => name)).toEqual(['root']);
    expect((await eventsOf('VirtualMachineInstance', NAME)).join()).toContain('Volume hot-data has been unplugged');
  });

  it('gives a running guest more CPUs and memory', async () => {
    const kilobytes = await kilobytesIn(console);
    await patchDomain({ cpu: { sockets: 2 }, memory: { guest: '1280Mi' } });
    await eventually('the guest has both', async () => {
      const { status } = (await vmiNow()) ?? {};
      const changing = status?.conditions?.some(({ type }) => type === 'HotVCPUChange' || type === 'HotMemoryChange');
      if (status?.currentCPUTopology?.sockets !== 2 || status.memory?.guestRequested !== '1280Mi' || changing)
        throw new Error(JSON.stringify(status));
      return true;
    });
    await eventually('the guest uses the memory', async () => {
      return (await kilobytesIn(console)) > kilobytes + 128 * 1024;
    });
    expect(await needsRestart()).toBe(false);
  });

  it('says what it can only have after a restart', async () => {
    await patchDomain({ cpu: { sockets: 1 } });
    await eventually('a restart is asked for', needsRestart);
    await patchDomain({ cpu: { sockets: 2 } });
    await eventually('none is asked for any more', async () => !(await needsRestart()));
  });
}
