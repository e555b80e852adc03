// What must not cost a guest: lost races, answers that never came, refusals that pass, events that were missed.
import { afterEach, describe, expect, it } from 'vitest';
import type { Pod, VirtualMachineInstance } from '../../src/api/index.js';
import { sleep } from '../../src/base/clock.js';
import { KvError } from '../../src/base/errors.js';
import { EVENTS, PODS, RESOURCE_QUOTAS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../../src/runtime/resources.js';
import type { Transport, TransportRequest, TransportResponse, TransportStream } from '../../src/runtime/transport.js';
import { launcherPod, simVm, startWorld, type World } from './controllers-world.js';

const KEY = 'shop/web';
const VMIS = /^\/apis\/kubevirt\.io\/v1\/namespaces\/shop\/virtualmachineinstances$/;

/** Answers in the server's place, or throws; undefined lets the request through. */
type Fault = (request: TransportRequest, inner: Transport) => Promise<TransportResponse | undefined> | TransportResponse | undefined;

const refusal = (code: number, reason: string, message: string): TransportResponse => ({
  status: code,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }),
});

const isCreate = ({ method, path }: TransportRequest, of: RegExp): boolean => method === 'POST' && of.test(path);

let world: World;
/** Watches of these say nothing before this time. */
let silentUntil = 0;
let silent = '/pods?';

async function* late(lines: TransportStream['lines'], path: string): AsyncGenerator<readonly string[]> {
  for await (const batch of lines) {
    if (path.includes(silent) && silentUntil > world.clock.now()) await sleep(world.clock, silentUntil - world.clock.now());
    yield batch;
  }
}

const start = (fault: Fault): void => {
  silentUntil = 0;
  silent = '/pods?';
  world = startWorld((inner) => ({
    host: inner.host,
    stream: async (request) => {
      const stream = await inner.stream(request);
      return { ...stream, lines: late(stream.lines, request.path) };
    },
    close: () => inner.close(),
    request: async (request) => (await fault(request, inner)) ?? (await inner.request(request)),
  }));
};
const phase = async (): Promise<string | undefined> => (await world.admin.find(VIRTUAL_MACHINE_INSTANCES, KEY))?.status?.phase;

afterEach(() => world.end());

