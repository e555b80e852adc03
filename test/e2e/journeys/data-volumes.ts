// A VM whose disk CDI fills. The cluster has no CDI: the test brings its kind and plays its part, so that what the controllers make of a
// DataVolume is seen with a real API server and a real guest.
import { expect, it } from 'vitest';
import type { VirtualMachine } from '../../../src/api/index.js';
import type { DataVolume } from '../../../src/operators/data-volumes.js';
import { inGuest } from '../guest-session.js';
import { apply, eventsOf, eventually, find, kubectl, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { waitForStatus } from '../vm-waits.js';
import { bootPod, claim, NODE } from '../volume-objects.js';

const NAME = 'vol-dv';
const CRD = 'datavolumes.cdi.kubevirt.io';

const dataVolumeKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: CRD },
  spec: {
    group: 'cdi.kubevirt.io',
    scope: 'Namespaced',
    names: { plural: 'datavolumes', singular: 'datavolume', kind: 'DataVolume', listKind: 'DataVolumeList' },
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

function machine(): object {
  const vm = structuredClone(tinyVm(NAME, { node: NODE, gracePeriodSeconds: 5 })) as VirtualMachine;
  vm.metadata.labels = { journey: 'volumes' };
  vm.spec.dataVolumeTemplates = [
    { metadata: { name: NAME }, spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '256Mi' } } } } },
  ];
  if (vm.spec.template.spec) vm.spec.template.spec.volumes = [{ name: 'root', dataVolume: { name: NAME } }];
  return vm;
}

async function move(phase: string, conditions: readonly object[] = []): Promise<void> {
  const patch = JSON.stringify({ status: { phase, conditions } });
  await kubectl('patch', CRD, NAME, '-n', NAMESPACE, '--subresource=status', '--type=merge', '-p', patch);
}

/** As CDI tells that it may not make the claim. */
const OVER_QUOTA = [{ type: 'Bound', status: 'False', reason: 'ErrExceededQuota', message: 'exceeded quota: storage, requested: 256Mi' }];

async function expectFailure(reason: string, message: RegExp): Promise<void> {
  await eventually(`VM ${NAME} says ${message}`, async () => {
    const failure = (await find<VirtualMachine>('vm', NAME))?.status?.conditions?.find(({ type }) => type === 'Failure');
    if (failure?.reason !== reason || !message.test(failure.message ?? '')) throw new Error(JSON.stringify(failure));
    return true;
  });
}

/** Before CDI is there. */
export const applyUnfilled = (): Promise<void> => apply(machine());

export async function removeDataVolumes(): Promise<void> {
  await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
  await kubectl('delete', 'crd', CRD, '--ignore-not-found', '--timeout=60s');
}

/** Then CDI comes, which nothing tells the controllers: they look for it now and then. */
export function withoutCdi(): void {
  it('says that a VM with DataVolume templates needs CDI', async () => {
    await expectFailure('FailedDataVolumeCreate', /needs CDI.*to fill vol-dv/);
    await apply(dataVolumeKind);
  });
}

export function dataVolumes(): void {
  it('makes the DataVolumes of a VM once CDI is there', async () => {
    const volume = await eventually('the DataVolume', async () => find<DataVolume>(CRD, NAME).catch(() => undefined));
    expect(volume.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'VirtualMachine', name: NAME });
  });

  it('starts it once its disk is filled, and says meanwhile what happens', async () => {
    await move('Pending', OVER_QUOTA);
    await waitForStatus(NAME, 'DataVolumeError');
    await expectFailure('FailedDataVolumeImport', /DataVolume vol-dv exceeds quota limits: .*exceeded quota: storage, requested: 256Mi/);
    await move('Failed');
    await waitForStatus(NAME, 'DataVolumeError');
    await expectFailure('FailedDataVolumeImport', /DataVolume vol-dv failed to import disk image/);
    expect((await eventsOf('VirtualMachine', NAME)).join()).toContain('FailedDataVolumeImport');
    await apply(claim(NAME, '256Mi'));
    await move('ImportInProgress');
    await waitForStatus(NAME, 'Provisioning');
    await apply(bootPod('vol-import', NAME));
    await kubectl('wait', 'pod/vol-import', '-n', NAMESPACE, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s');
    await move('Succeeded');
    await inGuest(NAME, async (console) => expect(await console.run('uname -s')).toContain('Linux'));
  });
}
