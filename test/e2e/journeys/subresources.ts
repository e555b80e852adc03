// The verbs of a machine as plain kubectl sends them: what they do to the guest and to the objects around it, and how they refuse — a wrong
// state, a verb that is not served yet, a user who may not, a gate that is off.
import { expect, it } from 'vitest';
import type { KubeObject, VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { patchDeveloper } from '../gates.js';
import { apply, Console, cluster, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { virtRefusal, waitRunning } from '../vm-waits.js';

const NAME = 'verbs';
const USER = 'jane';
const GROUP = '/apis/subresources.kubevirt.io/v1';
type Kind = 'virtualmachines' | 'virtualmachineinstances';
const pathOf = (kind: Kind, verb: string): string => `${GROUP}/namespaces/${NAMESPACE}/${kind}/${NAME}/${verb}`;

/** kubectl's PUT. */
async function put(kind: Kind, verb: string, body: object = {}, ...flags: string[]): Promise<string> {
  return (await cluster()).kubectl(['replace', '--raw', pathOf(kind, verb), '-f', '-', ...flags], JSON.stringify(body));
}

async function refused(answer: Promise<string>): Promise<string> {
  const outcome = await answer.catch((err: Error) => err);
  if (typeof outcome === 'string') throw new Error(`accepted: ${outcome}`);
  return outcome.message;
}

const refusedPut = (kind: Kind, verb: string, body: object = {}, ...flags: string[]): Promise<string> =>
  refused(put(kind, verb, body, ...flags));

const get = (path: string): Promise<string> => kubectl('get', '--raw', path);

const mayOperate = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'verbs-operator', namespace: NAMESPACE },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'kubevirt.io:edit' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
};

export function subresources(): void {
  it('refuses to start what runs, and says so', async () => {
    await apply(tinyVm(NAME));
    await waitRunning(NAME);
    expect(await refusedPut('virtualmachines', 'start')).toContain(
      `(Conflict): Operation cannot be fulfilled on virtualmachine.kubevirt.io "${NAME}": VM is already running`,
    );
    const told = await virtRefusal('start', NAME);
    expect(told).toContain(`cannot start ${NAMESPACE}/${NAME}: VM is already running`);
    expect(told).toContain(`kubectl get vmi ${NAME} -n ${NAMESPACE}`);
  });

  it('says of a verb that it is not served yet', async () => {
    expect(await refusedPut('virtualmachineinstances', 'backup')).toContain('(NotImplemented): ');
  });

  it('lets only those operate who may', async () => {
    expect(await refusedPut('virtualmachines', 'start', {}, '--as', USER)).toContain(
      `User "${USER}" cannot update resource "virtualmachines/start" in API group "subresources.kubevirt.io"`,
    );
    await apply(mayOperate);
    await eventually(`${USER} may start machines`, async () =>
      (await refusedPut('virtualmachines', 'start', {}, '--as', USER)).includes('VM is already running'),
    );
    await kubectl('delete', 'rolebinding', mayOperate.metadata.name, '-n', NAMESPACE);
  });

  it('asks the guest through its agent', async () => {
    const answer = await eventually('the guest agent answers', async () =>
      kubectl('get', '--raw', pathOf('virtualmachineinstances', 'guestosinfo')),
    );
    expect(JSON.parse(answer)).toMatchObject({ hostname: NAME, guestAgentVersion: expect.any(String) });
  });

  objects();
  gated();

  it('reboots the guest within the same instance', async () => {
    const before = await waitRunning(NAME);
    const console = await Console.open(NAME);
    await console.login();
    await put('virtualmachineinstances', 'softreboot');
    await console.expect(/reboot: Restarting system/);
    await console.expect(/login: /);
    await put('virtualmachineinstances', 'reset');
    await console.expect(/login: /);
    await console.close();
    expect((await find<VirtualMachineInstance>('vmi', NAME))?.metadata.uid).toBe(before.metadata.uid);
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--timeout=60s');
  });
}

interface Migration extends KubeObject {
  readonly spec: { readonly vmiName: string };
}

interface GraphNode {
  readonly objectReference: { readonly kind: string; readonly name: string };
  readonly children?: readonly GraphNode[];
}

