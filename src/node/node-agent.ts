// Puts the parts of the node agent together and runs them in order: remember earlier launchers, reconcile VMs, offer devices, label the node,
// beat. Called by main with everything that comes from outside; stopping it disturbs no guest.
import type { ObjectKey, Plugin, VirtualMachineInstance } from '../api/index.js';
import { API_VERSION, LABEL } from '../api/labels.js';
import { keyOf } from '../api/meta.js';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { NODES, PLUGINS, VIRTUAL_MACHINE_INSTANCES } from '../runtime/resources.js';
import type { Controller, EventRecorder, Manager } from '../runtime/types.js';
import { createAgent } from './agent/agent.js';
import { createNodeHooks, type NodeHooks } from './agent/node-hooks.js';
import { VmiWriter } from './agent/vmi-writer.js';
import { OPTIONAL_DEVICES } from './devices/optional-devices.js';
import { keepMdevTypes } from './devices/passthrough/mdev-types.js';
import { offerPermitted } from './devices/passthrough/permitted-devices.js';
import { createDevicePlugins, DEVICE_SPECS } from './devices/plugins.js';
import { createContainerDisks } from './disks/container-disks.js';
import { createHotplugDisks } from './disks/hotplug-disks.js';
import { createHeartbeat } from './heartbeat.js';
import { createLabeller } from './labeller.js';
import { createGhostRecords } from './launchers/ghost-records.js';
import type { Launcher } from './launchers/launcher.js';
import { Launchers } from './launchers/launchers.js';
import { runRounds } from './launchers/rounds.js';
import { createNetworkJournal } from './network/journal.js';
import { createNetworkSetup } from './network/setup.js';

export interface NodeAgentOptions {
  readonly node: string;
  readonly manager: Manager;
  readonly config: () => ClusterConfig;
  readonly arch: string;
  /** The kubelet's pods directory, as this process and as the host see it. */
  readonly podsDir: string;
  readonly hostPodsDir: string;
  readonly kubeletRoot: string;
  readonly privateDir: string;
  readonly shareDir: string;
  readonly labellerDir: string;
  readonly podFamily: 4 | 6;
  readonly maxDevices: number;
  readonly watchdogMs: number;
  readonly resyncMs: number;
  readonly isLabelling: boolean;
  /** A process in the host's mount namespace; default 1, which needs the host's PID namespace. */
  readonly hostPid?: number;
}

export interface NodeAgent {
  /** A VM that this node manages, for the console server. */
  find(namespace: string, name: string): { readonly vmi: VirtualMachineInstance; readonly launcher: Launcher } | undefined;
  /** Runs until the context ends. */
  run(ctx: Ctx): Promise<void>;
}

const WORKERS = 10;
/** What keeps a guest from starting is often mended outside the cluster, and then nothing wakes us. */
const MAX_DELAY_MS = 60_000;
const INIT_PID = 1;
const CONTROLLER = 'virt-handler-vm';

export function createNodeAgent(options: NodeAgentOptions): NodeAgent {
  const { manager, node, config } = options;
  const informer = manager.informer(VIRTUAL_MACHINE_INSTANCES, { labelSelector: `${LABEL.nodeName}=${node}` });
  const vmis = new VmiWriter(informer.store, manager.client);
  const events = manager.events('virt-handler');
  const plugins = async (): Promise<readonly Plugin[]> => (await manager.client.list(PLUGINS)).items;
  const journal = createNetworkJournal(options.privateDir);
  let controller: Controller | undefined;
  const wake = (key: ObjectKey): void => controller?.enqueue(key);
  const launchers = launchersOf(options, events, wake);
  const labeller = createLabeller({ client: manager.client, node, config, dir: options.labellerDir, arch: options.arch });
  controller = manager.controller({
    name: CONTROLLER,
    workers: WORKERS,
    maxDelayMs: MAX_DELAY_MS,
    sources: [{ informer, keys: (vmi: VirtualMachineInstance) => [keyOf(vmi)] }],
    reconcile: createAgent({
      node,
      launchers,
      journal,
      network: createNetworkSetup(journal),
      disks: createContainerDisks({
        hostPodsDir: options.hostPodsDir,
        stageDir: `${options.shareDir}/container-disks-stage`,
        hostPid: options.hostPid ?? INIT_PID,
      }),
      hotplug: createHotplugDisks({ hostPodsDir: options.hostPodsDir, hostPid: options.hostPid ?? INIT_PID }),
      events,
      config,
      plugins,
      nodeHooks: nodeHooksOf(options, events, plugins),
      preferredFamily: options.podFamily,
      vmis,
      isHostModelObsolete: () => labeller.isHostModelObsolete(),
    }),
  });
  return {
    find(namespace, name) {
      const vmi = vmis.get(`${namespace}/${name}`);
      const launcher = launchers.get(vmi?.metadata.uid ?? '');
      return vmi && launcher ? { vmi, launcher } : undefined;
    },
    async run(ctx) {
      const adopted = await launchers.restore(ctx);
      ctx.log.info({ node, launchers: adopted.length }, 'Managing this node');
      for (const key of adopted) wake(key);
      await Promise.all([
        manager.run(ctx.signal),
        offerNode(ctx, options, events),
        ...(options.isLabelling ? [labelWhenSynced(ctx, manager, () => labeller.run(ctx))] : []),
        runRounds(ctx, launchers, { watchdogMs: options.watchdogMs, resyncMs: options.resyncMs, wake }),
      ]);
      await launchers.close();
    },
  };
}

