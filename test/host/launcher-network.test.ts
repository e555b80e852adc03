// A guest's disk and network card as they are prepared for it: a container disk from an image volume, and a tap on a bridge. What its card
// is told by DHCP is in launcher-bindings.test.ts.
import { chmod, mkdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import type { LauncherInterface } from '../../src/core/network/caches.js';
import { checkPrerequisites, emptyGuest, LauncherPod } from './launcher-pod.js';

const WAIT = { timeout: 20_000, interval: 50 };
const MAC = '02:11:22:33:44:55';
const IMAGE_BYTES = 4 * 1024 * 1024;

const LINK: LauncherInterface = {
  network: 'default',
  podInterface: 'eth0',
  tap: 'tap0',
  bridge: 'k6t-eth0',
  mac: MAC,
  mtu: 1400,
  dhcp4: { server: '10.0.2.1', client: '10.0.2.2', prefix: 24, router: '10.0.2.1' },
};

const NETWORK = `
ip link add k6t-eth0 address 02:00:00:00:00:00 type bridge
ip addr add 10.0.2.1/24 dev k6t-eth0
ip link set k6t-eth0 mtu 1400 up
ip tuntap add dev tap0 mode tap user 107 group 107
ip link set tap0 mtu 1400 master k6t-eth0 up
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
chmod 666 /dev/net/tun
`;

async function prepare(dir: string): Promise<void> {
  const image = join(dir, 'kubevirt-image-volume/disk_0/disk');
  await mkdir(image, { recursive: true });
  await writeFile(join(image, 'some.img'), Buffer.alloc(IMAGE_BYTES, 0xee));
  await writeFile(join(dir, 'network.sh'), NETWORK);
  await writeFile(join(dir, 'kubevirt-private/vif-cache-eth0.json'), JSON.stringify(LINK));
  await chmod(join(dir, 'kubevirt-private/vif-cache-eth0.json'), 0o644);
}

function networkedGuest(): VirtualMachineInstance {
  const vmi = emptyGuest({
    volumes: [{ name: 'root', containerDisk: { image: 'some/image' } }],
    networks: [{ name: 'default', pod: {} }],
  });
  vmi.spec.domain.devices = { disks: [{ name: 'root', disk: { bus: 'virtio' } }], interfaces: [{ name: 'default', masquerade: {} }] };
  return vmi;
}

let pod: LauncherPod;
beforeAll(checkPrerequisites);
afterEach(() => pod.remove());

describe('a guest with a container disk and a network', () => {
  it('boots from an overlay of the image, with its card on the tap', async () => {
    pod = await LauncherPod.start(['--image-volume'], prepare);
    await expect.poll(() => pod.isReady, WAIT).toBe(true);
    await pod.listen();
    await pod.client.syncVirtualMachine(networkedGuest());
    await expect.poll(() => pod.states, WAIT).toEqual(['ADDED Running']);
    expect(pod.events[0]?.domain?.spec.interfaces).toEqual([{ name: 'default', mac: MAC }]);
    expect(await readlink(join(pod.dir, 'kubevirt/container-disks/disk_0.img'))).toBe(
      '/var/run/kubevirt-image-volume/disk_0/disk/some.img',
    );
    expect(await pod.inNetwork('ip', '-br', 'link', 'show', 'tap0')).toMatch(/LOWER_UP/);
  });

  it('waits for the network and the image', async () => {
    pod = await LauncherPod.start();
    await expect.poll(() => pod.isReady, WAIT).toBe(true);
    await expect(pod.client.syncVirtualMachine(networkedGuest())).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringContaining('container disk root'),
    });
    const vmi = networkedGuest();
    vmi.spec.volumes = [];
    vmi.spec.domain.devices.disks = [];
    await expect(pod.client.syncVirtualMachine(vmi)).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringContaining('interface default'),
    });
  });
});
