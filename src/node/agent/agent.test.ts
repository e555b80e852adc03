// The whole reconcile of one VM: starting, running, stopping, and taking over what an earlier agent left.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NODE, nodeVmi, POD_UID, UID } from '../../../test/builders/node-vm.js';
import { AgentWorld, KEY } from '../../../test/fakes/agent-world.js';
import type { FakeLauncher } from '../../../test/fakes/fake-launcher.js';
import { metaTime } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';

let world: AgentWorld;
beforeEach(async () => {
  world = await AgentWorld.create();
});
afterEach(() => world.close());

describe('starting', () => {
  it('prepares while libvirt comes up, then starts the guest with one write and one event', async () => {
    expect(await world.reconcile()).toEqual({ afterMs: 1000, why: 'libvirt of the launcher is not up yet' });
    expect(world.steps.toSorted()).toEqual(['devices', 'mount', 'network']);
    expect([world.launcher.commands, world.writes]).toEqual([[], []]);

    await world.launcher.publish();
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['sync']);
    expect(world.steps).toHaveLength(3);
    expect(world.writes.map((vmi) => vmi.status?.phase)).toEqual(['Running']);
    expect(world.writes[0]?.status).toMatchObject({ machine: { type: 'pc-q35-10.0' }, interfaces: [{ ipAddress: '10.244.0.5' }] });
    expect(world.events).toEqual(['Normal Started: VirtualMachineInstance started.']);
    expect(await world.ghosts()).toEqual([UID]);
  });

  it('does nothing twice while the informer lags, and nothing at all when nothing changed', async () => {
    const agent = world.agent();
    await world.launcher.publish();
    await agent(KEY, world.ctx());
    await agent(KEY, world.ctx());
    world.catchUp();
    await agent(KEY, world.ctx());
    expect([world.launcher.commands, world.writes.length, world.events.length]).toEqual([['sync'], 1, 1]);
  });

  it('waits for a launcher that is not there yet', async () => {
    await world.emptyPod();
    expect(await world.reconcile()).toMatchObject({ afterMs: 1000 });
    expect(world.writes).toEqual([]);
  });

  it('fails a VMI whose launcher never comes', async () => {
    await world.emptyPod();
    await world.reconcile();
    world.now += 181_000;
    await world.reconcile();
    expect(world.writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'LauncherNotStarted' });
  });

  it('fails a VMI whose pod is gone', async () => {
    await world.launcher.stop();
    await world.removePod();
    await world.reconcile();
    expect(world.writes.at(-1)?.status).toMatchObject({ phase: 'Failed' });
    expect(world.steps).toContain('unmount');
    expect(await world.ghosts()).toEqual([]);
  });

  it('notices at once that the pod of a launcher went before it came', async () => {
    await world.emptyPod();
    expect(await world.reconcile()).toMatchObject({ afterMs: 1000 });
    await world.removePod();
    await world.reconcile();
    expect(world.writes.at(-1)?.status).toMatchObject({ phase: 'Failed' });
    expect(await world.ghosts()).toEqual([]);
  });

  it('is not held up by an earlier guest of the same name that cannot be cleaned up', async () => {
    await world.launchers.manage(world.ctx(), { uid: 'earlier', namespace: 'default', name: 'vm', podUid: 'earlier-pod' });
    world.unmountError = new KvError('Internal', 'umount failed');
    await world.launcher.publish();
    await expect(world.reconcile()).rejects.toThrow('umount failed');
    expect(world.launcher.commands).toEqual(['sync']);
    expect(world.writes.at(-1)?.status?.phase).toBe('Running');
  });

  it('does not touch a process that is not in the pod', async () => {
    world.processLives = false;
    await expect(world.reconcile()).rejects.toMatchObject({ code: 'Terminal' });
    expect(world.steps).toEqual([]);
    expect(world.writes.at(-1)?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Synchronized', status: 'False' }));
  });

  it.each([
    ['KVM', {}, '/dev/kvm'],
    [
      'other hypervisor that is configured',
      { hypervisors: [{ name: 'hyperv-direct' }], developerConfiguration: { featureGates: ['ConfigurableHypervisor'] } },
      '/dev/mshv',
    ],
  ])('says that the node has no %s', async (_, configuration, device) => {
    world.config = clusterConfigOf(configuration);
    await world.launcher.publish();
    await expect(world.reconcile()).rejects.toMatchObject({ reason: 'NoKvm' });
    expect(world.launcher.commands).toEqual([]);
    expect(world.writes.at(-1)?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Synchronized', status: 'False', reason: 'NoKvm', message: expect.stringContaining('useEmulation') }),
    );
    expect(world.events).toEqual([expect.stringContaining(`Warning SyncFailed: node node1 has no ${device}`)]);
  });

  it('shows a failed start once, and takes it back when it succeeds', async () => {
    await world.launcher.publish();
    world.launcher.syncError = new KvError('Libvirt', 'cannot start the guest: no space left');
    await expect(world.reconcile()).rejects.toThrow('no space left');
    world.catchUp();
    await expect(world.reconcile()).rejects.toThrow('no space left');
    expect(world.writes).toHaveLength(1);
    expect(world.events).toEqual(['Warning SyncFailed: cannot start the guest: no space left']);
    world.catchUp();

    world.launcher.syncError = undefined;
    await world.reconcile();
    expect(world.writes.at(-1)?.status?.phase).toBe('Running');
    expect(world.writes.at(-1)?.status?.conditions?.some((condition) => condition.type === 'Synchronized')).toBe(false);
  });

  it('fails a VMI whose network is half done', async () => {
    world.networkError = new KvError('CriticalNetwork', 'nft failed', { reason: 'NetworkSetupFailed', retry: 'never' });
    await world.launcher.publish();
    await world.reconcile();
    expect(world.writes[0]?.status).toMatchObject({ phase: 'Failed', reason: 'NetworkSetupFailed' });
    expect(world.events).toEqual(['Warning Stopped: The VirtualMachineInstance crashed. Nft failed']);
  });
});

