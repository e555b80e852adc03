// VMs whose disks CDI fills, under the simulated API server: the test plays CDI, which makes the claims and moves the DataVolumes on.
import { afterEach, describe, expect, it } from 'vitest';
import { ANNOTATION, type Pod, type VirtualMachine, type VirtualMachineInstance } from '../../src/api/index.js';
import type { DataVolume } from '../../src/operators/data-volumes.js';
import { DATA_VOLUMES, PERSISTENT_VOLUME_CLAIMS, PODS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../../src/runtime/resources.js';
import type { Resource } from '../../src/runtime/types.js';
import { simVm, startWorld, type World } from './controllers-world.js';

const KEY = 'shop/web';
const VOLUMES = DATA_VOLUMES as Resource<DataVolume>;
let world: World;

afterEach(() => world.end());

function machine(): VirtualMachine {
  const vm = simVm('Always');
  vm.spec.dataVolumeTemplates = [{ metadata: { name: 'root' }, spec: { source: { blank: {} }, storage: {} } }];
  vm.spec.template.spec = {
    domain: { devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }] } },
    volumes: [{ name: 'root', dataVolume: { name: 'root' } }],
  };
  return vm;
}

const pods = async (): Promise<Pod[]> => (await world.admin.list(PODS)).items;
const isTemporary = ({ metadata }: Pod): boolean => metadata.annotations?.[ANNOTATION.ephemeralProvisioning] === 'true';
const vmiNow = (): Promise<VirtualMachineInstance | undefined> => world.admin.find(VIRTUAL_MACHINE_INSTANCES, KEY);
const statusNow = async () => (await world.admin.get(VIRTUAL_MACHINES, KEY)).status;

async function fill(phase: string, claimPhase?: string): Promise<void> {
  const volume = await world.admin.get(VOLUMES, 'shop/root');
  const update = { ...volume, status: { phase } };
  await world.admin.update(VOLUMES, update, { subresource: 'status' });
  if (claimPhase === undefined) return;
  const known = await world.admin.find(PERSISTENT_VOLUME_CLAIMS, 'shop/root');
  const claim =
    known ??
    (await world.admin.create(PERSISTENT_VOLUME_CLAIMS, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'root', namespace: 'shop' },
      spec: { accessModes: ['ReadWriteOnce'] },
    }));
  await world.admin.update(PERSISTENT_VOLUME_CLAIMS, { ...claim, status: { phase: claimPhase } }, { subresource: 'status' });
}

/** CDI cannot make the claim. */
async function exceedQuota(): Promise<void> {
  const volume = await world.admin.get(VOLUMES, 'shop/root');
  const conditions = [
    { type: 'Bound', status: 'False', reason: 'ErrExceededQuota', message: 'exceeded quota: storage' },
    { type: 'Running', status: 'False' },
  ];
  await world.admin.update(VOLUMES, { ...volume, status: { phase: 'Pending', conditions } }, { subresource: 'status' });
}

async function start(): Promise<void> {
  world = startWorld();
  await world.admin.create(VIRTUAL_MACHINES, machine());
  await world.seconds(3);
}

