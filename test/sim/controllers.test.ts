// The VM and VMI controllers together under the simulated API server and a virtual clock: a scripted node plays kubelet and
// node agent. Asserts the state of the world and how many writes it took to get there.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PODS, VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../../src/runtime/resources.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { simVm, startWorld, type World } from './controllers-world.js';

const KEY = 'shop/web';

describe('VM and VMI controllers', () => {
  let world: World;
  let admin: KubeClient;

  beforeEach(() => {
    world = startWorld();
    ({ admin } = world);
  });

  afterEach(() => world.end());

  const wordOf = async (): Promise<string | undefined> => (await admin.find(VIRTUAL_MACHINES, KEY))?.status?.printableStatus;
  const vmiNow = () => admin.find(VIRTUAL_MACHINE_INSTANCES, KEY);
  const byControllers = () => world.server.writes.length;

  it('brings an Always VM to Running within its write budget, and stays silent afterwards', async () => {
    await admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(8);
    expect(await wordOf()).toBe('Running');
    expect((await vmiNow())?.status).toMatchObject({ phase: 'Running', nodeName: 'n1' });
    // Of these writes one is the test's own and three are the node's.
    expect(byControllers() - 4).toBeLessThanOrEqual(12);
    const before = byControllers();
    await world.clock.advance(10 * 60_000);
    expect(byControllers()).toBe(before);
  });

  it('deletes everything with the VM', async () => {
    await admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(8);
    await admin.delete(VIRTUAL_MACHINES, KEY);
    await world.seconds(8);
    expect([await admin.find(VIRTUAL_MACHINES, KEY), await vmiNow(), (await admin.list(PODS)).items]).toEqual([undefined, undefined, []]);
  });

  it('ends a migration with a reason, and lets it be deleted', async () => {
    const key = 'shop/move';
    const metadata = { name: 'move', namespace: 'shop', finalizers: ['kubevirt.io/migrationJobFinalize'] };
    const migration = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstanceMigration', metadata, spec: { vmiName: 'web' } };
    await admin.create(VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, migration);
    await world.seconds(2);
    const ended = await admin.get(VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, key);
    expect([ended.status?.phase, ended.metadata.finalizers ?? []]).toEqual(['Failed', []]);
    await admin.delete(VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, key);
    expect(await admin.find(VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, key)).toBeUndefined();
  });

  it('replaces a guest that crashes, slower each time', async () => {
    world.node.crash = true;
    await admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(8);
    expect(await wordOf()).toBe('CrashLoopBackOff');
    world.node.crash = false;
    await world.seconds(15);
    expect(await wordOf()).toBe('Running');
    expect((await admin.get(VIRTUAL_MACHINES, KEY)).status?.startFailure).toBeUndefined();
  });

  it('leaves a Once VM down when its guest has ended', async () => {
    await admin.create(VIRTUAL_MACHINES, simVm('Once'));
    await world.seconds(8);
    const vmi = await admin.get(VIRTUAL_MACHINE_INSTANCES, KEY);
    await admin.update(VIRTUAL_MACHINE_INSTANCES, { ...vmi, status: { ...vmi.status, phase: 'Succeeded' } });
    await world.seconds(4);
    expect([await wordOf(), (await vmiNow())?.metadata.uid]).toEqual(['Stopped', vmi.metadata.uid]);
  });

  it('keeps a Halted VM down and turns it on by request', async () => {
    await admin.create(VIRTUAL_MACHINES, simVm('Halted'));
    await world.seconds(3);
    expect(await wordOf()).toBe('Stopped');
    const halted = await admin.get(VIRTUAL_MACHINES, KEY);
    await admin.update(VIRTUAL_MACHINES, { ...halted, spec: { ...halted.spec, runStrategy: 'Always' } });
    await world.seconds(8);
    expect(await wordOf()).toBe('Running');
  });
});