function nodeHooksOf(
  { node, config, hostPid = INIT_PID }: NodeAgentOptions,
  events: EventRecorder,
  plugins: () => Promise<readonly Plugin[]>,
): NodeHooks {
  return createNodeHooks({ node, isEnabled: () => config().isEnabled('Plugins'), plugins, events, hostRoot: `/proc/${hostPid}/root` });
}

function launchersOf(options: NodeAgentOptions, events: EventRecorder, wake: (key: ObjectKey) => void): Launchers {
  return new Launchers({
    podsDir: options.podsDir,
    ghosts: createGhostRecords(options.privateDir),
    watchdogMs: options.watchdogMs,
    wake,
    emit: ({ type, reason, message, involved }) =>
      events.event({ apiVersion: API_VERSION, kind: 'VirtualMachineInstance', metadata: { ...involved } }, type, reason, message),
  });
}

/** Devices for the kubelet, and the word to the cluster that launchers may come. */
async function offerNode(ctx: Ctx, options: NodeAgentOptions, events: EventRecorder): Promise<void> {
  const { manager, node, config, kubeletRoot, maxDevices } = options;
  // The host's own /dev: ours is a copy made when our container started.
  const hostRoot = `/proc/${options.hostPid ?? INIT_PID}/root`;
  const known = (): ClusterConfig | undefined => (manager.hasSynced() ? config() : undefined);
  const offered = { pluginDir: `${kubeletRoot}/device-plugins`, hostRoot, maxDevices };
  const devices = createDevicePlugins(offered, DEVICE_SPECS, { devices: OPTIONAL_DEVICES, config: known });
  const heartbeat = createHeartbeat({
    client: manager.client,
    node,
    isReady: () => devices.ready() && manager.hasSynced(),
    wantsCpuManager: () => config().isEnabled('CPUManager'),
    cpuManagerFile: `${kubeletRoot}/cpu_manager_state`,
  });
  const permitted = { options: offered, config: known, warn: (message: string) => warnOfNode(events, node, message) };
  const mdevs = {
    config: known,
    hostRoot,
    recordDir: `${options.privateDir}/mdevs`,
    nodeLabels: async () => (await manager.client.get(NODES, node)).metadata.labels ?? {},
  };
  await Promise.all([devices.run(ctx), heartbeat.run(ctx), offerPermitted(ctx, permitted), keepMdevTypes(ctx, mdevs)]);
}

/** Where an administrator looks who wonders what a node has: events of nodes bear its name as UID. */
const warnOfNode = (events: EventRecorder, node: string, message: string): void =>
  events.event({ apiVersion: 'v1', kind: 'Node', metadata: { name: node, uid: node } }, 'Warning', 'HostDeviceUnusable', message);

/** The cluster's configuration decides about labels: not before it is known. */
async function labelWhenSynced(ctx: Ctx, manager: Manager, run: () => Promise<void>): Promise<void> {
  while (!ctx.signal.aborted && !manager.hasSynced()) {
    await sleep(ctx.clock, 100, ctx.signal);
  }
  await run();
}
