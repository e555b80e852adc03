// Heartbeat and capability labels of a node under the simulated API server and a virtual clock: what is written, and how rarely.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeVirt, Node } from '../../src/api/index.js';
import { makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfig } from '../../src/core/config/cluster-config.js';
import { createHeartbeat } from '../../src/node/heartbeat.js';
import { createLabeller } from '../../src/node/labeller.js';
import { RestClient } from '../../src/runtime/client.js';
import { NODES } from '../../src/runtime/resources.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { scratchDir } from '../fakes/scratch.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

const NODE = 'node1';

let clock: VirtualClock;
let server: SimApiServer;
let client: KubeClient;
let stop: AbortController;
let dir: string;
let running: Promise<void>;

const ctx = () => makeCtx(stop.signal, silentLogger, clock);
const node = (): Promise<Node> => client.get(NODES, NODE);
const gates = (...featureGates: string[]) =>
  clusterConfig({
    metadata: { name: 'kubevirt', resourceVersion: featureGates.join() },
    spec: { configuration: { developerConfiguration: { featureGates } } },
  } as KubeVirt);

beforeEach(async () => {
  clock = new VirtualClock();
  server = new SimApiServer(clock);
  client = new RestClient({ transport: server.transport(), clock });
  stop = new AbortController();
  dir = scratchDir();
  const object = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE, labels: { zone: 'a', 'machine-type.node.kubevirt.io/old': 'true' } },
  };
  await client.create(NODES, object as Node);
  server.writes.length = 0;
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
  await running;
});

describe('heartbeat', () => {
  let isReady: boolean;
  let config = clusterConfig();

  function start(): void {
    running = createHeartbeat({
      client,
      node: NODE,
      isReady: () => isReady,
      wantsCpuManager: () => config.isEnabled('CPUManager'),
      cpuManagerFile: join(dir, 'cpu_manager_state'),
      random: () => 0.5,
    }).run(ctx());
  }

  beforeEach(() => {
    isReady = true;
    config = clusterConfig();
  });

  it('says that launchers may come, once a minute or so', async () => {
    start();
    await clock.advance(1);
    const { metadata } = await node();
    expect(metadata.labels).toMatchObject({
      zone: 'a',
      'kubevirt.io/schedulable': 'true',
      'kubevirt.io/cpumanager': 'false',
      cpumanager: 'false',
    });
    expect(metadata.annotations?.['kubevirt.io/heartbeat']).toBe('2026-01-01T00:00:00Z');
    await clock.advance(10 * 60_000);
    expect(server.writes.length).toBe(7);
  });

  it('waits up to ten seconds for the devices before it says that none may come', async () => {
    isReady = false;
    start();
    await clock.advance(9_000);
    expect(server.writes).toEqual([]);
    await clock.advance(2_000);
    expect((await node()).metadata.labels?.['kubevirt.io/schedulable']).toBe('false');

    isReady = true;
    await clock.advance(1_000);
    expect((await node()).metadata.labels?.['kubevirt.io/schedulable']).toBe('true');
  });

  it('takes it back when it stops', async () => {
    start();
    await clock.advance(1);
    stop.abort();
    await clock.settle();
    await running;
    expect((await node()).metadata.labels?.['kubevirt.io/schedulable']).toBe('false');
  });

  it.each([
    ['static', 'true'],
    ['none', 'false'],
  ])('knows the CPU manager policy %s', async (policyName, expected) => {
    config = gates('CPUManager');
    writeFileSync(join(dir, 'cpu_manager_state'), JSON.stringify({ policyName, defaultCpuSet: '' }));
    start();
    await clock.eventually(async () => expect((await node()).metadata.labels?.['kubevirt.io/cpumanager']).toBe(expected));
  });
});

const DOMAIN = `<domainCapabilities><cpu>
  <mode name='host-model' supported='yes'><model fallback='forbid'>Haswell</model><vendor>Intel</vendor><feature policy='require' name='vme'/></mode>
  <mode name='custom' supported='yes'><model usable='yes'>Haswell</model><model usable='no'>EPYC</model><model usable='yes'>qemu64</model></mode>
</cpu><features/></domainCapabilities>`;
const HOST = `<capabilities><host><cpu/></host><guest><os_type>hvm</os_type><arch name='x86_64'><machine>q35</machine></arch></guest></capabilities>`;

describe('labeller', () => {
  let config = clusterConfig();

  function start() {
    const labeller = createLabeller({ client, node: NODE, config: () => config, dir, arch: 'amd64', random: () => 0 });
    running = labeller.run(ctx());
    return labeller;
  }

  beforeEach(() => {
    config = clusterConfig();
    writeFileSync(join(dir, 'virsh_domcapabilities.xml'), DOMAIN);
    writeFileSync(join(dir, 'capabilities.xml'), HOST);
  });

  const hasLabels = () =>
    clock.eventually(async () => expect((await node()).metadata.labels).toHaveProperty(['machine-type.node.kubevirt.io/q35'], 'true'));

  it('replaces its own labels, keeps others, and writes only once', async () => {
    const labeller = start();
    await hasLabels();
    const labels = (await node()).metadata.labels ?? {};
    expect(labels).toMatchObject({
      zone: 'a',
      'cpu-model.node.kubevirt.io/Haswell': 'true',
      'host-model-cpu.node.kubevirt.io/Haswell': 'true',
    });
    expect(labels).not.toHaveProperty(['machine-type.node.kubevirt.io/old']);
    expect(labels).not.toHaveProperty(['cpu-model.node.kubevirt.io/qemu64']);
    expect(labeller.isHostModelObsolete()).toBe(false);
    await clock.advance(30 * 60_000);
    expect(server.writes).toHaveLength(1);
  });

  it('follows the configuration at once', async () => {
    const labeller = start();
    await hasLabels();
    config = clusterConfig({
      metadata: { name: 'kubevirt', resourceVersion: '2' },
      spec: { configuration: { obsoleteCPUModels: { Haswell: true } } },
    } as KubeVirt);
    await clock.eventually(async () => expect(labeller.isHostModelObsolete()).toBe(true), 5_000);
    await clock.eventually(async () =>
      expect((await node()).metadata.labels).toHaveProperty(['node-labeller.kubevirt.io/obsolete-host-model'], 'true'),
    );
  });

  it('knows the enlightenments of its hypervisor and the architectures that it emulates', async () => {
    const hyperv = "<hyperv supported='yes'><enum name='features'><value>stimer</value></enum></hyperv>";
    writeFileSync(join(dir, 'virsh_domcapabilities.xml'), DOMAIN.replace('<features/>', `<features>${hyperv}</features>`));
    writeFileSync(join(dir, 'virsh_domcapabilities_aarch64.xml'), DOMAIN);
    config = gates('CrossArchitectureVirtualization');
    start();
    await hasLabels();
    expect((await node()).metadata.labels).toMatchObject({
      'hyperv.node.kubevirt.io/synictimer': 'true',
      'kubevirt.io/vm-arch-amd64': 'true',
      'kubevirt.io/vm-arch-arm64': 'true',
    });
  });

  it('leaves a node alone whose labels an administrator keeps', async () => {
    await client.mergePatch(NODES, NODE, { metadata: { annotations: { 'node-labeller.kubevirt.io/skip-node': '' } } });
    server.writes.length = 0;
    start();
    await clock.advance(10 * 60_000);
    expect(server.writes).toEqual([]);
  });
});
