// The node agent's reconcile of one VM around a launcher that speaks the real protocol over real sockets; only Linux work is left out. Tests set
// what the world is like (fields that are not readonly), reconcile, and look at what came of it.
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeVirt, Plugin, VirtualMachineInstance } from '../../src/api/index.js';
import type { Clock } from '../../src/base/clock.js';
import { type Ctx, makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfig } from '../../src/core/config/cluster-config.js';
import { createAgent } from '../../src/node/agent/agent.js';
import { createNodeHooks } from '../../src/node/agent/node-hooks.js';
import { VmiWriter } from '../../src/node/agent/vmi-writer.js';
import { createGhostRecords } from '../../src/node/launchers/ghost-records.js';
import type { Launcher } from '../../src/node/launchers/launcher.js';
import { Launchers } from '../../src/node/launchers/launchers.js';
import { createNetworkJournal } from '../../src/node/network/journal.js';
import type { Next, Reconcile, Store } from '../../src/runtime/types.js';
import { NODE, nodeVmi, POD_UID, UID } from '../builders/node-vm.js';
import { frozen } from '../builders/objects.js';
import { type FakeLauncher, makePodDirs, startFakeLauncher } from './fake-launcher.js';
import { scratchDir } from './scratch.js';

export const KEY = 'default/vm';
const EMULATION = clusterConfig({
  metadata: { name: 'kubevirt' },
  spec: { configuration: { developerConfiguration: { useEmulation: true } } },
} as KubeVirt);

export class AgentWorld {
  now = Date.parse('2026-11-30T12:00:00Z');
  launchers: Launchers;
  stored: VirtualMachineInstance | undefined = frozen(nodeVmi());
  networkError: Error | undefined;
  unmountError: Error | undefined;
  config = EMULATION;
  plugins: readonly Plugin[] = [];
  processLives = true;
  /** The label that the cache selects by is gone. */
  isHidden = false;
  readonly launcher: FakeLauncher;
  readonly writes: VirtualMachineInstance[] = [];
  readonly events: string[] = [];
  readonly steps: string[] = [];
  readonly #dir: string;
  readonly #clock: Clock = { now: () => this.now, after: () => () => undefined };

  private constructor(dir: string, launcher: FakeLauncher) {
    this.#dir = dir;
    this.launcher = launcher;
    this.launchers = this.newLaunchers();
  }

  static async create(): Promise<AgentWorld> {
    const dir = scratchDir();
    let world: AgentWorld | undefined;
    const launcher = await startFakeLauncher({ podsDir: join(dir, 'pods'), now: () => world?.now ?? 0 });
    world = new AgentWorld(dir, launcher);
    return world;
  }

  readonly ctx = (): Ctx => makeCtx(new AbortController().signal, silentLogger, this.#clock);

  newLaunchers(): Launchers {
    return new Launchers({
      podsDir: join(this.#dir, 'pods'),
      ghosts: createGhostRecords(join(this.#dir, 'private')),
      watchdogMs: 30_000,
      wake: () => undefined,
      emit: (event) => this.events.push(`${event.type} ${event.reason}: ${event.message}`),
      belongsToPod: async () => this.processLives,
    });
  }

  #writer(): VmiWriter {
    const store: Store<VirtualMachineInstance> = {
      get: () => (this.isHidden ? undefined : this.stored),
      list: () => [],
      byIndex: () => [],
    };
    const client = {
      update: async (_: unknown, object: VirtualMachineInstance) => {
        const next = { ...object, metadata: { ...object.metadata, resourceVersion: String(Number(object.metadata.resourceVersion) + 1) } };
        this.writes.push(next);
        return next;
      },
      list: async () => ({ metadata: {}, items: this.stored ? [this.stored] : [] }),
    } as unknown as ConstructorParameters<typeof VmiWriter>[1];
    return new VmiWriter(store, client);
  }

  agent(): Reconcile {
    const journal = createNetworkJournal(join(this.#dir, 'private'));
    const events = {
      event: (_object: unknown, type: string, reason: string, message: string) => void this.events.push(`${type} ${reason}: ${message}`),
    };
    return createAgent({
      node: NODE,
      launchers: this.launchers,
      vmis: this.#writer(),
      journal,
      network: {
        ensure: async (_ctx, vmi) => {
          this.steps.push('network');
          if (this.networkError) throw this.networkError;
          const eth0 = { iface: 'eth0', podIP: '10.244.0.5', podIPs: ['10.244.0.5'], networkState: 2 as const };
          const entries = new Map([['default', eth0]]);
          await journal.write(vmi.metadata.uid ?? '', entries);
          return entries;
        },
      },
      disks: {
        mount: async () => void this.steps.push('mount'),
        unmount: async () => {
          this.steps.push('unmount');
          if (this.unmountError) throw this.unmountError;
        },
      },
      hotplug: { sync: async () => ({ there: new Set<string>(), failures: new Map<string, string>() }) },
      devices: { claim: async () => void this.steps.push('devices'), hasDevice: async () => false },
      events,
      nodeHooks: createNodeHooks({
        node: NODE,
        isEnabled: () => this.plugins.length > 0,
        plugins: async () => this.plugins,
        events,
        hostRoot: '/nowhere',
      }),
      config: () => this.config,
      preferredFamily: 4,
      isHostModelObsolete: () => false,
    });
  }

  reconcile(): Promise<Next> {
    return this.agent()(KEY, this.ctx());
  }

  /** The object with other metadata or spec. */
  change(changes: { readonly metadata?: object; readonly spec?: object }): void {
    const vmi = this.stored as VirtualMachineInstance;
    this.stored = frozen({
      ...vmi,
      metadata: { ...vmi.metadata, ...changes.metadata },
      spec: { ...vmi.spec, ...changes.spec },
    });
  }

  /** What the informer would show after our own write. */
  catchUp(): void {
    const last = this.writes.at(-1);
    if (last) this.stored = frozen(last);
  }

  /** Scheduled → Running, and the informer has seen it. */
  async run(): Promise<void> {
    await this.launcher.publish();
    await this.reconcile();
    this.catchUp();
    for (const list of [this.writes, this.events, this.steps, this.launcher.commands]) list.length = 0;
  }

  /** The agent's record of the launcher. */
  known(): Launcher {
    const known = this.launchers.get(UID);
    if (!known) throw new Error('the launcher is not known');
    return known;
  }

  ghosts(): Promise<string[]> {
    return readdir(join(this.#dir, 'private/ghost-records'));
  }

  async removePod(): Promise<void> {
    await mkdir(join(this.#dir, 'pods', 'of-the-agent'), { recursive: true });
    await rm(join(this.#dir, 'pods', POD_UID), { recursive: true });
  }

  /** The pod is there, and its launcher has not come. */
  async emptyPod(): Promise<void> {
    await this.launcher.stop();
    await this.removePod();
    await makePodDirs({ podsDir: join(this.#dir, 'pods'), now: () => this.now });
  }

  async close(): Promise<void> {
    await this.launcher.stop();
    await this.launchers.close();
    await rm(this.#dir, { recursive: true, force: true });
  }
}
