// The whole reconcile of one VM against a launcher that speaks the real protocol over real sockets; only Linux work is left out.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NODE, nodeVmi, POD_UID, UID, type VmiChanges } from '../../../test/builders/node-vm.js';
import { frozen } from '../../../test/builders/objects.js';
import { type FakeLauncher, makePodDirs, startFakeLauncher } from '../../../test/fakes/fake-launcher.js';
import type { KubeVirt, VirtualMachineInstance } from '../../api/index.js';
import { type Clock, metaTime } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { silentLogger } from '../../base/logger.js';
import { clusterConfig } from '../../core/config/cluster-config.js';
import type { Next, Store } from '../../runtime/types.js';
import { createGhostRecords } from '../launchers/ghost-records.js';
import { Launchers } from '../launchers/launchers.js';
import { createNetworkJournal } from '../network/journal.js';
import { createAgent } from './agent.js';
import { VmiWriter } from './vmi-writer.js';

const KEY = 'default/vm';
const EMULATION = clusterConfig({
  metadata: { name: 'kubevirt' },
  spec: { configuration: { developerConfiguration: { useEmulation: true } } },
} as KubeVirt);

let dir: string;
let now: number;
let launcher: FakeLauncher;
let launchers: Launchers;
let stored: VirtualMachineInstance | undefined;
let writes: VirtualMachineInstance[];
let events: string[];
let steps: string[];
let [networkError, unmountError]: (Error | undefined)[] = [];
let config = EMULATION;
let processLives = true;
/** The label that the cache selects by is gone. */
let isHidden = false;
const clock: Clock = { now: () => now, after: () => () => undefined };
const ctx = () => makeCtx(new AbortController().signal, silentLogger, clock);

function newLaunchers(): Launchers {
  return new Launchers({
    podsDir: join(dir, 'pods'),
    ghosts: createGhostRecords(join(dir, 'private')),
    watchdogMs: 30_000,
    wake: () => undefined,
    emit: (event) => events.push(`${event.type} ${event.reason}: ${event.message}`),
    belongsToPod: async () => processLives,
  });
}

function agentOf() {
  const journal = createNetworkJournal(join(dir, 'private'));
  const store: Store<VirtualMachineInstance> = { get: () => (isHidden ? undefined : stored), list: () => [], byIndex: () => [] };
  const client = {
    update: async (_: unknown, object: VirtualMachineInstance) => {
      const next = { ...object, metadata: { ...object.metadata, resourceVersion: String(Number(object.metadata.resourceVersion) + 1) } };
      writes.push(next);
      return next;
    },
    list: async () => ({ metadata: {}, items: stored ? [stored] : [] }),
  } as unknown as ConstructorParameters<typeof VmiWriter>[1];
  return createAgent({
    node: NODE,
    launchers,
    vmis: new VmiWriter(store, client),
    journal,
    network: {
      ensure: async (_ctx, vmi) => {
        steps.push('network');
        if (networkError) throw networkError;
        const entries = new Map([['default', { iface: 'eth0', podIP: '10.244.0.5', podIPs: ['10.244.0.5'], networkState: 2 as const }]]);
        await journal.write(vmi.metadata.uid ?? '', entries);
        return entries;
      },
    },
    disks: {
      mount: async () => void steps.push('mount'),
      unmount: async () => {
        steps.push('unmount');
        if (unmountError) throw unmountError;
      },
    },
    hotplug: { sync: async () => ({ there: new Set<string>(), failures: new Map<string, string>() }) },
    devices: { claim: async () => void steps.push('devices'), hasKvm: async () => false },
    events: { event: (_object, type, reason, message) => void events.push(`${type} ${reason}: ${message}`) },
    config: () => config,
    preferredFamily: 4,
    isHostModelObsolete: () => false,
  });
}

const give = (changes: VmiChanges = {}): void => {
  stored = frozen(nodeVmi(changes));
};
/** What the informer would show after our own write. */
const catchUp = (changes: Partial<VirtualMachineInstance['metadata']> = {}): void => {
  const last = writes.at(-1);
  if (last) stored = frozen({ ...last, metadata: { ...last.metadata, ...changes } });
};
const reconcile = (): Promise<Next> => agentOf()(KEY, ctx());
const ghosts = (): Promise<string[]> => readdir(join(dir, 'private/ghost-records'));

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kv-agent-'));
  now = Date.parse('2026-11-30T12:00:00Z');
  [writes, events, steps] = [[], [], []];
  [networkError, unmountError] = [undefined, undefined];
  config = EMULATION;
  processLives = true;
  isHidden = false;
  launcher = await startFakeLauncher({ podsDir: join(dir, 'pods'), now: () => now });
  launchers = newLaunchers();
  give();
});

