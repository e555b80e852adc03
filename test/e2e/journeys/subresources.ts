// The verbs of a machine as plain kubectl sends them: what they do to the guest, and how they refuse — a wrong state, a verb that is not
// served yet, a user who may not.
import { expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../../src/api/index.js';
import { apply, Console, cluster, eventually, find, kubectl, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { virtRefusal, waitRunning } from '../vm-waits.js';

const NAME = 'verbs';
const USER = 'jane';
const pathOf = (kind: 'virtualmachines' | 'virtualmachineinstances', verb: string): string =>
  `/apis/subresources.kubevirt.io/v1/namespaces/${NAMESPACE}/${kind}/${NAME}/${verb}`;

/** kubectl's PUT. */
async function put(kind: 'virtualmachines' | 'virtualmachineinstances', verb: string, ...flags: string[]): Promise<string> {
  return (await cluster()).kubectl(['replace', '--raw', pathOf(kind, verb), '-f', '-', ...flags], '{}');
}

async function refusedPut(kind: 'virtualmachines' | 'virtualmachineinstances', verb: string, ...flags: string[]): Promise<string> {
  const answer = await put(kind, verb, ...flags).catch((err: Error) => err);
  if (typeof answer === 'string') throw new Error(`accepted: ${verb} ${flags.join(' ')}`);
  return answer.message;
}

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
    expect(await refusedPut('virtualmachineinstances', 'backup')).toContain(
      '(NotImplemented): virtualmachineinstances/backup is not served by this version',
    );
  });

  it('lets only those operate who may', async () => {
    expect(await refusedPut('virtualmachines', 'start', '--as', USER)).toContain(
      `User "${USER}" cannot update resource "virtualmachines/start" in API group "subresources.kubevirt.io"`,
    );
    await apply(mayOperate);
    await eventually(`${USER} may start machines`, async () =>
      (await refusedPut('virtualmachines', 'start', '--as', USER)).includes('VM is already running'),
    );
    await kubectl('delete', 'rolebinding', mayOperate.metadata.name, '-n', NAMESPACE);
  });

  it('asks the guest through its agent', async () => {
    const answer = await eventually('the guest agent answers', async () =>
      kubectl('get', '--raw', pathOf('virtualmachineinstances', 'guestosinfo')),
    );
    expect(JSON.parse(answer)).toMatchObject({ hostname: NAME, guestAgentVersion: expect.any(String) });
  });

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
