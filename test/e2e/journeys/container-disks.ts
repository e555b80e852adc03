// The second way of container disks, for clusters without image volumes: a side container holds the image, the node agent binds its file
// into the launcher, and takes it out again before the pod goes.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Pod } from '../../../src/api/index.js';
import { withGates } from '../gates.js';
import { expectConfigDrive, inGuest } from '../guest-session.js';
import { apply, Console, cluster, eventually, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { waitRunning } from '../vm-waits.js';
import { CONFIG, fromKernel } from '../volume-objects.js';

const NAME = 'side-disk';
const KERNEL = 'side-kernel';
const NODE = 'node1';
const GRACE_SECONDS = 15;
/** The launcher gets this much more than the guest, and the kubelet needs a moment. */
const MARGIN_SECONDS = 30;

/** Mount points on the node below the pod's directory that hold container disks; the local cluster's nodes see each at two places. */
async function diskMounts(podUid: string): Promise<string[]> {
  const node = (await cluster()).nodes.find(({ name }) => name === NODE);
  return readFileSync(`/proc/${node?.pid}/mountinfo`, 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .filter((point) => point.includes(`/${podUid}/`) && point.includes('/container-disks/'));
}

async function launcherPod(): Promise<Pod | undefined> {
  const pods = await list<Pod>('pods', '-n', NAMESPACE, '-l', `vm=${NAME}`);
  return pods.find((pod) => pod.metadata.deletionTimestamp === undefined);
}

async function bootAndDelete(): Promise<void> {
  await apply(tinyVm(NAME, { node: NODE, gracePeriodSeconds: GRACE_SECONDS }));
  await waitRunning(NAME);
  const pod = await launcherPod();
  const uid = pod?.metadata.uid ?? '';
  expect(pod?.spec?.containers.map(({ name }) => name)).toEqual(['compute', 'volumeroot']);
  expect(pod?.spec?.volumes?.filter((volume) => 'image' in volume)).toEqual([]);
  expect(await diskMounts(uid)).toContainEqual(expect.stringMatching(/^\/var\/lib\/kubelet\/pods\/.*\/disk_0\.img$/));

  const console = await Console.open(NAME);
  await console.login();
  expect(await console.run('uname -s')).toContain('Linux');
  await console.close();

  await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, `--timeout=${GRACE_SECONDS + MARGIN_SECONDS}s`);
  await eventually('the pod is gone', async () => (await list('pods', '-n', NAMESPACE, '-l', `vm=${NAME}`)).length === 0, {
    timeoutMs: MARGIN_SECONDS * 1000,
  });
  expect(await diskMounts(uid)).toEqual([]);
}

async function bootKernel(): Promise<void> {
  const secret = { name: 'vol-drive' };
  await apply(...CONFIG, fromKernel(KERNEL, { secretRef: secret, networkDataSecretRef: secret }));
  await inGuest(KERNEL, (console) => expectConfigDrive(console, KERNEL));
  const [pod] = await list<Pod>('pods', '-n', NAMESPACE, '-l', `vm=${KERNEL}`);
  expect(pod?.spec?.containers.map(({ name }) => name)).toEqual(['compute', 'volumekernel-boot-volume']);
  await kubectl('delete', 'vmi', KERNEL, '-n', NAMESPACE, '--timeout=60s');
  await kubectl('delete', 'configmaps,secrets,serviceaccounts', '-n', NAMESPACE, '-l', 'journey=volumes');
}

export function containerDisks(): void {
  it('boots from a side container’s image and leaves no mount behind', () => withGates({ off: ['ImageVolume'] }, bootAndDelete));

  it('boots a side container’s kernel, with a ConfigDrive out of secrets', () => withGates({ off: ['ImageVolume'] }, bootKernel));

  it('goes back to image volumes with the gate', async () => {
    await apply(tinyVm(NAME, { node: NODE }));
    await waitRunning(NAME);
    expect((await launcherPod())?.spec?.containers.map(({ name }) => name)).toEqual(['compute']);
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--timeout=60s');
  });
}
