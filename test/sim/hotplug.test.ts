// Volumes that come to a running guest and go, under the simulated API server: the pods that bring them, what the VMI says, and that nothing
// is left behind when controllers die, claims come late, or somebody changes his mind.
import { afterEach, describe, expect, it } from 'vitest';
import type { PersistentVolumeClaim, Pod, VirtualMachineInstance, VolumeStatus } from '../../src/api/index.js';
import { KvError } from '../../src/base/errors.js';
import { isAttachment } from '../../src/operators/vmi/attachments.js';
import {
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  STORAGE_CLASSES,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from '../../src/runtime/resources.js';
import type { Transport } from '../../src/runtime/transport.js';
import { simVm, startWorld, type World } from './controllers-world.js';

const KEY = 'shop/web';
let world: World;

afterEach(() => world.end());

async function running(through?: (inner: Transport) => Transport): Promise<void> {
  world = startWorld(through);
  await world.admin.create(VIRTUAL_MACHINES, simVm('Always'));
  await world.seconds(8);
}

const claim = (name: string, phase = 'Bound', storageClassName?: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'shop' },
  spec: { accessModes: ['ReadWriteOnce'], ...(storageClassName ? { storageClassName } : {}) },
  status: { phase },
});

async function create(pvc: PersistentVolumeClaim): Promise<void> {
  const stored = await world.admin.create(PERSISTENT_VOLUME_CLAIMS, pvc);
  await world.admin.update(PERSISTENT_VOLUME_CLAIMS, { ...stored, status: pvc.status ?? {} }, { subresource: 'status' });
}

const vmiNow = (): Promise<VirtualMachineInstance> => world.admin.get(VIRTUAL_MACHINE_INSTANCES, KEY);
const attachments = async (): Promise<Pod[]> => (await world.admin.list(PODS)).items.filter(isAttachment);
const entry = async (name: string): Promise<VolumeStatus | undefined> =>
  (await vmiNow()).status?.volumeStatus?.find((status) => status.name === name);

/** As a user or `addvolume` does it: in the template of the VM. */
async function plug(...names: string[]): Promise<void> {
  const vm = await world.admin.get(VIRTUAL_MACHINES, KEY);
  const spec = structuredClone(vm.spec);
  const volumes = names.map((name) => ({ name, persistentVolumeClaim: { claimName: name, hotpluggable: true } }));
  const disks = names.map((name) => ({ name, disk: { bus: 'scsi' } }));
  spec.template.spec = { domain: { devices: { disks } }, volumes };
  await world.admin.update(VIRTUAL_MACHINES, { ...vm, spec });
}

