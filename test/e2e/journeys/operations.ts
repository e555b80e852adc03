// What a user does to a running guest and what a guest does by itself: its devices, picture, links, media and interfaces; watchdog, reboot, panic,
// and a disk without room. Small guests, several at a time; what needs a guest agent is in agent.ts.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod, VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { hashedPodInterface } from '../../../src/core/network/names.js';
import { setGates } from '../gates.js';
import { devicesVm, hostDiskVmi, notRebootingVmi, panickingVmi } from '../guest-objects.js';
import { apply, Console, eventsOf, eventually, find, kubectl, NAMESPACE } from '../harness.js';
import { inPodNetwork, onNode } from '../node-access.js';
import { launcherOf, putVerb, serialLogOf, verbPath, waitCondition, waitPhase } from '../verbs.js';
import { claim, fillPod, NODE } from '../volume-objects.js';

const NAME = 'ops';
const MEDIA = 'ops-media';
/** On the node; a file system of its own, which can be full. */
const SMALL = '/var/lib/kubevirt/ops-small';
const GUESTS = ['ops-panic', 'ops-once', 'ops-full'];
const BOOT_MS = 150_000;

const vmiNow = (): Promise<VirtualMachineInstance | undefined> => find<VirtualMachineInstance>('vmi', NAME);

async function patchVm(change: (spec: NonNullable<VirtualMachine['spec']['template']['spec']>) => void): Promise<void> {
  const vm = await find<VirtualMachine>('vm', NAME);
  const spec = structuredClone(vm?.spec.template.spec);
  if (!spec) throw new Error(`VM ${NAME} has no template`);
  change(spec);
  await kubectl('patch', 'vm', NAME, '-n', NAMESPACE, '--type', 'merge', '-p', JSON.stringify({ spec: { template: { spec } } }));
}

/** A guest has one console: whoever opens it takes it from the one before. */
async function withConsole(name: string, work: (console: Console) => Promise<void>): Promise<void> {
  await waitPhase(name, 'Running', { timeoutMs: BOOT_MS });
  const console = await Console.open(name);
  try {
    await console.login();
    await work(console);
  } finally {
    await console.close();
  }
}

/** An empty file that the disk grows into, on a file system with less room than that. */
async function makeSmallDisk(): Promise<void> {
  await onNode(NODE, 'mkdir', '-p', SMALL);
  await onNode(NODE, 'mount', '-t', 'tmpfs', '-o', 'size=8m,mode=0755', 'small', SMALL);
  await onNode(NODE, 'truncate', '-s', '64M', `${SMALL}/disk.img`);
  await onNode(NODE, 'chown', '107:107', `${SMALL}/disk.img`);
}

export function operations(): void {
  let restoreGates: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    restoreGates = await setGates({ on: ['DeclarativeHotplugVolumes', 'HostDisk', 'RebootPolicy'] });
    await makeSmallDisk();
    await apply(devicesVm(NAME), claim(MEDIA, '32Mi'), panickingVmi('ops-panic'));
    await apply(fillPod('ops-fill', { [MEDIA]: { 'disk.img': 'a-medium' } }));
  });

  afterAll(async () => {
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
    await kubectl('delete', 'vmi', ...GUESTS, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
    await kubectl('delete', 'pod,pvc', '-l', 'journey=volumes', '-n', NAMESPACE, '--timeout=90s');
    await onNode(NODE, 'umount', SMALL);
    await onNode(NODE, 'rmdir', SMALL);
    await restoreGates();
  });

  devices();
  media();
  links();
  ends();
}

