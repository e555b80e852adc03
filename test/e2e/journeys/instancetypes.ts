// Instance types and preferences by plain kubectl: a guest gets its sizes from them and keeps them whatever becomes of the objects; what
// conflicts is refused; volumes can say what they are for; expand-spec shows what it all comes to.
import { expect, it } from 'vitest';
import type { ControllerRevision, VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { apply, Console, cluster, eventually, find, kubectl, list, NAMESPACE, refusal, TINY_IMAGE } from '../harness.js';
import { virt, waitRunning } from '../vm-waits.js';

const GROUP = 'instancetype.kubevirt.io/v1beta1';
const NAME = 'sized';
const TYPE = 'e2e-roomy';
const MEMORY = '224Mi';
const LESS_MIB = 160;
const PREFERENCE = { name: 'e2e-linux', kind: 'VirtualMachinePreference' } as const;
const SUBRESOURCES = `/apis/subresources.kubevirt.io/v1/namespaces/${NAMESPACE}`;

const instancetype = (memory: string): object => ({
  apiVersion: GROUP,
  kind: 'VirtualMachineClusterInstancetype',
  metadata: { name: TYPE },
  spec: { cpu: { guest: 1 }, memory: { guest: memory } },
});

const preference = {
  apiVersion: GROUP,
  kind: PREFERENCE.kind,
  metadata: { name: PREFERENCE.name, namespace: NAMESPACE },
  spec: { devices: { preferredDiskBus: 'virtio', preferredInterfaceModel: 'virtio', preferredInterfaceMasquerade: {} } },
};

/** Says nothing about sizes, buses or bindings. */
function sizedVm(name: string, spec: object = {}, domain: object = {}): object {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      runStrategy: 'Always',
      instancetype: { name: TYPE },
      preference: PREFERENCE,
      template: {
        metadata: { labels: { vm: name } },
        spec: {
          terminationGracePeriodSeconds: 15,
          domain: { devices: { interfaces: [{ name: 'default' }] }, ...domain },
          networks: [{ name: 'default', pod: {} }],
          volumes: [{ name: 'root', containerDisk: { image: TINY_IMAGE } }],
        },
      },
      ...spec,
    },
  };
}

async function keptRevisions(): Promise<ControllerRevision[]> {
  const all = await list<ControllerRevision>('controllerrevisions', '-n', NAMESPACE, '-l', 'instancetype.kubevirt.io/object-name');
  return all.filter((r) => r.metadata.name?.startsWith(`${NAME}-`));
}

const keptNames = async (): Promise<string[]> => (await keptRevisions()).map((r) => r.metadata.name ?? '').sort();

/** In MiB, as the guest's kernel counts it: a little less than it was given. */
async function memoryOfGuest(): Promise<number> {
  const console = await Console.open(NAME);
  await console.login();
  const text = await console.run('grep MemTotal /proc/meminfo');
  await console.close();
  return Number(/(\d+) kB/.exec(text)?.[1]) / 1024;
}

function starts(): void {
  it('gives a guest its sizes, buses and bindings', async () => {
    await apply(instancetype(MEMORY), preference, sizedVm(NAME));
    const vmi = await waitRunning(NAME);
    expect(vmi.metadata.annotations).toMatchObject({
      'kubevirt.io/cluster-instancetype-name': TYPE,
      'kubevirt.io/preference-name': PREFERENCE.name,
    });
    expect(vmi.spec.domain).toMatchObject({
      cpu: { sockets: 1 },
      memory: { guest: MEMORY },
      devices: { disks: [{ disk: { bus: 'virtio' } }], interfaces: [{ masquerade: {}, model: 'virtio' }] },
    });
    expect(await memoryOfGuest()).toBeGreaterThan(LESS_MIB);
  });

  it('names in the VM’s status what it keeps of both', async () => {
    const { instancetypeRef, preferenceRef } = (await find<VirtualMachine>('vm', NAME))?.status ?? {};
    const names = [instancetypeRef?.controllerRevisionRef?.name ?? '', preferenceRef?.controllerRevisionRef?.name ?? ''];
    expect(names.sort()).toEqual(await keptNames());
    expect((await keptRevisions()).map((r) => r.metadata.labels?.['instancetype.kubevirt.io/object-kind']).sort()).toEqual([
      'VirtualMachineClusterInstancetype',
      PREFERENCE.kind,
    ]);
  });
}