/** Verbs that change the objects around a machine. */
function objects(): void {
  it('asks for a migration', async () => {
    await put('virtualmachines', 'migrate', { dryRun: ['All'] });
    expect(await list<Migration>('vmim', '-n', NAMESPACE)).toEqual([]);
    await put('virtualmachines', 'migrate');
    const [migration, ...others] = await list<Migration>('vmim', '-n', NAMESPACE);
    expect([migration?.spec.vmiName, others]).toEqual([NAME, []]);
    expect(migration?.metadata.name).toMatch(/^kubevirt-migrate-vm-/);
    await kubectl('delete', 'vmim', migration?.metadata.name ?? '', '-n', NAMESPACE);
  });

  it('writes a volume into the VM, and takes it out again', async () => {
    const extra = { name: 'extra', disk: { disk: { bus: 'scsi' } }, volumeSource: { persistentVolumeClaim: { claimName: 'extra' } } };
    const volumes = async (): Promise<(string | undefined)[]> =>
      ((await find<VirtualMachine>('vm', NAME))?.spec.template.spec?.volumes ?? []).map((volume) => volume.name);
    const before = await volumes();
    await put('virtualmachines', 'addvolume', extra);
    expect(await volumes()).toEqual([...before, 'extra']);
    expect(await refusedPut('virtualmachines', 'addvolume', extra)).toContain(
      'Unable to add volume [extra] because volume with that name already exists',
    );
    await put('virtualmachines', 'removevolume', { name: 'extra' });
    expect(await volumes()).toEqual(before);
    expect(await refusedPut('virtualmachineinstances', 'addvolume', extra)).toContain(`VMI ${NAMESPACE}/${NAME} is owned by a VM`);
  });

  it('cancels an evacuation', async () => {
    const evacuation = async (): Promise<string | undefined> =>
      (await find<VirtualMachineInstance>('vmi', NAME))?.status?.evacuationNodeName;
    // As an eviction does it: users do not write status.
    const mark = JSON.stringify([{ op: 'add', path: '/status/evacuationNodeName', value: 'elsewhere' }]);
    const controller = 'system:serviceaccount:kubevirt:kubevirt-controller';
    await put('virtualmachines', 'evacuate/cancel', { evacuationNodeName: 'elsewhere' });
    await kubectl('patch', 'vmi', NAME, '-n', NAMESPACE, '--as', controller, '--type=json', '-p', mark);
    expect(await refusedPut('virtualmachines', 'evacuate/cancel', { evacuationNodeName: 'another' })).toContain('(Conflict)');
    expect(await evacuation()).toBe('elsewhere');
    await put('virtualmachines', 'evacuate/cancel', { evacuationNodeName: 'elsewhere' });
    expect(await evacuation()).toBeUndefined();
  });
}

/** What the cluster's configuration has to allow first. */
function gated(): void {
  it('draws the objects that the machine depends on', async () => {
    const path = pathOf('virtualmachines', 'objectgraph');
    expect(await refused(get(path))).toContain('ObjectGraph feature gate not enabled');
    await patchDeveloper({ featureGates: ['ObjectGraph'] });
    const root = await eventually('the gate is on', async () => JSON.parse(await get(path)) as GraphNode);
    const [vmi] = root.children ?? [];
    expect([root.objectReference.kind, vmi?.objectReference.kind, vmi?.children?.[0]?.objectReference.kind]).toEqual([
      'VirtualMachine',
      'VirtualMachineInstance',
      'Pod',
    ]);
    await patchDeveloper({ featureGates: null });
  });

  it('takes profiles of all components', async () => {
    expect(await refused(get(`${GROUP}/start-cluster-profiler`))).toContain('Unable to start profiler');
    await patchDeveloper({ clusterProfiler: true });
    await eventually('every component has started', async () => (await get(`${GROUP}/start-cluster-profiler`)) === '');
    await get(pathOf('virtualmachineinstances', 'guestosinfo'));
    await get(`${GROUP}/stop-cluster-profiler`);
    const { componentResults } = JSON.parse(await get(`${GROUP}/dump-cluster-profiler`)) as {
      componentResults: Record<string, { pprofData: Record<string, string> }>;
    };
    const components = Object.keys(componentResults).map((pod) => pod.split('-').slice(0, 2).join('-'));
    expect([...new Set(components)].sort()).toEqual(['virt-api', 'virt-controller', 'virt-handler', 'virt-operator']);
    for (const { pprofData } of Object.values(componentResults)) {
      const profile = JSON.parse(Buffer.from(pprofData['cpu.cpuprofile'] ?? '', 'base64').toString()) as { samples: number[] };
      expect(profile.samples.length).toBeGreaterThan(0);
    }
    await patchDeveloper({ clusterProfiler: null });
  });
}