describe('a failed guest of RerunOnFailure', () => {
  it('comes back even when the status is not written in the pass that deletes it', async () => {
    let isDeleted = false;
    let lost = 0;
    start(({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/virtualmachineinstances/web')) isDeleted = true;
      if (!isDeleted || lost > 0 || method !== 'PUT' || !path.endsWith('/virtualmachines/web/status')) return undefined;
      lost++;
      return refusal(409, 'Conflict', 'the object has been modified');
    });
    world.node.crash = true;
    await world.admin.create(VIRTUAL_MACHINES, simVm('RerunOnFailure'));
    await world.seconds(4);
    world.node.crash = false;
    await world.seconds(40);
    expect(lost).toBe(1);
    expect(await phase()).toBe('Running');
  });
});

describe('a launcher pod', () => {
  it('is not created twice when the answer to the creation got lost', async () => {
    let lost = 0;
    start(async (request, inner) => {
      if (!isCreate(request, /\/pods$/) || lost > 0) return undefined;
      lost++;
      silentUntil = world.clock.now() + 2_000;
      await inner.request(request);
      throw new KvError('Timeout', 'no answer within 30 s');
    });
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(8);
    expect([(await world.admin.list(PODS)).items.length, await phase()]).toEqual([1, 'Running']);
  });

  it('is created once for a VMI that came with a status', async () => {
    start(() => undefined);
    await world.admin.create(VIRTUAL_MACHINE_INSTANCES, {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstance',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { domain: { devices: {} } },
      status: { phase: 'Pending', nodeName: 'elsewhere' },
    } as VirtualMachineInstance);
    await world.seconds(8);
    expect([(await world.admin.list(PODS)).items.length, await phase()]).toEqual([1, 'Running']);
  });
});

/** What an earlier leader has left: it began while this one's watch of something said nothing. */
describe('a running guest', () => {
  const running = (): VirtualMachineInstance =>
    ({
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstance',
      metadata: { name: 'web', namespace: 'shop', finalizers: ['foregroundDeleteVirtualMachine'] },
      spec: { domain: { devices: {} } },
      status: { phase: 'Running', nodeName: 'n1' },
    }) as VirtualMachineInstance;
  const pod = (vmi: VirtualMachineInstance): Pod => {
    const { generateName, ...metadata } = launcherPod(vmi).metadata;
    return { ...launcherPod(vmi), metadata: { ...metadata, name: `${generateName}abcde` } };
  };

  it.each([
    ['is not given up while its pod is only unknown to us', true, 'Running', [true]],
    ['is given up when its pod is gone', false, 'Failed', []],
  ])('%s', async (_title, hasPod, expected, pods) => {
    start(() => undefined);
    await world.clock.advance(1_000);
    silentUntil = world.clock.now() + 4_000;
    const vmi = await world.admin.create(VIRTUAL_MACHINE_INSTANCES, running());
    if (hasPod) await world.admin.create(PODS, { ...pod(vmi), spec: { nodeName: 'n1', containers: [] } });
    await world.clock.advance(3_000);
    expect(await phase()).toBe(expected);
    await world.seconds(8);
    const left = (await world.admin.list(PODS)).items.map(({ metadata }) => !metadata.deletionTimestamp);
    expect([await phase(), left]).toEqual([expected, pods]);
  });

  it('keeps its plugged volumes while it is unknown itself', async () => {
    start(() => undefined);
    await world.clock.advance(1_000);
    silent = '/virtualmachineinstances?';
    silentUntil = world.clock.now() + 4_000;
    const vmi = await world.admin.create(VIRTUAL_MACHINE_INSTANCES, running());
    const launcher = await world.admin.create(PODS, { ...pod(vmi), spec: { nodeName: 'n1', containers: [] } });
    await world.admin.create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'hp-volume-1',
        namespace: 'shop',
        labels: { 'kubevirt.io': 'hotplug-disk' },
        annotations: { 'kubevirt.io/owner-vmi-name': 'web', 'kubevirt.io/owner-vmi-uid': vmi.metadata.uid ?? '' },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: launcher.metadata.name ?? '', uid: launcher.metadata.uid ?? '', controller: true },
        ],
      },
      spec: { nodeName: 'n1', containers: [] },
    });
    await world.clock.advance(3_000);
    expect((await world.admin.list(PODS)).items.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined, undefined]);
  });
});

describe('a VMI', () => {
  it('starts when its pod can be rendered after the configuration has changed', async () => {
    start(() => undefined);
    world.unrenderable = 'no such network binding';
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(5);
    expect(await phase()).toBe('Pending');
    world.unrenderable = undefined;
    await world.seconds(30);
    expect(await phase()).toBe('Running');
  });
});