afterEach(async () => {
  await launcher.stop();
  await launchers.close();
  await rm(dir, { recursive: true, force: true });
});

/** Scheduled → Running, and the informer has seen it. */
async function run(): Promise<void> {
  await launcher.publish();
  await reconcile();
  catchUp();
  writes.length = 0;
  events.length = 0;
  steps.length = 0;
  launcher.commands.length = 0;
}

describe('starting', () => {
  it('prepares while libvirt comes up, then starts the guest with one write and one event', async () => {
    expect(await reconcile()).toEqual({ afterMs: 1000, why: 'libvirt of the launcher is not up yet' });
    expect(steps.toSorted()).toEqual(['devices', 'mount', 'network']);
    expect([launcher.commands, writes]).toEqual([[], []]);

    await launcher.publish();
    await reconcile();
    expect(launcher.commands).toEqual(['sync']);
    expect(steps).toHaveLength(3);
    expect(writes.map((vmi) => vmi.status?.phase)).toEqual(['Running']);
    expect(writes[0]?.status).toMatchObject({ machine: { type: 'pc-q35-10.0' }, interfaces: [{ ipAddress: '10.244.0.5' }] });
    expect(events).toEqual(['Normal Started: VirtualMachineInstance started.']);
    expect(await ghosts()).toEqual([UID]);
  });

  it('does nothing twice while the informer lags, and nothing at all when nothing changed', async () => {
    const agent = agentOf();
    await launcher.publish();
    await agent(KEY, ctx());
    await agent(KEY, ctx());
    catchUp();
    await agent(KEY, ctx());
    expect([launcher.commands, writes.length, events.length]).toEqual([['sync'], 1, 1]);
  });

  it('waits for a launcher that is not there yet', async () => {
    await launcher.stop();
    await rm(join(dir, 'pods', POD_UID), { recursive: true });
    await makePodDirs({ podsDir: join(dir, 'pods'), now: () => now });
    expect(await reconcile()).toMatchObject({ afterMs: 1000 });
    expect(writes).toEqual([]);
  });

  it('fails a VMI whose launcher never comes', async () => {
    await launcher.stop();
    await rm(join(dir, 'pods', POD_UID), { recursive: true });
    await makePodDirs({ podsDir: join(dir, 'pods'), now: () => now });
    await reconcile();
    now += 181_000;
    await reconcile();
    expect(writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'LauncherNotStarted' });
  });

  it('fails a VMI whose pod is gone', async () => {
    await launcher.stop();
    await rm(join(dir, 'pods', POD_UID), { recursive: true });
    await reconcile();
    expect(writes.at(-1)?.status).toMatchObject({ phase: 'Failed' });
    expect(steps).toContain('unmount');
    expect(await ghosts()).toEqual([]);
  });

  it('notices at once that the pod of a launcher went before it came', async () => {
    await launcher.stop();
    await rm(join(dir, 'pods', POD_UID), { recursive: true });
    await makePodDirs({ podsDir: join(dir, 'pods'), now: () => now });
    expect(await reconcile()).toMatchObject({ afterMs: 1000 });
    await rm(join(dir, 'pods', POD_UID), { recursive: true });
    await reconcile();
    expect(writes.at(-1)?.status).toMatchObject({ phase: 'Failed' });
    expect(await ghosts()).toEqual([]);
  });

  it('is not held up by an earlier guest of the same name that cannot be cleaned up', async () => {
    await launchers.manage(ctx(), { uid: 'earlier', namespace: 'default', name: 'vm', podUid: 'earlier-pod' });
    unmountError = new KvError('Internal', 'umount failed');
    await launcher.publish();
    await expect(reconcile()).rejects.toThrow('umount failed');
    expect(launcher.commands).toEqual(['sync']);
    expect(writes.at(-1)?.status?.phase).toBe('Running');
  });

  it('does not touch a process that is not in the pod', async () => {
    processLives = false;
    await expect(reconcile()).rejects.toMatchObject({ code: 'Terminal' });
    expect(steps).toEqual([]);
    expect(writes.at(-1)?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Synchronized', status: 'False' }));
  });

  it('says that the node has no KVM', async () => {
    config = clusterConfig();
    await launcher.publish();
    await expect(reconcile()).rejects.toMatchObject({ reason: 'NoKvm' });
    expect(launcher.commands).toEqual([]);
    expect(writes.at(-1)?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Synchronized', status: 'False', reason: 'NoKvm', message: expect.stringContaining('useEmulation') }),
    );
    expect(events).toEqual([expect.stringContaining('Warning SyncFailed: node node1 has no /dev/kvm')]);
  });

  it('shows a failed start once, and takes it back when it succeeds', async () => {
    await launcher.publish();
    launcher.syncError = new KvError('Libvirt', 'cannot start the guest: no space left');
    await expect(reconcile()).rejects.toThrow('no space left');
    catchUp();
    await expect(reconcile()).rejects.toThrow('no space left');
    expect(writes).toHaveLength(1);
    expect(events).toEqual(['Warning SyncFailed: cannot start the guest: no space left']);
    catchUp();

    launcher.syncError = undefined;
    await reconcile();
    expect(writes.at(-1)?.status?.phase).toBe('Running');
    expect(writes.at(-1)?.status?.conditions?.some((condition) => condition.type === 'Synchronized')).toBe(false);
  });

  it('fails a VMI whose network is half done', async () => {
    networkError = new KvError('CriticalNetwork', 'nft failed', { reason: 'NetworkSetupFailed', retry: 'never' });
    await launcher.publish();
    await reconcile();
    expect(writes[0]?.status).toMatchObject({ phase: 'Failed', reason: 'NetworkSetupFailed' });
    expect(events).toEqual(['Warning Stopped: The VirtualMachineInstance crashed. Nft failed']);
  });
});