/** What is in the guest, and what QEMU shows of it. */
function devices(): void {
  it('gives a guest the devices of its VMI', () =>
    withConsole(NAME, async (console) => {
      const nodes = await console.run('ls /dev/tpm0 /dev/hwrng /dev/watchdog0 /dev/sr0');
      for (const device of ['/dev/tpm0', '/dev/hwrng', '/dev/watchdog0', '/dev/sr0']) expect(nodes).toContain(device);
      const classes = await console.run('cat /sys/bus/pci/devices/*/class | sort -u');
      // Sound and a USB controller; the display is a virtio one.
      for (const each of ['0x040300', '0x0c0330']) expect(classes).toContain(each);
      const [, display] = /(\/sys\S*)\/class/.exec(await console.run('grep -l 0x030000 /sys/bus/pci/devices/*/class')) ?? [];
      expect(await console.run(`cat ${display}/vendor`)).toContain('0x1af4');
    }));

  it('shows the picture of its display', async () => {
    const picture = await kubectl('get', '--raw', verbPath('virtualmachineinstances', NAME, 'vnc/screenshot'));
    expect(picture.slice(1, 4)).toBe('PNG');
    expect(picture.length).toBeGreaterThan(500);
  });

  it('keeps what the guest says on its serial port', async () => expect(await serialLogOf(NAME)).toContain('login:'));
}

