// Permitted devices from a sample host to the kubelet: offered, changed and withdrawn as configuration and hardware change.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PermittedHostDevices } from '../../src/api/index.js';
import { systemClock } from '../../src/base/clock.js';
import { makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';
import { type ClusterConfig, clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { offerPermitted } from '../../src/node/devices/passthrough/permitted-devices.js';
import { type Kubelet, pluginClient, startKubelet, type Untyped } from '../fakes/fake-kubelet.js';
import { addPci, addUsb, pciDir, type SampleHost, sampleHost } from '../fakes/sample-sysfs.js';
import { scratchDir } from '../fakes/scratch.js';

const GPU: PermittedHostDevices = { pciHostDevices: [{ pciVendorSelector: '10DE:1EB8', resourceName: 'nvidia.com/T4' }] };
const STICK: PermittedHostDevices = { usb: [{ resourceName: 'a.com/stick', selectors: [{ vendor: '46f4', product: '1' }] }] };

let pluginDir: string;
let host: SampleHost;
let stop: AbortController;
let kubelet: Kubelet;
let config: ClusterConfig | undefined;
let warned: string[];
let running: Promise<void>;

beforeEach(async () => {
  pluginDir = join(scratchDir(), 'plugins');
  await mkdir(pluginDir);
  host = sampleHost(scratchDir());
  addPci(host, { address: '0000:65:00.0', id: '10de:1eb8', driver: 'vfio-pci', group: '7', numaNode: 1 });
  addPci(host, { address: '0000:66:00.0', id: '10de:1eb8', driver: 'nvidia', group: '8', numaNode: 1 });
  for (const name of ['vfio/vfio', 'vfio/7', 'vfio/8', 'bus/usb/001/003']) host.device(`/dev/${name}`);
  stop = new AbortController();
  kubelet = await startKubelet(pluginDir);
  config = undefined;
  warned = [];
  const options = { pluginDir, hostRoot: host.root, maxDevices: 10, pollMs: 20 };
  const ctx = makeCtx(stop.signal, silentLogger, systemClock);
  running = offerPermitted(ctx, { options, config: () => config, warn: (message) => warned.push(message), scanMs: 20 });
});

afterEach(async () => {
  stop.abort();
  await running;
  kubelet.stop();
});

const permit = (permittedHostDevices: PermittedHostDevices): void => {
  config = clusterConfigOf({ permittedHostDevices });
};

/** What the kubelet hears: a line each time. */
function watch(name: string): { readonly heard: string[]; readonly plugin: Untyped } {
  const plugin = pluginClient(join(pluginDir, `kubevirt-${name}.sock`));
  const heard: string[] = [];
  plugin
    .ListAndWatch({})
    .on('data', ({ devices = [] }: Untyped) =>
      heard.push(devices.map((d: Untyped) => `${d.ID} ${d.health}${d.topology ? ` near ${d.topology.nodes[0].ID}` : ''}`).join(', ')),
    )
    .on('error', () => undefined); // the plugin closes
  return { heard, plugin };
}

/** The machine may have other things to do. */
const soon = (check: () => void): Promise<void> => vi.waitFor(check, 10_000);

const registered = (resource: string, times = 1): Promise<void> =>
  soon(() => expect(kubelet.registered.filter(({ resource_name }) => resource_name === resource)).toHaveLength(times));

describe('permitted devices', () => {
  it('are offered as soon as the cluster permits them, and no longer than that', async () => {
    permit(GPU);
    await registered('nvidia.com/T4');
    const { heard, plugin } = watch('nvidia.com-T4');
    await soon(() => expect(heard).toEqual(['7 Healthy near 1']));
    const answer: Untyped = await new Promise((resolve, reject) =>
      plugin.Allocate({ container_requests: [{ devices_ids: ['7'] }] }, (err: unknown, res: unknown) => (err ? reject(err) : resolve(res))),
    );
    expect(answer.container_responses[0]).toMatchObject({
      envs: { PCI_RESOURCE_NVIDIA_COM_T4: '0000:65:00.0' },
      devices: [{ host_path: '/dev/vfio/vfio' }, { host_path: '/dev/vfio/7', container_path: '/dev/vfio/7', permissions: 'rw' }],
    });
    // One of two is offered: that the host keeps the other is no cause for alarm.
    expect(warned).toEqual([]);

    permit(STICK);
    await soon(() => expect(heard).toEqual(['7 Healthy near 1', '']));
    permit(GPU);
    await registered('nvidia.com/T4', 2);
    plugin.close();
  });

  it('follow the hardware', async () => {
    permit(GPU);
    await registered('nvidia.com/T4');
    const { heard, plugin } = watch('nvidia.com-T4');
    await soon(() => expect(heard).toHaveLength(1));
    host.file(`${pciDir('0000:66:00.0')}/uevent`, 'DRIVER=vfio-pci\nPCI_CLASS=30000\nPCI_ID=10DE:1EB8\n');
    await soon(() => expect(heard.at(-1)).toBe('7 Healthy near 1, 8 Healthy near 1'));
    host.remove('/dev/vfio/8');
    await soon(() => expect(heard.at(-1)).toBe('7 Healthy near 1, 8 Unhealthy near 1'));
    host.remove('/sys/bus/pci/devices/0000:65:00.0');
    host.device('/dev/vfio/8');
    await soon(() => expect(heard.at(-1)).toBe('8 Healthy near 1, 7 Unhealthy near 1'));
    plugin.close();
  });

  it('come when they are plugged in, and leave when they are pulled', async () => {
    permit(STICK);
    addUsb(host, '1-2', [1, 3], '46f4/1/0');
    await registered('a.com/stick');
    const { heard, plugin } = watch('a.com-stick');
    await soon(() => expect(heard).toEqual(['1:3 Healthy']));
    for (const name of ['1-2', '1-2:1.0']) host.remove(`/sys/bus/usb/devices/${name}`);
    await soon(() => expect(heard).toEqual(['1:3 Healthy', '']));
    host.remove('/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2');
    addUsb(host, '1-2', [1, 4], '46f4/1/0');
    host.device('/dev/bus/usb/001/004');
    await soon(() => expect(heard.at(-1)).toBe('1:4 Healthy'));
    plugin.close();
  });

  it('that no guest can have are told of once', async () => {
    host.remove('/sys/bus/pci/devices/0000:65:00.0');
    permit(GPU);
    await soon(() => expect(warned).toHaveLength(1));
    expect(warned[0]).toMatch(/0000:66:00.0 \(10de:1eb8\) is held by the driver nvidia: bind it to vfio-pci .* no nvidia.com\/T4/);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(warned).toHaveLength(1);
    expect(kubelet.registered).toEqual([]);
  });
});