describe('running', () => {
  it('follows the launcher’s notifications', async () => {
    await run();
    await launcher.set('Paused', 'User');
    await reconcile();
    expect(writes.at(-1)?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Paused', reason: 'PausedByUser' }));
  });

  it('tells the launcher about a new spec, once', async () => {
    await run();
    stored = frozen({ ...(stored as VirtualMachineInstance), spec: { ...(stored as VirtualMachineInstance).spec, hostname: 'new' } });
    await reconcile();
    await reconcile();
    expect(launcher.commands).toEqual(['sync']);
  });

  it.each([
    ['Shutdown', 'Succeeded', 'Normal Stopped: The VirtualMachineInstance was shut down.'],
    ['Crashed', 'Failed', expect.stringMatching(/^Warning Stopped: The VirtualMachineInstance crashed\. The guest crashed/)],
  ])('a guest that ends (%s) makes the VMI %s and is cleaned up', async (reason, phase, event) => {
    await run();
    await launcher.set('Shutoff', reason);
    await reconcile();
    expect(writes.map((vmi) => vmi.status?.phase)).toEqual([phase]);
    expect(events).toEqual([event]);
    expect(launcher.commands).toEqual(['delete']);
    expect(steps).toEqual(['unmount']);
  });

  it('gives up a launcher that no longer answers', async () => {
    await run();
    await launcher.stop();
    const known = launchers.get(UID);
    if (!known) throw new Error('the launcher is not known');
    await launchers.probe(ctx(), known);
    now += 31_000;
    await launchers.probe(ctx(), known);
    await reconcile();
    expect(writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'LauncherUnresponsive' });
  });

  it('lets a guest run on, later each time, that a failing disk paused', async () => {
    await run();
    await launcher.set('Paused', 'IOError');
    expect(await reconcile()).toMatchObject({ afterMs: 5_000, why: 'a failing disk has the guest paused' });
    expect(launcher.commands).toEqual([]);
    now += 5_000;
    expect(await reconcile()).toMatchObject({ afterMs: 10_000 });
    expect(launcher.commands).toEqual(['sync']);
  });

  it('takes a launcher that vanishes while it is told to delete its domain for one that is done', async () => {
    await run();
    const known = launchers.get(UID);
    if (!known) throw new Error('the launcher is not known');
    launcher.onDelete = () => {
      known.isolation = { process: { pid: 1, startTime: 'of another' }, uid: 0 };
      throw new KvError('LauncherUnreachable', 'the peer hung up');
    };
    await launcher.set('Shutoff', 'Shutdown');
    await reconcile();
    expect(writes.map((vmi) => vmi.status?.phase)).toEqual(['Succeeded']);
    expect(steps).toEqual(['unmount']);
    expect([await ghosts(), launchers.all()]).toEqual([[], []]);
  });

  it('fails a VMI whose domain vanished, instead of starting another guest', async () => {
    await run();
    launcher.domain = undefined;
    const known = launchers.get(UID);
    if (!known) throw new Error('the launcher is not known');
    await launchers.refresh(known);
    await reconcile();
    expect(writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'GuestVanished' });
    expect(launcher.commands).toEqual([]);
  });
});

