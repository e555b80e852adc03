// What comes to a running guest and goes again: volumes by `kubectl virt`, vCPUs and memory by a change of the VM. The guest itself is asked for
// volumes and memory; the kernel of the tiny guest takes no CPUs while it runs, so of those the status tells.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod, VirtualMachine, VirtualMachineInstance, VolumeStatus } from '../../../src/api/index.js';
import { quantityValue } from '../../../src/api/quantity.js';
import { apply, Console, eventsOf, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { virt, waitRunning } from '../vm-waits.js';
import { blockClaim, claim, fillPod, NODE } from '../volume-objects.js';

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

/** The one that looks after the guest's node. */
async function restartHandler(): Promise<void> {
  const where = ['-n', 'kubevirt', '-l', 'kubevirt.io=virt-handler'];
  const [pod] = await list<Pod>('pods', ...where, '--field-selector', `spec.nodeName=${NODE}`);
  await kubectl('delete', 'pod', pod?.metadata.name ?? '', '-n', 'kubevirt', '--grace-period=1', '--wait=true');
  await kubectl('rollout', 'status', 'daemonset/virt-handler', '-n', 'kubevirt', '--timeout=120s');
}

export function hotplug(): void {
  let console: Console;
  const openConsole = async (): Promise<void> => {
    console = await Console.open(NAME);
    await console.login();
  };
  /** Consoles go through virt-handler, and with it. */
  const replaceHandler = async (): Promise<void> => {
    await restartHandler();
    await console.close();
    await openConsole();
  };

  beforeAll(async () => {
    await apply(
      growingVm(),
      claim('hot-data', '64Mi'),
      claim('hot-more', '64Mi'),
      blockClaim('hot-block', '32Mi'),
      claim('hot-empty', '16Mi'),
    );
    await apply(fillPod('hot-fill', { 'hot-data': { 'disk.img': 'plugged-one' }, 'hot-more': { 'disk.img': 'plugged-two' } }));
    await kubectl('wait', 'pod/hot-fill', '-n', NAMESPACE, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s');
    await kubectl('delete', 'pod', 'hot-fill', '-n', NAMESPACE);
    await waitRunning(NAME);
    await openConsole();
  });

  afterAll(async () => {
    await console?.close();
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
    await kubectl(
      'delete',
      'pvc',
      'hot-data',
      'hot-more',
      'hot-block',
      'hot-empty',
      '-n',
      NAMESPACE,
      '--ignore-not-found',
      '--timeout=90s',
    );
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

  it('brings a block device while virt-handler is replaced, and takes it from a guest that uses it', async () => {
    await virt('addvolume', NAME, '--volume-name', 'hot-block');
    await replaceHandler();
    await waitReady('hot-block');
    await console.run('until [ -b /dev/sda ]; do sleep 1; done; echo written | dd of=/dev/sda; sync');
    expect(await console.run('blockdev --getsize64 /dev/sda')).toContain(String(32 * 1024 * 1024));
    await console.run('{ sleep 1000 </dev/sda & }');
    await replaceHandler();
    expect((await volume('hot-block'))?.phase).toBe('Ready');
    await virt('removevolume', NAME, '--volume-name', 'hot-block');
    await eventually('no pod is left', async () => (await attachments()).length === 0);
    expect(await console.run('kill %1; ls /sys/block')).not.toMatch(/sda/);
    await virt('addvolume', NAME, '--volume-name', 'hot-block');
    await waitReady('hot-block');
    expect(await textOf(console, 'sda')).toContain('written');
    await virt('removevolume', NAME, '--volume-name', 'hot-block');
    await eventually('no pod is left', async () => (await attachments()).length === 0);
  });

  it('says why a volume does not come, and brings it once it can', async () => {
    await virt('addvolume', NAME, '--volume-name', 'hot-empty');
    await eventually('the volume says why', async () => {
      const status = await volume('hot-empty');
      if (status?.reason !== 'HotplugFailed' || !status.message?.includes('has no /hot-empty/disk.img'))
        throw new Error(JSON.stringify(status));
      return true;
    });
    expect((await eventsOf('VirtualMachineInstance', NAME)).join()).toContain('HotplugFailed: volume hot-empty has no /hot-empty/disk.img');
    await apply(fillPod('hot-fill', { 'hot-empty': { 'disk.img': 'came late' } }));
    await waitReady('hot-empty');
    expect(await textOf(console, 'sda')).toContain('came late');
    await virt('removevolume', NAME, '--volume-name', 'hot-empty');
    await eventually('no pod is left', async () => (await attachments()).length === 0);
    await kubectl('delete', 'pod', 'hot-fill', '-n', NAMESPACE);
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

  it('takes memory back that the guest does not need', async () => {
    const kilobytes = await kilobytesIn(console);
    await patchDomain({ memory: { guest: '1Gi' } });
    // A block in which the guest's kernel has something that cannot be moved stays for a while.
    await eventually('the guest has given nearly all of it back', async () => {
      const { status } = (await vmiNow()) ?? {};
      const isChanging = status?.conditions?.some(({ type }) => type === 'HotMemoryChange');
      const { guestCurrent = '0', guestRequested } = status?.memory ?? {};
      const isSmall = quantityValue(guestCurrent) <= quantityValue('1088Mi');
      if (!isSmall || guestRequested !== '1Gi' || isChanging) throw new Error(JSON.stringify(status?.memory));
      return true;
    });
    await eventually('the guest knows', async () => (await kilobytesIn(console)) < kilobytes - 128 * 1024);
    expect(await needsRestart()).toBe(false);
    await patchDomain({ memory: { guest: '512Mi' } });
    await eventually('less than at its start needs a restart', needsRestart);
    await patchDomain({ memory: { guest: '1Gi' } });
    await eventually('none is asked for any more', async () => !(await needsRestart()));
  });

  it('says what it can only have after a restart', async () => {
    await patchDomain({ cpu: { sockets: 1 } });
    await eventually('a restart is asked for', needsRestart);
    await patchDomain({ cpu: { sockets: 2 } });
    await eventually('none is asked for any more', async () => !(await needsRestart()));
  });
}