describe('a VM', () => {
  it('starts when what refused its VMI no longer does', async () => {
    let isRefusing = true;
    start((request) => (isRefusing && isCreate(request, VMIS) ? refusal(422, 'Invalid', 'the webhook does not like it') : undefined));
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(5);
    expect(await phase()).toBeUndefined();
    isRefusing = false;
    await world.seconds(60);
    expect(await phase()).toBe('Running');
  });

  it('keeps the run strategy that its user chooses while it is turned on', async () => {
    let chosen = 0;
    start(async ({ method, body = '' }) => {
      if (method !== 'PATCH' || !body.includes('/spec/runStrategy') || chosen > 0) return undefined;
      chosen++;
      await world.admin.mergePatch(VIRTUAL_MACHINES, KEY, { spec: { runStrategy: 'Manual' } });
      return undefined;
    });
    const vm = await world.admin.create(VIRTUAL_MACHINES, simVm('Halted'));
    await world.admin.update(
      VIRTUAL_MACHINES,
      { ...vm, status: { stateChangeRequests: [{ action: 'Start' }] } },
      { subresource: 'status' },
    );
    await world.seconds(5);
    expect([chosen, (await world.admin.get(VIRTUAL_MACHINES, KEY)).spec.runStrategy]).toEqual([1, 'Manual']);
  });

  it('leaves the other owners of a VMI that it takes over', async () => {
    start(() => undefined);
    const other = { apiVersion: 'example.com/v1', kind: 'App', name: 'app', uid: 'app-uid' };
    await world.admin.create(VIRTUAL_MACHINE_INSTANCES, {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstance',
      metadata: { name: 'web', namespace: 'shop', ownerReferences: [other] },
      spec: { domain: { devices: {} } },
    } as VirtualMachineInstance);
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(3);
    const owners = (await world.admin.get(VIRTUAL_MACHINE_INSTANCES, KEY)).metadata.ownerReferences ?? [];
    expect(owners.map(({ kind }) => kind)).toEqual(['App', 'VirtualMachine']);
  });

  it('takes the VMI that it has made for its own when the answer got lost', async () => {
    let lost = 0;
    start(async (request, inner) => {
      if (!isCreate(request, VMIS) || lost > 0) return undefined;
      lost++;
      silent = '/virtualmachineinstances?';
      silentUntil = world.clock.now() + 2_000;
      await inner.request(request);
      throw new KvError('Timeout', 'no answer within 30 s');
    });
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(8);
    const told = (await world.admin.list(EVENTS)).items.filter(({ message }) => message?.includes('already exists'));
    expect([told.map(({ message }) => message), await phase()]).toEqual([[], 'Running']);
  });

  it('waits for no event of a VMI that it has had already', async () => {
    let made = 0;
    start(async ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/controllerrevisions') || made > 0) return undefined;
      made++;
      const { metadata } = await world.admin.get(VIRTUAL_MACHINES, KEY);
      const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'web', uid: metadata.uid ?? '', controller: true };
      await world.admin.create(VIRTUAL_MACHINE_INSTANCES, {
        apiVersion: 'kubevirt.io/v1',
        kind: 'VirtualMachineInstance',
        metadata: { name: 'web', namespace: 'shop', ownerReferences: [owner] },
        spec: { domain: { devices: {} } },
      } as VirtualMachineInstance);
      await world.clock.hold(new Promise((resolve) => setTimeout(resolve, 20)));
      return undefined;
    });
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(8);
    await world.admin.mergePatch(VIRTUAL_MACHINES, KEY, { spec: { runStrategy: 'Halted' } });
    await world.seconds(8);
    expect([made, await phase()]).toEqual([1, undefined]);
  });

  it('does not wait for ever for a VMI whose whole life was missed', async () => {
    let missed = 0;
    start((request) => {
      if (!isCreate(request, VMIS) || missed > 0) return undefined;
      missed++;
      return { status: 201, headers: { 'content-type': 'application/json' }, body: request.body ?? '' };
    });
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.seconds(5);
    expect(await phase()).toBeUndefined();
    await world.clock.advance(6 * 60_000);
    await world.seconds(8);
    expect(await phase()).toBe('Running');
  });
});

describe('what a quota refuses', () => {
  const WORDS = 'pods "virt-launcher-web" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1';
  const PODS_PATH = /\/namespaces\/shop\/pods$/;
  const small = (used: string) => ({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'small', namespace: 'shop' },
    status: { hard: { pods: '1' }, used: { pods: used } },
  });
  let tries = 0;
  let isFull = true;

  const refused = async (): Promise<void> => {
    tries = 0;
    isFull = true;
    start((request) => {
      if (!isCreate(request, PODS_PATH)) return undefined;
      tries++;
      return isFull ? refusal(403, 'Forbidden', WORDS) : undefined;
    });
    await world.admin.create(RESOURCE_QUOTAS, small('1'));
    await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
    await world.clock.advance(20 * 60_000);
  };

  it('is said with what to do about it, and tried again no more than once a minute', async () => {
    await refused();
    const told = (await world.admin.get(VIRTUAL_MACHINES, KEY)).status;
    expect([told?.printableStatus, told?.conditions?.find(({ type }) => type === 'Synchronized')?.message]).toEqual([
      'Starting',
      `Error creating pod: ${WORDS}; raise ResourceQuota small of namespace shop, stop something else there, or ask for less; it is tried again when there is room`,
    ]);
    expect(tries).toBeLessThan(20 + 16);
  });

  it('comes as soon as there is room', async () => {
    await refused();
    isFull = false;
    const before = tries;
    const quota = await world.admin.get(RESOURCE_QUOTAS, 'shop/small');
    await world.admin.update(RESOURCE_QUOTAS, { ...quota, ...small('0'), metadata: quota.metadata });
    await world.seconds(3);
    expect([tries - before, await phase()]).toEqual([1, 'Running']);
  });

  it('comes within a minute when nothing tells that it may', async () => {
    await refused();
    isFull = false;
    await world.seconds(63);
    expect(await phase()).toBe('Running');
  });
});