function media(): void {
  it('exchanges the medium of a CD-ROM drive while the guest runs', async () => {
    await kubectl('wait', 'pod/ops-fill', '-n', NAMESPACE, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s');
    await kubectl('delete', 'pod', 'ops-fill', '-n', NAMESPACE);
    await withConsole(NAME, async (console) => {
      const hasMedium = async (): Promise<boolean> => (await console.run('head -c 8 /dev/sr0')).includes('a-medium');
      expect(await hasMedium()).toBe(false);
      await patchVm(({ volumes }) => volumes?.push({ name: 'media', persistentVolumeClaim: { claimName: MEDIA, hotpluggable: true } }));
      await eventually('the guest reads the medium', hasMedium);
      await patchVm((spec) => {
        spec.volumes = (spec.volumes ?? []).filter(({ name }) => name !== 'media');
      });
      await eventually('the drive is empty again', async () => !(await hasMedium()));
    });
    const conditions = (await find<VirtualMachine>('vm', NAME))?.status?.conditions ?? [];
    expect(conditions.map(({ type }) => type)).not.toContain('RestartRequired');
  });
}

/** The network that a CNI plugin would bring: a pair of links, one end in the pod under the name that was asked for. */
async function bringNetwork(pod: Pod, podInterface: string): Promise<void> {
  await inPodNetwork(pod, 'ip', 'link', 'add', podInterface, 'type', 'veth', 'peer', 'name', 'far-end');
  await inPodNetwork(pod, 'ip', 'link', 'set', podInterface, 'up');
  await inPodNetwork(pod, 'ip', 'addr', 'add', '192.0.2.1/24', 'dev', 'far-end');
  await inPodNetwork(pod, 'ip', 'link', 'set', 'far-end', 'up');
}

/** What a CNI plugin tells about the networks that it brought. */
async function tellNetworks(pod: Pod, ...interfaces: string[]): Promise<void> {
  const status = JSON.stringify(interfaces.map((each) => ({ name: `${NAMESPACE}/blue`, interface: each })));
  await kubectl('annotate', 'pod', pod.metadata.name ?? '', '-n', NAMESPACE, '--overwrite', `k8s.v1.cni.cncf.io/network-status=${status}`);
}

async function setLink(state: 'down' | 'up'): Promise<void> {
  await patchVm(({ domain }) => {
    const [first] = domain.devices.interfaces ?? [];
    if (first) first.state = state;
  });
}

function links(): void {
  it('takes the link of an interface down and up', () =>
    withConsole(NAME, async (console) => {
      for (const [state, carrier] of [
        ['down', '0'],
        ['up', '1'],
      ] as const) {
        await setLink(state);
        await eventually(`the guest’s carrier is ${carrier}`, async () =>
          (await console.run('cat /sys/class/net/eth0/carrier')).startsWith(carrier),
        );
        await eventually(`the status says ${state}`, async () => (await vmiNow())?.status?.interfaces?.[0]?.linkState === state);
      }
    }));

  it('plugs an interface into a running guest, and out again', async () => {
    const [pod, podInterface] = [await launcherOf(NAME), hashedPodInterface('blue')];
    await patchVm(({ domain, networks }) => {
      domain.devices.interfaces?.push({ name: 'blue', bridge: {} });
      networks?.push({ name: 'blue', multus: { networkName: 'blue' } });
    });
    await eventually('the CNI is asked for the network', async () => {
      const { annotations } = (await launcherOf(NAME)).metadata;
      return annotations?.['k8s.v1.cni.cncf.io/networks']?.includes(podInterface);
    });
    await bringNetwork(pod, podInterface);
    await tellNetworks(pod, podInterface);
    await withConsole(NAME, async (console) => {
      const hasNic = async (): Promise<boolean> => (await console.run('ls /sys/class/net')).includes('eth1');
      await eventually('the guest has the interface', hasNic);
      await console.run('ip addr add 192.0.2.2/24 dev eth1; ip link set eth1 up');
      await eventually('it carries packets', async () => (await console.run('ping -c 1 -W 1 192.0.2.1')).includes(' 0% packet loss'));
      await patchVm(({ domain }) => {
        for (const each of domain.devices.interfaces ?? []) if (each.name === 'blue') each.state = 'absent';
      });
      await eventually('the guest has let go of it', async () => !(await hasNic()));
    });
    await tellNetworks(pod);
    await eventually('the VM forgets it', async () => {
      const interfaces = (await find<VirtualMachine>('vm', NAME))?.spec.template.spec?.domain.devices.interfaces;
      return interfaces?.length === 1;
    });
  });
}

/** What guests do by themselves. */
function ends(): void {
  const sameGuest = async (work: (console: Console) => Promise<void>): Promise<void> => {
    const uid = (await vmiNow())?.metadata.uid;
    await withConsole(NAME, work);
    const after = await vmiNow();
    expect([after?.metadata.uid, after?.status?.phase]).toEqual([uid, 'Running']);
  };

  it('resets a guest whose watchdog is no longer fed', () =>
    sameGuest(async (console) => {
      await console.run('watchdog -T 2 -t 60 /dev/watchdog0');
      await console.expect(/login: /, BOOT_MS);
    }));

  it('keeps its VMI when the guest reboots, by itself or by the power button', () =>
    sameGuest(async (console) => {
      await console.login();
      console.send('reboot');
      await console.expect(/login: /, BOOT_MS);
      await console.login();
      await console.run('killall guest-agent');
      await waitCondition(NAME, 'AgentConnected', undefined, { timeoutMs: 30_000 });
      await putVerb('virtualmachineinstances', NAME, 'softreboot');
      await console.expect(/login: /, BOOT_MS);
    }));

  it('says that the operating system of a guest panicked', async () => {
    await withConsole('ops-panic', async (console) => {
      console.send('echo c > /proc/sysrq-trigger');
      const { status } = await waitPhase('ops-panic', 'Failed', { timeoutMs: 60_000 });
      expect(status?.reason).toBe('GuestPanicked');
    });
    const events = (await eventsOf('VirtualMachineInstance', 'ops-panic')).join('\n');
    expect(events).toContain('GuestPanicked: The guest operating system panicked.');
    await kubectl('delete', 'vmi', 'ops-panic', '-n', NAMESPACE, '--timeout=60s');
  });

  it('ends a guest that reboots where its VMI says so', async () => {
    await apply(notRebootingVmi('ops-once'), hostDiskVmi('ops-full', `${SMALL}/disk.img`));
    await withConsole('ops-once', async (console) => {
      console.send('reboot');
      await waitPhase('ops-once', 'Succeeded', { timeoutMs: 60_000 });
    });
  });

  it('pauses a guest whose disk has no room, and lets it go on when there is', () =>
    withConsole('ops-full', async (console) => {
      console.send('dd if=/dev/urandom of=/dev/vdb bs=1M count=16 oflag=direct; echo wrote-$?');
      await waitCondition('ops-full', 'Paused', 'PausedIOError', { timeoutMs: 60_000 });
      const events = (await eventsOf('VirtualMachineInstance', 'ops-full')).join('\n');
      expect(events).toMatch(/IOerror: VM paused: no space is left .* disk full/);
      await onNode(NODE, 'mount', '-o', 'remount,size=80m', SMALL);
      await waitCondition('ops-full', 'Paused', undefined, { timeoutMs: 60_000 });
      await console.expect(/wrote-0/);
    }));
}