function keeps(): void {
  it('keeps its sizes over a restart although the instance type was changed, and then deleted', async () => {
    const before = await waitRunning(NAME);
    const names = await keptNames();
    await apply(instancetype(`${LESS_MIB}Mi`));
    await kubectl('delete', 'virtualmachineclusterinstancetype', TYPE);
    await virt('restart', NAME);
    await eventually('a new instance runs', async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', NAME);
      return vmi?.status?.phase === 'Running' && vmi.metadata.uid !== before.metadata.uid;
    });
    expect(await memoryOfGuest()).toBeGreaterThan(LESS_MIB);
    expect(await keptNames()).toEqual(names);
  });

  it('takes its revisions with it', async () => {
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--timeout=120s');
    await eventually('no revision is left', async () => (await keptNames()).length === 0);
  });
}

function admission(): void {
  it('refuses sizes beside an instance type, and says which', async () => {
    await apply(instancetype(MEMORY));
    const message = await refusal(sizedVm('torn', {}, { memory: { guest: '256Mi' }, cpu: { cores: 2 } }));
    expect(message).toContain('spec.template.spec.domain.memory.guest conflicts with selected instance type');
    expect(message).toContain('spec.template.spec.domain.cpu.cores conflicts with selected instance type');
  });

  it('refuses an instance type that makes no sense', async () => {
    const memory = { guest: '1Gi', overcommitPercent: 10, hugepages: { pageSize: '2Mi' } };
    const broken = { ...instancetype(MEMORY), metadata: { name: 'e2e-broken' }, spec: { cpu: { guest: 1 }, memory } };
    expect(await refusal(broken)).toContain('overcommit');
  });

  it('refuses a VM that is too small for its preference', async () => {
    const demanding = {
      ...preference,
      metadata: { ...preference.metadata, name: 'e2e-demanding' },
      spec: { requirements: { cpu: { guest: 4 } } },
    };
    await apply(demanding);
    expect(await refusal(sizedVm('meagre', { preference: { ...PREFERENCE, name: 'e2e-demanding' } }))).toContain(
      'the preference requires 4',
    );
    await kubectl('delete', 'virtualmachinepreference', 'e2e-demanding', '-n', NAMESPACE);
  });

  it('takes both from the labels of a claim', async () => {
    const labels = {
      'instancetype.kubevirt.io/default-instancetype': TYPE,
      'instancetype.kubevirt.io/default-preference': PREFERENCE.name,
      'instancetype.kubevirt.io/default-preference-kind': PREFERENCE.kind,
    };
    const claim = { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources: { requests: { storage: '1Mi' } } };
    await apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'labelled', namespace: NAMESPACE, labels },
      spec: claim,
    });
    const template = { spec: { domain: { devices: {} }, volumes: [{ name: 'root', persistentVolumeClaim: { claimName: 'labelled' } }] } };
    const inferred = { inferFromVolume: 'root' };
    await apply(sizedVm('inferred', { runStrategy: 'Halted', instancetype: inferred, preference: inferred, template }));
    expect((await find<VirtualMachine>('vm', 'inferred'))?.spec).toMatchObject({ instancetype: { name: TYPE }, preference: PREFERENCE });
    expect(await refusal(sizedVm('unlabelled', { instancetype: inferred }))).toContain('unable to infer defaults from volume root');
    await kubectl('delete', 'vm/inferred', 'pvc/labelled', '-n', NAMESPACE);
  });
}

function expansion(): void {
  it('shows a stored VM and one that does not exist written out', async () => {
    await apply(sizedVm('shown', { runStrategy: 'Halted' }));
    const stored = JSON.parse(await kubectl('get', '--raw', `${SUBRESOURCES}/virtualmachines/shown/expand-spec`)) as VirtualMachine;
    const { kubectl: put } = await cluster();
    const text = await put(['replace', '--raw', `${SUBRESOURCES}/expand-vm-spec`, '-f', '-'], JSON.stringify(sizedVm('never-created')));
    for (const vm of [stored, JSON.parse(text) as VirtualMachine]) {
      expect(vm.spec).not.toHaveProperty('instancetype');
      expect(vm.spec.template.spec?.domain).toMatchObject({ cpu: { sockets: 1 }, memory: { guest: MEMORY } });
    }
    await kubectl('delete', 'vm', 'shown', '-n', NAMESPACE);
    await kubectl('delete', 'virtualmachineclusterinstancetype', TYPE);
    await kubectl('delete', 'virtualmachinepreference', PREFERENCE.name, '-n', NAMESPACE);
  });
}

export function instancetypes(): void {
  starts();
  keeps();
  admission();
  expansion();
}