describe('stopping', () => {
  it('shuts the guest down gracefully, reports the end and lets go once the launcher is gone', async () => {
    await run();
    catchUp({ deletionTimestamp: metaTime(now) });
    stored = frozen({ ...(stored as VirtualMachineInstance), metadata: { ...stored?.metadata, deletionTimestamp: metaTime(now) } });
    await reconcile();
    expect(launcher.commands).toEqual(['shutdown', 'delete']);
    expect(writes.map((vmi) => vmi.status?.phase)).toEqual(['Succeeded']);
    expect(events).toEqual([
      'Normal ShuttingDown: Signaled Graceful Shutdown',
      'Normal Stopped: The VirtualMachineInstance was shut down.',
    ]);

    // The test's own process plays the launcher: it lives on, so the agent gives it a minute to say farewell.
    catchUp();
    expect(await reconcile()).toMatchObject({ why: 'the launcher has not ended yet' });
    now += 61_000;
    expect(await reconcile()).toBeUndefined();
    expect(await ghosts()).toEqual([]);
    expect(launchers.all()).toEqual([]);
  });

  it('kills a deaf guest when its time is up', async () => {
    await run();
    stored = frozen({ ...(stored as VirtualMachineInstance), metadata: { ...stored?.metadata, deletionTimestamp: metaTime(now) } });
    launcher.isDeaf = true;
    expect(await reconcile()).toEqual({ afterMs: 5000, why: 'the guest is shutting down' });
    await reconcile();
    expect(launcher.commands).toEqual(['shutdown']);
    now += 5_000;
    await reconcile();
    now += 26_000;
    await reconcile();
    expect(launcher.commands).toEqual(['shutdown', 'shutdown', 'kill', 'delete']);
    expect(writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'GuestKilled' });
    expect(events.slice(0, 2)).toEqual([
      'Normal ShuttingDown: Signaled Graceful Shutdown',
      'Normal Deleted: VirtualMachineInstance stopping',
    ]);
  });

  it('follows the kubelet’s wish to end the pod', async () => {
    await run();
    await launcher.set('Running', undefined, { markedForGracefulShutdown: true, gracePeriodStartedAt: new Date(now).toISOString() });
    await reconcile();
    expect(launcher.commands.slice(0, 1)).toEqual(['shutdown']);
  });
});

describe('after a restart of the agent', () => {
  async function restart(): Promise<void> {
    await launchers.close();
    launchers = newLaunchers();
    expect(await launchers.restore(ctx())).toEqual([KEY]);
  }

  it('takes running guests over without disturbing them', async () => {
    await run();
    await restart();
    await reconcile();
    expect([launcher.commands, writes, events, steps]).toEqual([['sync'], [], [], []]);
    await launcher.set('Paused', 'User');
    await vi.waitFor(() => expect(launchers.get(UID)?.domain?.status.status).toBe('Paused'));
  });

  it('shuts down and cleans up after a VMI that vanished meanwhile', async () => {
    await run();
    await restart();
    stored = undefined;
    await reconcile();
    expect(launcher.commands).toEqual(['shutdown']);
    await reconcile();
    expect(launcher.commands).toEqual(['shutdown', 'delete']);
    expect(steps).toEqual(['unmount']);
    expect(writes).toEqual([]);
  });

  it('does not believe that a VMI vanished because its label did', async () => {
    await run();
    await restart();
    isHidden = true;
    await reconcile();
    expect(launcher.commands).not.toContain('shutdown');
  });

  it('reports how a guest ended while nobody watched', async () => {
    await run();
    await launchers.close();
    launcher.domain = { ...(launcher.domain as NonNullable<FakeLauncher['domain']>), status: { status: 'Shutoff', reason: 'Shutdown' } };
    launchers = newLaunchers();
    await launchers.restore(ctx());
    await reconcile();
    expect(writes.at(-1)?.status?.phase).toBe('Succeeded');
  });
});
