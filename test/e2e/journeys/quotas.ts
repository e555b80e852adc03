// What a namespace's quotas refuse, and what its limits end: each guest says which quota or volume it is, and runs as soon as there is room. In a
// namespace of its own, since quotas count for everything in one.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { changedVm } from '../guest-objects.js';
import { inGuest, phaseOf, wordsOf } from '../guest-session.js';
import { apply, eventually, find, kubectl } from '../harness.js';
import { claim, fillPod } from '../volume-objects.js';

const HOME = 'e2e-quotas';
/** Of the pod's own storage; what the guest writes to its scratch disk goes beyond. */
const LIMIT_MIB = 100;
const WRITTEN_MIB = 130;

type Spec = NonNullable<VirtualMachine['spec']['template']['spec']>;

function machine(name: string, runStrategy: 'Always' | 'RerunOnFailure', change: (spec: Spec) => void): VirtualMachine {
  const vm = changedVm(name, change);
  return { ...vm, metadata: { ...vm.metadata, namespace: HOME }, spec: { ...vm.spec, runStrategy } };
}

/** A guest whose pod grows as it writes. */
const growing = machine('grows', 'RerunOnFailure', ({ domain, volumes }) => {
  domain.devices.disks?.push({ name: 'scratch', disk: { bus: 'virtio' }, serial: 'scratch' });
  volumes?.push({ name: 'scratch', emptyDisk: { capacity: '1Gi' } });
});

const remembering = machine('remembers', 'Always', ({ domain }) => {
  domain.devices.tpm = { persistent: true };
});

const large = machine('large', 'Always', ({ domain }) => {
  domain.memory = { guest: '160Mi' };
});

const homed = (object: object): object => {
  const { metadata } = object as { metadata: object };
  return { ...object, metadata: { ...metadata, namespace: HOME } };
};

const quota = (name: string, hard: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name, namespace: HOME },
  spec: { hard },
});

const limitRange = (name: string, limit: object): object => ({
  apiVersion: 'v1',
  kind: 'LimitRange',
  metadata: { name, namespace: HOME },
  spec: { limits: [{ type: 'Container', ...limit }] },
});

const ofStorage = limitRange('storage', {
  default: { 'ephemeral-storage': `${LIMIT_MIB}Mi` },
  defaultRequest: { 'ephemeral-storage': '1Mi' },
});

const saying = (name: string, message: RegExp): Promise<unknown> =>
  eventually(`VMI ${name} says ${message}`, async () => {
    const words = await wordsOf(name, HOME);
    if (!message.test(words)) throw new Error(words);
    return true;
  });

const running = (name: string): Promise<unknown> =>
  eventually(`VMI ${name} runs`, async () => {
    if ((await phaseOf(name, HOME)) !== 'Running') throw new Error(await wordsOf(name, HOME));
    return true;
  });

async function plugged(name: string): Promise<{ reason?: string; phase?: string; message?: string } | undefined> {
  const vmi = await find<VirtualMachineInstance>('vmi', name, HOME);
  return vmi?.status?.volumeStatus?.find((entry) => entry.hotplugVolume !== undefined);
}

async function addVolume(name: string, claimName: string): Promise<void> {
  const add = [
    { op: 'add', path: '/spec/template/spec/domain/devices/disks/-', value: { name: 'plug', disk: { bus: 'scsi' } } },
    { op: 'add', path: '/spec/template/spec/volumes/-', value: { name: 'plug', persistentVolumeClaim: { claimName, hotpluggable: true } } },
  ];
  await kubectl('patch', 'vm', name, '-n', HOME, '--type', 'json', '-p', JSON.stringify(add));
}

export function quotas(): void {
  beforeAll(async () => {
    await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME } });
    await apply(homed(claim('plug', '16Mi')), homed(fillPod('fill', { plug: { 'disk.img': 'plugged' } })));
    await kubectl('wait', 'pod/fill', '-n', HOME, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s');
    await kubectl('delete', 'pod', 'fill', '-n', HOME, '--wait=false');
    await apply(
      limitRange('narrow', { max: { memory: '256Mi' } }),
      quota('claims', { persistentvolumeclaims: '1' }),
      quota('memory', { 'requests.memory': '1000Mi' }),
    );
    await eventually(
      'the quotas count',
      async () => (await kubectl('get', 'quota', '-n', HOME, '-o', 'jsonpath={.items[*].status.hard}')).split('{').length === 3,
    );
    await apply(growing, remembering);
  });

  afterAll(async () => {
    await kubectl('delete', 'namespace', HOME, '--timeout=120s');
  });

  it('says what a limit or a quota refuses: a pod, a claim for what the hardware remembers', async () => {
    await saying('grows', /Error creating pod: .*less than or equal to memory limit of 256Mi; a LimitRange of namespace e2e-quotas/);
    await saying(
      'remembers',
      /Error creating the claim that keeps the firmware.*exceeded quota: claims.*raise ResourceQuota claims of namespace/,
    );
    expect((await find<VirtualMachine>('vm', 'grows', HOME))?.status?.printableStatus).toBe('Starting');
  });

  it('starts them as soon as there is room, and says what there is none for then', async () => {
    await apply(ofStorage, quota('claims', { persistentvolumeclaims: '2' }));
    await kubectl('delete', 'limitrange', 'narrow', '-n', HOME);
    await Promise.all([running('grows'), running('remembers')]);
    await apply(quota('pods', { pods: '2' }), large);
    await addVolume('remembers', 'plug');
    await saying('large', /Error creating pod: .*exceeded quota: (memory|pods).*it is tried again when there is room/);
    await eventually('the plugged volume says why it does not come', async () => {
      const entry = await plugged('remembers');
      if (!/Error creating hotplug attachment pod: .*exceeded quota: pods/.test(entry?.message ?? ''))
        throw new Error(JSON.stringify(entry));
      return true;
    });
    await apply(quota('memory', { 'requests.memory': '2Gi' }), quota('pods', { pods: '6' }));
    await running('large');
    await eventually('the volume is plugged', async () => {
      const entry = await plugged('remembers');
      if (entry?.phase !== 'Ready') throw new Error(JSON.stringify(entry));
      return true;
    });
  });

  it('says that a guest was evicted, and which of its volumes grew; and starts it anew', async () => {
    const uid = (await find<VirtualMachineInstance>('vmi', 'grows', HOME))?.metadata.uid;
    await inGuest('grows', (console) => console.run(`dd if=/dev/zero of=/dev/vdb bs=1M count=${WRITTEN_MIB} && sync`), HOME);
    // How much each took are the launcher's last words, which the kubelet sometimes loses with the log of an evicted pod that is deleted.
    const words =
      /Evicted: the kubelet evicted pod .*exceeds[^;]*;( .* its volumes took: scratch 1\d\d MiB.*;)? what .*scratch \(emptyDisk of 1Gi\)/;
    await saying('grows', words);
    await eventually('another guest runs', async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', 'grows', HOME);
      return vmi?.metadata.uid !== uid && vmi?.status?.phase === 'Running';
    });
  });
}