describe('a VM with a DataVolume template', () => {
  it('starts once the volume is filled, and says meanwhile that it is being made', async () => {
    await start();
    const { metadata } = await world.admin.get(VOLUMES, 'shop/root');
    expect(metadata.ownerReferences?.[0]).toMatchObject({ kind: 'VirtualMachine', name: 'web' });
    await fill('ImportInProgress', 'Bound');
    await world.seconds(2);
    expect([(await statusNow())?.printableStatus, await vmiNow()]).toEqual(['Provisioning', undefined]);
    await fill('Succeeded');
    await world.seconds(8);
    expect([(await statusNow())?.printableStatus, (await vmiNow())?.status?.phase]).toEqual(['Running', 'Running']);
    expect((await vmiNow())?.status?.conditions?.find(({ type }) => type === 'DataVolumesReady')?.status).toBe('True');
    const quiet = world.server.writes.length;
    await world.clock.advance(10 * 60_000);
    expect(world.server.writes.length).toBe(quiet);
  });

  it('brings a claim that waits for its first consumer on its way by a pod that goes again', async () => {
    await start();
    await fill('WaitForFirstConsumer', 'Pending');
    await world.seconds(3);
    expect((await pods()).map(isTemporary)).toEqual([true]);
    expect((await vmiNow())?.status).toMatchObject({
      phase: 'Pending',
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Provisioning', status: 'True' }),
        expect.objectContaining({
          type: 'DataVolumesReady',
          status: 'False',
          message: "Not all of the VMI's DVs are ready: root is in phase WaitForFirstConsumer",
        }),
      ]),
    });
    await fill('ImportInProgress', 'Bound');
    await world.seconds(3);
    expect([(await vmiNow())?.status?.phase, (await pods()).filter((pod) => !isTemporary(pod))]).toEqual(['Pending', []]);
    await fill('Succeeded');
    await world.seconds(8);
    expect([(await pods()).map(isTemporary), (await vmiNow())?.status?.phase]).toEqual([[false], 'Running']);
  });

  it('tells of a quota that leaves no room for it, and starts when there is room', async () => {
    await start();
    await exceedQuota();
    await world.seconds(2);
    const status = await statusNow();
    expect([status?.printableStatus, status?.conditions?.find(({ type }) => type === 'Failure')?.message]).toEqual([
      'DataVolumeError',
      'DataVolume root exceeds quota limits: root is in phase Pending: exceeded quota: storage',
    ]);
    await fill('Succeeded', 'Bound');
    await world.seconds(8);
    expect((await statusNow())?.printableStatus).toBe('Running');
  });

  it('tells of an import that failed, on VM and VMI, and starts when a new one succeeds', async () => {
    await start();
    await fill('Failed');
    await world.seconds(2);
    const status = await statusNow();
    expect([status?.printableStatus, status?.conditions?.find(({ type }) => type === 'Failure')]).toEqual([
      'DataVolumeError',
      expect.objectContaining({ reason: 'FailedDataVolumeImport', message: 'DataVolume root failed to import disk image' }),
    ]);
    await world.admin.delete(VOLUMES, 'shop/root');
    await world.seconds(2);
    await fill('Succeeded', 'Bound');
    await world.seconds(8);
    expect((await statusNow())?.printableStatus).toBe('Running');
    expect((await statusNow())?.conditions?.some(({ type }) => type === 'Failure')).toBe(false);
  });
});

it('a volume that somebody made for it before becomes the VM’s, and keeps its other owner', async () => {
  world = startWorld();
  const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'other-uid' };
  const metadata = { name: 'root', namespace: 'shop', ownerReferences: [other] };
  await world.admin.create(VOLUMES, { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata });
  await world.admin.create(VIRTUAL_MACHINES, machine());
  await world.seconds(3);
  const owners = (await world.admin.get(VOLUMES, 'shop/root')).metadata.ownerReferences;
  expect(owners?.map(({ kind, controller }) => [kind, controller])).toEqual([
    ['ConfigMap', undefined],
    ['VirtualMachine', true],
  ]);
});

it('a guest whose volume is still being filled waits, without a VM as well', async () => {
  world = startWorld();
  await world.admin.create(VOLUMES, {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: { name: 'root', namespace: 'shop' },
  });
  await world.admin.create(VIRTUAL_MACHINE_INSTANCES, {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { domain: { devices: {} }, volumes: [{ name: 'root', dataVolume: { name: 'root' } }] },
  });
  await exceedQuota();
  await world.seconds(2);
  const failure = (await vmiNow())?.status?.conditions?.find(({ type }) => type === 'Synchronized');
  expect([failure?.reason, failure?.message]).toEqual([
    'FailedDataVolumeImport',
    'DataVolume root exceeds quota limits; see kubectl describe resourcequota -n shop (root is in phase Pending: exceeded quota: storage)',
  ]);
  await fill('ImportScheduled', 'Bound');
  await world.seconds(4);
  expect((await vmiNow())?.status?.conditions?.some(({ type }) => type === 'Synchronized')).toBe(false);
  expect([(await vmiNow())?.status?.phase, await pods()]).toEqual(['Pending', []]);
  await fill('Failed');
  await world.seconds(2);
  expect((await vmiNow())?.status).toMatchObject({ phase: 'Failed', reason: 'FailedDataVolumeImport' });
});