describe('a volume of a running guest', () => {
  it('comes with a pod, shares it with the next, and leaves none', async () => {
    await running();
    await create(claim('one'));
    await create(claim('two'));
    const quiet = world.server.writes.length;
    await plug('one');
    await world.seconds(5);
    const [first] = await attachments();
    expect(await entry('one')).toMatchObject({
      phase: 'Ready',
      target: 'sda',
      hotplugVolume: { attachPodName: first?.metadata.name, attachPodUID: first?.metadata.uid },
    });
    // The test's own one, the kubelet's one, the agent's two; left are the VMI's spec, the pod, its event and one status of each.
    expect(world.server.writes.length - quiet - 4).toBeLessThanOrEqual(5);
    expect((await world.admin.get(VIRTUAL_MACHINES, KEY)).status?.conditions?.some(({ type }) => type === 'RestartRequired')).toBe(false);
    await plug('one', 'two');
    await world.seconds(6);
    const [second, ...others] = await attachments();
    expect([second?.metadata.uid === first?.metadata.uid, others]).toEqual([false, []]);
    expect([(await entry('one'))?.hotplugVolume, (await entry('two'))?.phase]).toEqual([
      { attachPodName: second?.metadata.name, attachPodUID: second?.metadata.uid },
      'Ready',
    ]);
    await plug();
    await world.seconds(4);
    expect([await attachments(), (await vmiNow()).status?.volumeStatus]).toEqual([[], []]);
    const after = world.server.writes.length;
    await world.clock.advance(10 * 60_000);
    expect(world.server.writes.length).toBe(after);
  });

  it('comes as well when the guest starts with it', async () => {
    world = startWorld();
    await create(claim('one'));
    const machine = simVm('Always');
    machine.spec.template.spec = {
      domain: { devices: { disks: [{ name: 'one', disk: { bus: 'scsi' } }] } },
      volumes: [{ name: 'one', persistentVolumeClaim: { claimName: 'one', hotpluggable: true } }],
    };
    await world.admin.create(VIRTUAL_MACHINES, machine);
    await world.seconds(10);
    expect([(await entry('one'))?.phase, (await attachments()).length]).toEqual(['Ready', 1]);
  });

  it('waits for its claim, and says so', async () => {
    await running();
    await plug('late');
    await world.seconds(2);
    expect(await entry('late')).toMatchObject({ phase: 'Pending', reason: 'FailedPvcNotFound', hotplugVolume: {} });
    await create(claim('late', 'Pending'));
    await world.seconds(2);
    expect(await entry('late')).toMatchObject({ phase: 'Pending', reason: 'PVCNotReady' });
    expect(await attachments()).toEqual([]);
    const pvc = await world.admin.get(PERSISTENT_VOLUME_CLAIMS, 'shop/late');
    await world.admin.update(PERSISTENT_VOLUME_CLAIMS, { ...pvc, status: { phase: 'Bound' } }, { subresource: 'status' });
    await world.seconds(5);
    expect((await entry('late'))?.phase).toBe('Ready');
  });

  it('has a claim bound that waits for its first consumer', async () => {
    await running();
    const metadata = { name: 'slow-class' };
    await world.admin.create(STORAGE_CLASSES, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata,
      provisioner: 'x',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await create(claim('data', 'Pending', 'slow-class'));
    await plug('data');
    await world.seconds(7);
    expect((await entry('data'))?.phase).toBe('Ready');
    expect((await attachments()).length).toBe(1);
  });

  it('says why its pod does not start', async () => {
    await running();
    await create(claim('one'));
    world.node.isSlow = true;
    await plug('one');
    await world.seconds(2);
    expect(await entry('one')).toBeUndefined();
    await world.seconds(6);
    const [pod] = await attachments();
    expect(await entry('one')).toMatchObject({ phase: 'Bound', message: expect.stringContaining(pod?.metadata.name ?? '-') });
    world.node.isSlow = false;
    await world.seconds(5);
    expect((await entry('one'))?.phase).toBe('Ready');
  });
});

describe('a running guest', () => {
  async function change(domain: (domain: VirtualMachineInstance['spec']['domain']) => void): Promise<void> {
    const vm = await world.admin.get(VIRTUAL_MACHINES, KEY);
    const spec = structuredClone(vm.spec);
    if (spec.template.spec) domain(spec.template.spec.domain);
    await world.admin.update(VIRTUAL_MACHINES, { ...vm, spec });
  }
  const restart = async (): Promise<string | undefined> =>
    (await world.admin.get(VIRTUAL_MACHINES, KEY)).status?.conditions?.find(({ type }) => type === 'RestartRequired')?.message;

  it('gets more sockets, and says of fewer that it takes a restart', async () => {
    world = startWorld();
    const machine = simVm('Always');
    // No webhook writes the ceiling here.
    machine.spec.template.spec = { domain: { cpu: { sockets: 1, maxSockets: 4 }, devices: {} } };
    await world.admin.create(VIRTUAL_MACHINES, machine);
    await world.seconds(8);
    const quiet = world.server.writes.length;
    await change((domain) => Object.assign(domain, { cpu: { sockets: 2, maxSockets: 4 } }));
    await world.seconds(4);
    const { spec, status } = await vmiNow();
    expect([spec.domain.cpu?.sockets, status?.currentCPUTopology?.sockets, status?.conditions?.map(({ type }) => type)]).toEqual([
      2,
      2,
      ['Ready'],
    ]);
    // The test's and the agent's own; left are the VMI and the status of the VM, which shows that it is under way and that it is over.
    expect(world.server.writes.length - quiet - 2).toBeLessThanOrEqual(3);
    expect(await restart()).toBeUndefined();
    await change((domain) => Object.assign(domain, { cpu: { sockets: 1, maxSockets: 4 } }));
    await world.seconds(2);
    expect([await restart(), (await vmiNow()).spec.domain.cpu?.sockets]).toEqual(['Reduction of CPU socket count requires a restart', 2]);
  });

  it('has its memory written into a claim, which then leaves it', async () => {
    await running();
    await create(claim('dump'));
    const vm = await world.admin.get(VIRTUAL_MACHINES, KEY);
    const memoryDumpRequest = { claimName: 'dump', phase: 'Associating' };
    await world.admin.update(VIRTUAL_MACHINES, { ...vm, status: { ...vm.status, memoryDumpRequest } }, { subresource: 'status' });
    await world.seconds(10);
    const { spec, status } = await world.admin.get(VIRTUAL_MACHINES, KEY);
    const fileName = expect.stringMatching(/^web-dump-.*\.memory\.dump$/);
    expect(status?.memoryDumpRequest).toMatchObject({ phase: 'Completed', fileName, endTimestamp: expect.any(String) });
    expect(spec.template.spec?.volumes?.map(({ name }) => name)).toEqual(['dump']);
    expect([(await vmiNow()).spec.volumes, (await vmiNow()).status?.volumeStatus, await attachments(), await restart()]).toEqual([
      [],
      [],
      [],
      undefined,
    ]);
    const pvc = await world.admin.get(PERSISTENT_VOLUME_CLAIMS, 'shop/dump');
    expect(pvc.metadata.annotations).toEqual({ 'kubevirt.io/memory-dump': fileName });
    const after = world.server.writes.length;
    await world.clock.advance(10 * 60_000);
    expect(world.server.writes.length).toBe(after);
  });
});

describe('nothing is left behind', () => {
  it('when a volume is unplugged while it is plugged', async () => {
    await running();
    await create(claim('one'));
    world.node.isSlow = true;
    await plug('one');
    await world.seconds(1);
    expect((await attachments()).length).toBe(1);
    await plug();
    await world.clock.advance(1_000);
    world.node.isSlow = false;
    await world.seconds(4);
    expect([await attachments(), await entry('one')]).toEqual([[], undefined]);
  });

  it('when the guest is deleted while a volume is plugged', async () => {
    await running();
    await create(claim('one'));
    world.node.isSlow = true;
    await plug('one');
    await world.seconds(1);
    await world.admin.delete(VIRTUAL_MACHINES, KEY);
    await world.seconds(8);
    expect([(await world.admin.list(PODS)).items, await world.admin.find(VIRTUAL_MACHINE_INSTANCES, KEY)]).toEqual([[], undefined]);
  });

  it('when the guest ends by itself', async () => {
    await running();
    await create(claim('one'));
    await plug('one');
    await world.seconds(5);
    const vm = await world.admin.get(VIRTUAL_MACHINES, KEY);
    await world.admin.update(VIRTUAL_MACHINES, { ...vm, spec: { ...vm.spec, runStrategy: 'Manual' } });
    await world.seconds(2);
    const vmi = await vmiNow();
    await world.admin.update(VIRTUAL_MACHINE_INSTANCES, { ...vmi, status: { ...vmi.status, phase: 'Succeeded' } });
    await world.seconds(4);
    expect(await attachments()).toEqual([]);
  });

  it('when the controller dies before it has said that the pod is there', async () => {
    let isDead = false;
    await running((inner) => ({
      ...inner,
      host: inner.host,
      close: () => inner.close(),
      stream: (request) => inner.stream(request),
      request: async (request) => {
        if (isDead && request.method !== 'GET') throw new KvError('Unavailable', 'connection lost');
        const answer = await inner.request(request);
        if (request.method === 'POST' && request.path.endsWith('/pods')) isDead = request.body?.includes('hp-volume-') === true;
        return answer;
      },
    }));
    await create(claim('one'));
    await plug('one');
    await world.seconds(2);
    expect([isDead, (await attachments()).length, await entry('one')]).toEqual([true, 1, undefined]);
    const [before] = await attachments();
    await world.end();
    world = startWorld(undefined, world);
    await world.seconds(6);
    expect((await attachments()).map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid]);
    expect((await entry('one'))?.phase).toBe('Ready');
  });
});
