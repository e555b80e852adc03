// Instance types and preferences under the controllers: what is kept, what survives changes, deletions and a controller that dies half-way.
import { afterEach, describe, expect, it } from 'vitest';
import type { ControllerRevision, KubeObject, VirtualMachine, VirtualMachineInstance } from '../../src/api/index.js';
import { KvError } from '../../src/base/errors.js';
import { CONTROLLER_REVISIONS, EVENTS, INSTANCETYPES, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../../src/runtime/resources.js';
import type { Transport, TransportRequest } from '../../src/runtime/transport.js';
import { simVm, startWorld, type World } from './controllers-world.js';

const KEY = 'shop/web';
const TYPES = INSTANCETYPES.VirtualMachineClusterInstancetype;
const PREFERENCES = INSTANCETYPES.VirtualMachinePreference;

let world: World;
afterEach(() => world.end());

const object = (kind: string, metadata: object, spec: object): KubeObject =>
  ({ apiVersion: 'instancetype.kubevirt.io/v1beta1', kind, metadata, spec }) as KubeObject;

const createType = (name: string, guest: number): Promise<KubeObject> =>
  world.admin.create(TYPES, object(TYPES.kind, { name, labels: { a: 'b' } }, { cpu: { guest }, memory: { guest: '1Gi' } }));

function vmOf(spec: object, domain: object = {}): VirtualMachine {
  const vm = simVm('Always');
  return {
    ...vm,
    spec: { ...vm.spec, template: { spec: { domain: { devices: {}, ...domain }, volumes: [] } }, ...spec },
  } as VirtualMachine;
}

const small = { instancetype: { name: 'small' } };
const vmNow = (): Promise<VirtualMachine> => world.admin.get(VIRTUAL_MACHINES, KEY);
const vmiNow = (): Promise<VirtualMachineInstance | undefined> => world.admin.find(VIRTUAL_MACHINE_INSTANCES, KEY);
const failure = async (): Promise<string | undefined> => (await vmNow()).status?.conditions?.find((c) => c.type === 'Failure')?.reason;
const condition = async (type: string): Promise<string | undefined> =>
  (await vmNow()).status?.conditions?.find((c) => c.type === type)?.status;

async function kept(): Promise<ControllerRevision[]> {
  const { items } = await world.admin.list(CONTROLLER_REVISIONS);
  return items.filter((r) => !r.metadata.name?.startsWith('revision-start-vm-'));
}

const keptNames = async (): Promise<(string | undefined)[]> => (await kept()).map((r) => r.metadata.name);

async function restart(): Promise<void> {
  await world.admin.delete(VIRTUAL_MACHINE_INSTANCES, KEY);
  await world.seconds(10);
}

const sockets = async (): Promise<number | undefined> => (await vmiNow())?.spec.domain.cpu?.sockets;

/** Changes requests on their way; returns whether the connection has been cut. */
function through(change: (request: TransportRequest, inner: Transport) => Promise<void> | void): (inner: Transport) => Transport {
  return (inner) => ({
    host: inner.host,
    stream: (request) => inner.stream(request),
    close: () => inner.close(),
    request: async (request) => {
      await change(request, inner);
      return inner.request(request);
    },
  });
}

const isRevisionPost = ({ method, path, body }: TransportRequest): boolean =>
  method === 'POST' && path.endsWith('/controllerrevisions') && String(body).includes('object-uid');

describe('a VM with instance type and preference', () => {
  it('keeps both, starts with them and costs three writes more', async () => {
    world = startWorld();
    await createType('small', 2);
    const spec = { devices: { preferredAutoattachGraphicsDevice: false } };
    await world.admin.create(PREFERENCES, object(PREFERENCES.kind, { name: 'linux', namespace: 'shop' }, spec));
    const before = world.server.writes.length;
    await world.admin.create(VIRTUAL_MACHINES, vmOf({ ...small, preference: { name: 'linux', kind: 'VirtualMachinePreference' } }));
    await world.seconds(8);
    const vm = await vmNow();
    const names = await keptNames();
    expect(vm.status).toMatchObject({
      printableStatus: 'Running',
      instancetypeRef: { name: 'small', controllerRevisionRef: { name: names.find((n) => n?.includes('small')) } },
      preferenceRef: {
        name: 'linux',
        kind: 'VirtualMachinePreference',
        controllerRevisionRef: { name: names.find((n) => n?.includes('linux')) },
      },
    });
    expect((await kept())[0]?.data).toMatchObject({ metadata: expect.not.objectContaining({ labels: expect.anything() }) });
    expect(await vmiNow()).toMatchObject({
      metadata: { annotations: { 'kubevirt.io/cluster-instancetype-name': 'small', 'kubevirt.io/preference-name': 'linux' } },
      spec: { domain: { cpu: { sockets: 2 }, memory: { guest: '1Gi' }, devices: { autoattachGraphicsDevice: false } } },
    });
    // Of these writes one is the test's own and three are the node's.
    expect(world.server.writes.length - before - 4).toBeLessThanOrEqual(15);
  });

  it('starts as before after its instance type was changed, and after it was deleted', async () => {
    world = startWorld();
    const type = (await createType('small', 2)) as KubeObject & { spec: object };
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(8);
    const names = await keptNames();
    await world.admin.update(TYPES, { ...type, spec: { ...type.spec, cpu: { guest: 8 } } } as KubeObject);
    await restart();
    expect([await sockets(), await keptNames(), await condition('RestartRequired')]).toEqual([2, names, undefined]);
    await world.admin.delete(TYPES, 'small');
    await restart();
    expect([await sockets(), await keptNames(), await failure()]).toEqual([2, names, undefined]);
  });

  it('takes another one at the next start, and says until then that it must be restarted', async () => {
    world = startWorld();
    await createType('small', 2);
    await createType('large', 4);
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(8);
    await world.admin.mergePatch(VIRTUAL_MACHINES, KEY, { spec: { instancetype: { name: 'large' } } });
    await world.seconds(2);
    expect([await sockets(), await condition('RestartRequired')]).toEqual([2, 'True']);
    await restart();
    expect([await sockets(), await condition('RestartRequired')]).toEqual([4, undefined]);
  });

  it('takes a changed instance type over when its revision is let go of', async () => {
    world = startWorld();
    const type = (await createType('small', 2)) as KubeObject & { spec: object };
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(8);
    await world.admin.update(TYPES, { ...type, spec: { ...type.spec, cpu: { guest: 8 } } } as KubeObject);
    const letGo = { status: { instancetypeRef: { controllerRevisionRef: null } } };
    await world.admin.mergePatch(VIRTUAL_MACHINES, KEY, letGo, { subresource: 'status' });
    await world.seconds(2);
    expect([await sockets(), await condition('RestartRequired'), (await kept()).length]).toEqual([2, 'True', 2]);
    await restart();
    expect([await sockets(), await condition('RestartRequired')]).toEqual([8, undefined]);
  });

  it('waits for an instance type that comes later', async () => {
    world = startWorld();
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(3);
    expect([await failure(), await vmiNow()]).toEqual(['FailedFindInstancetype', undefined]);
    await createType('small', 2);
    await world.seconds(8);
    expect([await failure(), (await vmNow()).status?.printableStatus]).toEqual([undefined, 'Running']);
  });

  it('does not start with sizes of its own, says so once, and starts when they are gone', async () => {
    world = startWorld();
    await createType('small', 2);
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small, { memory: { guest: '2Gi' } }));
    await world.seconds(70);
    expect([await failure(), await vmiNow(), await keptNames()]).toEqual(['FailedCreate', undefined, []]);
    const events = (await world.admin.list(EVENTS)).items.filter((e) => e.message?.includes('spec.template.spec.domain.memory.guest'));
    expect(events.map((e) => [e.reason, e.count ?? 1])).toEqual([['FailedCreate', 1]]);
    await world.admin.mergePatch(VIRTUAL_MACHINES, KEY, { spec: { template: { spec: { domain: { memory: null } } } } });
    await world.seconds(8);
    expect([await failure(), (await vmNow()).status?.printableStatus]).toEqual([undefined, 'Running']);
  });
});

