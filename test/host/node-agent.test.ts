// The node agent as a whole on a real kernel: a launcher process in its own network namespace and control group is found by its socket, gets
// its network, is commanded, survives a restart of the agent and is shut down. The API server is simulated, QEMU is not there.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KubeVirt, VirtualMachineInstance } from '../../src/api/index.js';
import { systemClock } from '../../src/base/clock.js';
import { makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';
import { readNetState } from '../../src/linux/ip.js';
import { netNsOfPid } from '../../src/linux/netns.js';
import { followCluster } from '../../src/node/cluster-settings.js';
import { createNodeAgent } from '../../src/node/node-agent.js';
import { RestClient } from '../../src/runtime/client.js';
import { RuntimeManager } from '../../src/runtime/manager.js';
import { KUBEVIRTS, PLUGINS, VIRTUAL_MACHINE_INSTANCES } from '../../src/runtime/resources.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { NODE, nodeVmi } from '../builders/node-vm.js';
import { fakeNodeHook } from '../fakes/fake-hook-sidecar.js';
import { scratchDir } from '../fakes/scratch.js';
import { SimApiServer } from '../sim/sim-api-server.js';
import { createNs, hostCtx, type TestNs } from './namespaces.js';

const KEY = 'default/vm';
const POD_UID = `pod-${process.pid}`;
const CGROUP = `${existsSync('/sys/fs/cgroup/memory') ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup'}/${POD_UID}`;

let dir: string;
let server: SimApiServer;
let admin: KubeClient;
let launcher: ChildProcess;
let heard: string[];
let peer: TestNs;
let stops: AbortController[];
let running: Promise<void>[];

/** As the kubelet starts one: own namespaces, own control group, a link from the CNI plugin. */
async function startLauncher(uid: string): Promise<void> {
  const script = `mount --make-rprivate /; mount -t tmpfs tmpfs /run; mkdir /run/kubevirt-private; exec "$@"`;
  const command = [process.execPath, '--import', 'tsx', 'test/host/fake-launcher-process.ts', join(dir, 'pods'), POD_UID, uid];
  launcher = spawn('unshare', ['-n', '-m', 'sh', '-ec', script, 'launcher', ...command], { stdio: ['pipe', 'pipe', 'inherit'] });
  mkdirSync(CGROUP, { recursive: true });
  writeFileSync(join(CGROUP, 'cgroup.procs'), String(launcher.pid));
  const lines = createInterface({ input: launcher.stdout as NodeJS.ReadableStream });
  lines.on('line', (line) => heard.push(line));
  await vi.waitFor(() => expect(heard).toContain('ready'), { timeout: 10_000 });
  const inside = ['nsenter', `--net=${netNsOfPid(launcher.pid ?? 0)}`, '--'];
  peer.run('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(launcher.pid));
  peer.run(...inside, 'ip', 'address', 'add', '10.244.9.2/24', 'dev', 'eth0');
  peer.run(...inside, 'ip', 'link', 'set', 'eth0', 'up');
}

function startAgent(): void {
  const stop = new AbortController();
  const manager = new RuntimeManager({ name: 'virt-handler', transport: server.transport(), clock: systemClock, log: silentLogger });
  const settings = followCluster(manager, 'kubevirt', 'kubevirt-ca');
  const agent = createNodeAgent({
    node: NODE,
    manager,
    config: settings.config,
    arch: 'amd64',
    podsDir: join(dir, 'pods'),
    hostPodsDir: join(dir, 'pods'),
    kubeletRoot: join(dir, 'kubelet'),
    privateDir: join(dir, 'private'),
    shareDir: join(dir, 'share'),
    labellerDir: join(dir, 'labeller'),
    podFamily: 4,
    maxDevices: 10,
    watchdogMs: 3_000,
    resyncMs: 300_000,
    isLabelling: false,
    hostPid: process.pid,
  });
  stops.push(stop);
  running.push(agent.run(makeCtx(stop.signal, silentLogger, systemClock)));
}

async function stopAgents(): Promise<void> {
  for (const stop of stops) stop.abort();
  await Promise.all(running);
  [stops, running] = [[], []];
}

const phase = async (): Promise<string | undefined> => (await admin.find(VIRTUAL_MACHINE_INSTANCES, KEY))?.status?.phase;
const writesAbout = (word: string): string[] =>
  server.writes.filter(({ path }) => path.includes(word)).map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);

beforeEach(async () => {
  dir = scratchDir();
  await mkdir(join(dir, 'kubelet/device-plugins'), { recursive: true });
  [heard, stops, running] = [[], [], []];
  peer = createNs('node');
  server = new SimApiServer(systemClock);
  admin = new RestClient({ transport: server.transport(), clock: systemClock });
  await admin.create(KUBEVIRTS, {
    apiVersion: 'kubevirt.io/v1',
    kind: 'KubeVirt',
    metadata: { name: 'kubevirt', namespace: 'kubevirt' },
    spec: { configuration: { developerConfiguration: { useEmulation: true } } },
  } as KubeVirt);
});

afterEach(async () => {
  await stopAgents();
  const ended =
    launcher.exitCode === null && launcher.signalCode === null ? new Promise((resolve) => launcher.once('exit', resolve)) : undefined;
  launcher.kill('SIGKILL');
  await ended;
  peer.remove();
  rmdirSync(CGROUP);
});

async function handOver(): Promise<VirtualMachineInstance> {
  const { status, metadata, ...rest } = nodeVmi({ status: { activePods: { [POD_UID]: NODE } } });
  const { uid: _given, resourceVersion: _none, ...named } = metadata;
  const created = await admin.create(VIRTUAL_MACHINE_INSTANCES, { ...rest, metadata: { ...named, finalizers: ['test/hold'] } });
  await startLauncher(created.metadata.uid ?? '');
  const vmi = await admin.update(VIRTUAL_MACHINE_INSTANCES, { ...created, ...(status ? { status } : {}) });
  server.writes.length = 0;
  return vmi;
}

describe('node agent', () => {
  it('starts a guest, is replaced without disturbing it, and shuts it down', async () => {
    startAgent();
    const vmi = await handOver();
    await vi.waitFor(async () => expect(await phase()).toBe('Running'), { timeout: 10_000 });
    await vi.waitFor(() => expect(heard).toEqual(['ready', 'sync']), { timeout: 10_000 });
    await vi.waitFor(() => expect(writesAbout('events')).toHaveLength(1));
    expect(writesAbout('virtualmachineinstances')).toEqual(['PUT vm']);
    const { links } = await readNetState(hostCtx(), netNsOfPid(launcher.pid ?? 0));
    expect(links.map((link) => link.name).toSorted()).toEqual(['eth0', 'k6t-eth0', 'lo', 'tap0']);
    expect((await admin.get(VIRTUAL_MACHINE_INSTANCES, KEY)).status?.interfaces).toMatchObject([{ ipAddress: '10.244.9.2' }]);
    expect(await readdir(join(dir, 'private/ghost-records'))).toEqual([vmi.metadata.uid]);

    await stopAgents();
    server.writes.length = 0;
    startAgent();
    await vi.waitFor(() => expect(heard).toEqual(['ready', 'sync', 'sync']), { timeout: 10_000 });
    expect([writesAbout('virtualmachineinstances'), writesAbout('events')]).toEqual([[], []]);

    await admin.delete(VIRTUAL_MACHINE_INSTANCES, KEY);
    await vi.waitFor(async () => expect(await phase()).toBe('Succeeded'), { timeout: 10_000 });
    await vi.waitFor(() => expect(heard.slice(3)).toEqual(['shutdown', 'delete']));

    launcher.stdin?.end();
    await vi.waitFor(async () => expect(await readdir(join(dir, 'private/ghost-records'))).toEqual([]), { timeout: 10_000 });
  });

  it('asks the plugins of the node, whose sockets it finds among the node’s files, before and after', async () => {
    const socket = join(dir, 'plugins/switch.sock');
    const told: string[] = [];
    let isReady = false;
    const close = await fakeNodeHook(socket, ({ hookPoint, node_context: context }) => {
      told.push(`${hookPoint} on ${context?.node_name}`);
      if (!isReady) throw new Error('the switch is not ready');
      return {};
    });
    try {
      const kubevirt = await admin.get(KUBEVIRTS, 'kubevirt/kubevirt');
      const developerConfiguration = { useEmulation: true, featureGates: ['Plugins'] };
      await admin.update(KUBEVIRTS, { ...kubevirt, spec: { ...kubevirt.spec, configuration: { developerConfiguration } } });
      const hook = {
        socket,
        permittedHooks: ['PreVMStart', 'PostVMStart', 'PreVMStop', 'PostVMStop'],
        condition: 'vmi.metadata.name == "vm"',
      };
      await admin.create(PLUGINS, {
        apiVersion: 'plugin.kubevirt.io/v1alpha1',
        kind: 'Plugin',
        metadata: { name: 'switch' },
        spec: { nodeHooks: [hook] },
      });
      startAgent();
      await handOver();
      const shown = async (): Promise<object | undefined> =>
        (await admin.get(VIRTUAL_MACHINE_INSTANCES, KEY)).status?.conditions?.find(({ type }) => type === 'Synchronized');
      await vi.waitFor(
        async () =>
          expect(await shown()).toMatchObject({
            status: 'False',
            reason: 'PluginFailed',
            message: expect.stringContaining('plugin switch, node hook 0 at PreVMStart'),
          }),
        { timeout: 10_000 },
      );
      expect(heard).toEqual(['ready']);

      isReady = true;
      told.length = 0;
      await vi.waitFor(() => expect(told).toEqual([`PreVMStart on ${NODE}`, `PostVMStart on ${NODE}`]), { timeout: 20_000 });
      expect(await phase()).toBe('Running');
      await admin.delete(VIRTUAL_MACHINE_INSTANCES, KEY);
      await vi.waitFor(() => expect(heard).toEqual(['ready', 'sync', 'shutdown', 'delete']), { timeout: 10_000 });
      await vi.waitFor(() => expect(told.slice(2)).toEqual([`PreVMStop on ${NODE}`, `PostVMStop on ${NODE}`]), { timeout: 10_000 });
    } finally {
      close();
    }
  });

  it('reports a launcher that dies', async () => {
    startAgent();
    await handOver();
    await vi.waitFor(async () => expect(await phase()).toBe('Running'), { timeout: 10_000 });
    launcher.kill('SIGKILL');
    await vi.waitFor(async () => expect(await phase()).toBe('Failed'), { timeout: 20_000 });
    expect((await admin.get(VIRTUAL_MACHINE_INSTANCES, KEY)).status).toMatchObject({ reason: 'LauncherUnresponsive' });
  });
});