describe('running', () => {
  it('follows the launcher’s notifications', async () => {
    await world.run();
    await world.launcher.set('Paused', 'User');
    await world.reconcile();
    expect(world.writes.at(-1)?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Paused', reason: 'PausedByUser' }));
  });

  it('tells the launcher about a new spec, once', async () => {
    await world.run();
    world.change({ spec: { hostname: 'new' } });
    await world.reconcile();
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['sync']);
  });

  it.each([
    ['Shutdown', 'Succeeded', 'Normal Stopped: The VirtualMachineInstance was shut down.'],
    ['Crashed', 'Failed', expect.stringMatching(/^Warning Stopped: The VirtualMachineInstance crashed\. The guest crashed/)],
  ])('a guest that ends (%s) makes the VMI %s and is cleaned up', async (reason, phase, event) => {
    await world.run();
    await world.launcher.set('Shutoff', reason);
    await world.reconcile();
    expect(world.writes.map((vmi) => vmi.status?.phase)).toEqual([phase]);
    expect(world.events).toEqual([event]);
    expect(world.launcher.commands).toEqual(['delete']);
    expect(world.steps).toEqual(['unmount']);
  });

  it('gives up a launcher that no longer answers', async () => {
    await world.run();
    await world.launcher.stop();
    const known = world.known();
    await world.launchers.probe(world.ctx(), known);
    world.now += 31_000;
    await world.launchers.probe(world.ctx(), known);
    await world.reconcile();
    expect(world.writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'LauncherUnresponsive' });
  });

  it('lets a guest run on, later each time, that a failing disk paused', async () => {
    await world.run();
    await world.launcher.set('Paused', 'IOError');
    expect(await world.reconcile()).toMatchObject({ afterMs: 5_000, why: 'a failing disk has the guest paused' });
    expect(world.launcher.commands).toEqual([]);
    world.now += 5_000;
    expect(await world.reconcile()).toMatchObject({ afterMs: 10_000 });
    expect(world.launcher.commands).toEqual(['sync']);
  });

  it('takes a launcher that vanishes while it is told to delete its domain for one that is done', async () => {
    await world.run();
    const known = world.known();
    world.launcher.onDelete = () => {
      known.isolation = { process: { pid: 1, startTime: 'of another' }, uid: 0 };
      throw new KvError('LauncherUnreachable', 'the peer hung up');
    };
    await world.launcher.set('Shutoff', 'Shutdown');
    await world.reconcile();
    expect(world.writes.map((vmi) => vmi.status?.phase)).toEqual(['Succeeded']);
    expect(world.steps).toEqual(['unmount']);
    expect([await world.ghosts(), world.launchers.all()]).toEqual([[], []]);
  });

  it('fails a VMI whose domain vanished, instead of starting another guest', async () => {
    await world.run();
    world.launcher.domain = undefined;
    const known = world.known();
    await world.launchers.refresh(known);
    await world.reconcile();
    expect(world.writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'GuestVanished' });
    expect(world.launcher.commands).toEqual([]);
  });
});