describe('a controller that dies after it kept an instance type', () => {
  it('leaves one revision and a VM that its successor starts', async () => {
    let isDead = false;
    world = startWorld(
      through(async (request, inner) => {
        if (isDead) throw new KvError('Unavailable', 'this process is no more');
        if (!isRevisionPost(request)) return;
        isDead = true;
        await inner.request(request);
        throw new KvError('Unavailable', 'this process is no more');
      }),
    );
    await createType('small', 2);
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(3);
    const names = await keptNames();
    expect([names.length, (await vmNow()).status?.instancetypeRef]).toEqual([1, undefined]);
    await world.end();
    world = startWorld(undefined, world);
    await world.seconds(8);
    expect([await keptNames(), await sockets(), (await vmNow()).status?.printableStatus]).toEqual([names, 2, 'Running']);
  });

  it('is no different from an answer that got lost', async () => {
    let lost = 0;
    world = startWorld(
      through(async (request, inner) => {
        if (!isRevisionPost(request) || lost > 0) return;
        lost++;
        await inner.request(request);
        throw new KvError('Timeout', 'no answer within 30 s');
      }),
    );
    await createType('small', 2);
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(8);
    expect([lost, (await keptNames()).length, await sockets()]).toEqual([1, 1, 2]);
  });
});

