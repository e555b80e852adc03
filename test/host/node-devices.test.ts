// A device plugin against a stand-in for the kubelet that speaks the real protocol over real sockets.
import { execFileSync } from 'node:child_process';
import { mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server as SocketServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { createDevicePlugin as createPlugin, type DevicePlugin, offerDevice } from '../../src/node/devices/device-plugin.js';
import { type DeviceSpec, hostDevice } from '../../src/node/devices/host-device.js';
import { OPTIONAL_DEVICES } from '../../src/node/devices/optional-devices.js';
import { claimDevices } from '../../src/node/devices/ownership.js';
import { createDevicePlugins } from '../../src/node/devices/plugins.js';
import { type Kubelet, pluginClient, startKubelet, type Untyped } from '../fakes/fake-kubelet.js';
import { scratchDir } from '../fakes/scratch.js';

const SPEC: DeviceSpec = { name: 'kvm', resourceName: 'devices.kubevirt.io/kvm', path: '/dev/kvm', permissions: 'rw' };

let dir: string;
let root: string;
let stop: AbortController;
let kubelet: Kubelet;

beforeEach(async () => {
  dir = scratchDir();
  root = join(dir, 'root');
  await mkdir(join(root, 'dev'), { recursive: true });
  await symlink('/dev/null', join(root, 'dev/kvm'));
  stop = new AbortController();
  kubelet = await startKubelet(dir);
});

afterEach(async () => {
  stop.abort();
  kubelet.stop();
});

const ctx = () => makeCtx(stop.signal, silentLogger, systemClock);
const options = () => ({ pluginDir: dir, hostRoot: root, maxDevices: 1000, pollMs: 20 });
const createDevicePlugin = (spec: DeviceSpec, given: ReturnType<typeof options>): DevicePlugin =>
  createPlugin(hostDevice(spec, given), given);
const client = () => pluginClient(join(dir, 'kubevirt-kvm.sock'));

describe('device plugin', () => {
  it('registers, lists a thousand devices and hands out the node', async () => {
    void createDevicePlugin(SPEC, options()).run(ctx());
    await vi.waitFor(() => expect(kubelet.registered).toHaveLength(1));
    expect(kubelet.registered[0]).toMatchObject({
      version: 'v1beta1',
      endpoint: 'kubevirt-kvm.sock',
      resource_name: 'devices.kubevirt.io/kvm',
    });

    const plugin = client();
    const list = await new Promise<{ devices: { ID: string; health: string }[] }>((resolve) =>
      plugin.ListAndWatch({}).once('data', resolve),
    );
    expect(list.devices).toHaveLength(1000);
    expect(list.devices[7]).toEqual({ ID: 'kvm7', health: 'Healthy' });
    const answer = await new Promise((resolve, reject) =>
      plugin.Allocate({ container_requests: [{ devices_ids: ['kvm7'] }] }, (err: unknown, res: unknown) =>
        err ? reject(err) : resolve(res),
      ),
    );
    expect(answer).toMatchObject({
      container_responses: [{ devices: [{ container_path: '/dev/kvm', host_path: '/dev/kvm', permissions: 'rw' }] }],
    });
    plugin.close();
  });

  it('says when the device goes and comes back', async () => {
    const device = createDevicePlugin(SPEC, options());
    void device.run(ctx());
    await vi.waitFor(() => expect(device.isRegistered()).toBe(true));
    const seen: string[] = [];
    const plugin = client();
    plugin
      .ListAndWatch({})
      .on('data', (m: Untyped) => seen.push(m.devices[0].health))
      .on('error', () => undefined);
    await vi.waitFor(() => expect(seen).toEqual(['Healthy']));

    await rm(join(root, 'dev/kvm'));
    await writeFile(join(root, 'dev/kvm'), 'a plain file is no device');
    await vi.waitFor(() => expect(seen).toEqual(['Healthy', 'Unhealthy']));
    await rm(join(root, 'dev/kvm'));
    await symlink('/dev/null', join(root, 'dev/kvm'));
    await vi.waitFor(() => expect(seen).toEqual(['Healthy', 'Unhealthy', 'Healthy']));
    plugin.close();
  });

  it('registers again with a restarted kubelet', async () => {
    const device = createDevicePlugin(SPEC, options());
    void device.run(ctx());
    await vi.waitFor(() => expect(device.isRegistered()).toBe(true));

    kubelet.stop();
    await rm(join(dir, 'kubelet.sock'), { force: true });
    await rm(join(dir, 'kubevirt-kvm.sock'), { force: true });
    kubelet = await startKubelet(dir);

    await vi.waitFor(() => expect(kubelet.registered).toHaveLength(1), { timeout: 5_000 });
  });

  it('leaves with an empty list once it is withdrawn', async () => {
    const offered = offerDevice(ctx(), hostDevice(SPEC, options()), options());
    await vi.waitFor(() => expect(kubelet.registered).toHaveLength(1));
    const seen: number[] = [];
    const plugin = client();
    plugin
      .ListAndWatch({})
      .on('data', (m: Untyped) => seen.push(m.devices?.length ?? 0))
      .on('error', () => undefined);
    await vi.waitFor(() => expect(seen).toEqual([1000]));
    await offered.withdraw();
    expect(seen).toEqual([1000, 0]);
    plugin.close();
  });

  it('waits for a kubelet that is not there yet', async () => {
    kubelet.stop();
    await rm(join(dir, 'kubelet.sock'), { force: true });
    const plugins = createDevicePlugins(options(), [SPEC]);
    void plugins.run(ctx());
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(plugins.ready()).toBe(false);

    kubelet = await startKubelet(dir);
    await vi.waitFor(() => expect(plugins.ready()).toBe(true), { timeout: 5_000 });
  });
});

describe('devices that the configuration decides about', () => {
  it('come and go with it', async () => {
    await symlink('/dev/null', join(root, 'dev/sev'));
    let disabledFeatureGates: string[] = [];
    const config = () => clusterConfigOf({ developerConfiguration: { disabledFeatureGates } });
    void createDevicePlugins(options(), [], { devices: OPTIONAL_DEVICES, config }).run(ctx());
    const resources = (): string[] => kubelet.registered.map(({ resource_name }) => resource_name);
    await vi.waitFor(() => expect(resources()).toEqual(['devices.kubevirt.io/sev']), 10_000);
    const seen: number[] = [];
    const plugin = pluginClient(join(dir, 'kubevirt-sev.sock'));
    plugin
      .ListAndWatch({})
      .on('data', (m: Untyped) => seen.push(m.devices?.length ?? 0))
      .on('error', () => undefined);
    await vi.waitFor(() => expect(seen).toEqual([1000]), 10_000);
    disabledFeatureGates = ['WorkloadEncryptionSEV'];
    await vi.waitFor(() => expect(seen).toEqual([1000, 0]), 10_000);
    plugin.close();
    disabledFeatureGates = [];
    await vi.waitFor(() => expect(resources()).toHaveLength(2), 10_000);
  });
});

describe('socket of a daemon', () => {
  const NOBODY = 65_534;
  const listen = (path: string): Promise<SocketServer> =>
    new Promise((resolve, reject) => {
      const server = createServer((client) => client.end());
      server.once('error', reject);
      server.listen(path, () => resolve(server));
    });
  const close = (server: SocketServer): Promise<unknown> => new Promise((resolve) => server.close(resolve));

  it('is offered while somebody listens, to its users, in a folder that they cannot change', async () => {
    const folder = join(dir, 'pr');
    await mkdir(folder);
    const path = join(folder, 'helper.sock');
    const spec: DeviceSpec = { ...SPEC, name: 'kvm', path: folder, socket: { name: 'helper.sock', owner: NOBODY } };
    const device = createDevicePlugin(spec, options());
    void device.run(ctx());
    await vi.waitFor(() => expect(device.isRegistered()).toBe(true));
    expect(device.isHealthy()).toBe(false);

    const daemon = await listen(path);
    await vi.waitFor(() => expect(device.isHealthy()).toBe(true));
    expect([(await stat(path)).uid, (await stat(folder)).uid]).toEqual([NOBODY, 0]);

    const plugin = client();
    const answer = await new Promise((resolve, reject) =>
      plugin.Allocate({ container_requests: [{ devices_ids: ['kvm7'] }] }, (err: unknown, res: unknown) =>
        err ? reject(err) : resolve(res),
      ),
    );
    plugin.close();
    expect(answer).toMatchObject({
      container_responses: [{ mounts: [{ container_path: folder, host_path: folder, read_only: true }] }],
    });

    // A daemon that was killed leaves its file behind: a hard link, since this one takes its own away.
    execFileSync('ln', [path, join(folder, 'left-behind')]);
    await close(daemon);
    execFileSync('mv', [join(folder, 'left-behind'), path]);
    await vi.waitFor(() => expect(device.isHealthy()).toBe(false));
    await rm(path);
    const again = await listen(path);
    await vi.waitFor(() => expect(device.isHealthy()).toBe(true));
    expect((await stat(path)).uid).toBe(NOBODY);
    await close(again);
  });
});

describe('ownership of the devices of a pod', () => {
  const USER = 107;
  const device = (path: string): string => {
    execFileSync('mknod', [path, 'c', '1', '3']);
    return path;
  };
  const ownersOf = (...paths: string[]): Promise<number[]> => Promise.all(paths.map(async (path) => (await stat(path)).uid));

  it('goes to the user of the launcher, files and what is missing aside', async () => {
    const usb = join(dir, 'bus/usb');
    await mkdir(join(usb, '001'), { recursive: true });
    const [kvm, plugged] = [device(join(dir, 'kvm-node')), device(join(usb, '001/002'))];
    await writeFile(join(usb, '001/readme'), 'no device');
    const self = { process: { pid: process.pid, startTime: '0' }, uid: USER };
    await claimDevices(self, [kvm, join(dir, 'missing')], [usb, join(dir, 'no-folder')]);
    expect(await ownersOf(kvm, plugged, join(usb, '001/readme'))).toEqual([USER, USER, 0]);
  });
});