describe('stopping', () => {
  it('shuts the guest down gracefully, reports the end and lets go once the launcher is gone', async () => {
    await world.run();
    world.change({ metadata: { deletionTimestamp: metaTime(world.now) } });
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['shutdown', 'delete']);
    expect(world.writes.map((vmi) => vmi.status?.phase)).toEqual(['Succeeded']);
    expect(world.events).toEqual([
      'Normal ShuttingDown: Signaled Graceful Shutdown',
      'Normal Stopped: The VirtualMachineInstance was shut down.',
    ]);

    // The test's own process plays the launcher: it lives on, so the agent gives it a minute to say farewell.
    world.catchUp();
    expect(await world.reconcile()).toMatchObject({ why: 'the launcher has not ended yet' });
    world.now += 61_000;
    expect(await world.reconcile()).toBeUndefined();
    expect(await world.ghosts()).toEqual([]);
    expect(world.launchers.all()).toEqual([]);
  });

  it('kills a deaf guest when its time is up', async () => {
    await world.run();
    world.change({ metadata: { deletionTimestamp: metaTime(world.now) } });
    world.launcher.isDeaf = true;
    expect(await world.reconcile()).toEqual({ afterMs: 5000, why: 'the guest is shutting down' });
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['shutdown']);
    world.now += 5_000;
    await world.reconcile();
    world.now += 26_000;
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['shutdown', 'shutdown', 'kill', 'delete']);
    expect(world.writes.at(-1)?.status).toMatchObject({ phase: 'Failed', reason: 'GuestKilled' });
    expect(world.events.slice(0, 2)).toEqual([
      'Normal ShuttingDown: Signaled Graceful Shutdown',
      'Normal Deleted: VirtualMachineInstance stopping',
    ]);
  });

  it('follows the kubelet’s wish to end the pod', async () => {
    await world.run();
    await world.launcher.set('Running', undefined, {
      markedForGracefulShutdown: true,
      gracePeriodStartedAt: new Date(world.now).toISOString(),
    });
    await world.reconcile();
    expect(world.launcher.commands.slice(0, 1)).toEqual(['shutdown']);
  });
});

describe('after a restart of the agent', () => {
  async function restart(): Promise<void> {
    await world.launchers.close();
    world.launchers = world.newLaunchers();
    expect(await world.launchers.restore(world.ctx())).toEqual([KEY]);
  }

  it('takes running guests over without disturbing them', async () => {
    await world.run();
    await restart();
    await world.reconcile();
    expect([world.launcher.commands, world.writes, world.events, world.steps]).toEqual([['sync'], [], [], []]);
    await world.launcher.set('Paused', 'User');
    await vi.waitFor(() => expect(world.launchers.get(UID)?.domain?.status.status).toBe('Paused'));
  });

  it('shuts down and cleans up after a VMI that vanished meanwhile', async () => {
    await world.run();
    await restart();
    world.stored = undefined;
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['shutdown']);
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['shutdown', 'delete']);
    expect(world.steps).toEqual(['unmount']);
    expect(world.writes).toEqual([]);
  });

  it('does not believe that a VMI vanished because its label did', async () => {
    await world.run();
    await restart();
    world.isHidden = true;
    await world.reconcile();
    expect(world.launcher.commands).not.toContain('shutdown');
  });

  it.each([
    ['leaves a launcher alone whose guest is on its way from another node', {}, [UID], []],
    ['cleans up after one whose guest did not come', { failed: true }, [], ['unmount']],
  ] as const)('%s', async (_title, outcome, ghosts, steps) => {
    await world.launchers.manage(world.ctx(), { uid: UID, namespace: 'default', name: 'vm', podUid: POD_UID });
    await world.launcher.publish();
    const migrationState = { migrationUid: 'm', sourceNode: 'node2', targetNode: NODE, ...outcome };
    world.stored = nodeVmi({ status: { phase: 'Running', nodeName: 'node2', migrationState } });
    world.isHidden = true;
    world.processLives = true;
    for (let pass = 0; pass < 3; pass++) {
      await world.reconcile();
      world.now += 61_000;
    }
    expect([await world.ghosts(), world.steps.slice(0, 1)]).toEqual([ghosts, steps]);
  });

  it('reports how a guest ended while nobody watched', async () => {
    await world.run();
    await world.launchers.close();
    world.launcher.domain = {
      ...(world.launcher.domain as NonNullable<FakeLauncher['domain']>),
      status: { status: 'Shutoff', reason: 'Shutdown' },
    };
    world.launchers = world.newLaunchers();
    await world.launchers.restore(world.ctx());
    await world.reconcile();
    expect(world.writes.at(-1)?.status?.phase).toBe('Succeeded');
  });
});