describe('the reference policy', () => {
  const isExpanded = async (): Promise<unknown[]> => {
    const { spec, status } = await vmNow();
    return [spec.instancetype, status?.instancetypeRef, spec.template.spec?.domain.cpu?.sockets, await keptNames()];
  };

  it('expand writes a new VM out and keeps nothing', async () => {
    world = startWorld();
    world.configuration = { instancetype: { referencePolicy: 'expand' } };
    await createType('small', 2);
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(8);
    expect(await isExpanded()).toEqual([undefined, undefined, 2, []]);
    expect([await sockets(), (await vmNow()).status?.printableStatus]).toEqual([2, 'Running']);
  });

  it.each([
    ['expand', 1],
    ['expandAll', 0],
  ])('%s leaves %i kept revision of an older VM', async (referencePolicy, count) => {
    world = startWorld();
    await createType('small', 2);
    await world.admin.create(VIRTUAL_MACHINES, vmOf(small));
    await world.seconds(8);
    world.configuration = { instancetype: { referencePolicy } };
    await world.admin.mergePatch(VIRTUAL_MACHINES, KEY, { metadata: { labels: { look: 'again' } } });
    await world.seconds(4);
    const { spec, status } = await vmNow();
    expect([spec.instancetype, status?.instancetypeRef !== undefined, (await kept()).length]).toEqual([
      count === 1 ? small.instancetype : undefined,
      count === 1,
      count,
    ]);
    expect(await sockets()).toBe(2);
  });
});

describe('a revision without labels', () => {
  it('is kept again with them', async () => {
    world = startWorld();
    await createType('small', 2);
    const halted = vmOf({ ...small, runStrategy: 'Halted' });
    await world.admin.create(VIRTUAL_MACHINES, halted);
    await world.seconds(3);
    const [labelled] = await kept();
    if (!labelled) throw new Error('nothing was kept');
    const { metadata } = labelled;
    const old = { ...labelled, metadata: { name: 'old', namespace: 'shop', ownerReferences: metadata.ownerReferences ?? [] } };
    await world.admin.create(CONTROLLER_REVISIONS, old);
    await world.admin.delete(CONTROLLER_REVISIONS, `shop/${metadata.name}`);
    const ref = { status: { instancetypeRef: { controllerRevisionRef: { name: 'old' } } } };
    await world.admin.mergePatch(VIRTUAL_MACHINES, KEY, ref, { subresource: 'status' });
    await world.seconds(3);
    expect([await keptNames(), (await vmNow()).status?.instancetypeRef?.controllerRevisionRef]).toEqual([
      [metadata.name],
      { name: metadata.name },
    ]);
  });
});
