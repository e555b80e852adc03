// kubernetes-mcp-server, a client in Go that language models use, with its tools for KubeVirt: they find our kinds, make a VM from an
// instance type, operate it, ask its guest and look for what is wrong with it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { VirtualMachine } from '../../../src/api/index.js';
import { McpClient } from '../clients/mcp-client.js';
import { mcpServer } from '../clients/prepare.js';
import { apply, cluster, eventually, find, kubectl, NAMESPACE, TINY_IMAGE } from '../harness.js';
import { waitForStatus, waitRunning } from '../vm-waits.js';

const NAME = 'from-mcp';
const TYPE = 'clients-small';
const VM = { namespace: NAMESPACE, name: NAME };
const GROUP = 'instancetype.kubevirt.io/v1beta1';

const types: readonly object[] = [
  {
    apiVersion: GROUP,
    kind: 'VirtualMachineClusterInstancetype',
    metadata: { name: TYPE },
    spec: { cpu: { guest: 1 }, memory: { guest: '128Mi' } },
  },
  {
    apiVersion: GROUP,
    kind: 'VirtualMachineClusterPreference',
    metadata: { name: TYPE },
    spec: { devices: { preferredDiskBus: 'virtio', preferredInterfaceModel: 'virtio', preferredInterfaceMasquerade: {} } },
  },
];

export function clientMcp(): void {
  let client: McpClient;
  const lifecycle = (action: string): Promise<string> => client.call('vm_lifecycle', { ...VM, action });
  /** The tool reads the VM and writes it: again, when the VM's status was written in between. */
  const turn = (action: 'start' | 'stop'): Promise<string> => eventually(`the VM takes the ${action}`, () => lifecycle(action));

  beforeAll(async () => {
    await apply(...types);
    const flags = ['--kubeconfig', (await cluster()).kubeconfig, '--toolsets', 'core,kubevirt'];
    client = await McpClient.start([...(await mcpServer()), ...flags]);
  });
  afterAll(async () => {
    await client.close();
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--ignore-not-found', '--timeout=120s');
    await kubectl('delete', `virtualmachineclusterinstancetype/${TYPE}`, `virtualmachineclusterpreference/${TYPE}`);
  });

  it('offers its tools for machines, since it finds the kinds', async () => {
    const wanted = ['vm_clone', 'vm_create', 'vm_guest_info', 'vm_lifecycle', 'vm_troubleshoot'];
    expect(await client.tools()).toEqual(expect.arrayContaining(wanted));
  });

  it('creates a VM of an instance type', async () => {
    await client.call('vm_create', { ...VM, workload: TINY_IMAGE, instancetype: TYPE, preference: TYPE });
    const { spec } = (await find<VirtualMachine>('vm', NAME)) as VirtualMachine;
    expect(spec).toMatchObject({
      runStrategy: 'Halted',
      instancetype: { name: TYPE, kind: 'VirtualMachineClusterInstancetype' },
      preference: { name: TYPE, kind: 'VirtualMachineClusterPreference' },
    });
    expect(spec.template.spec?.volumes?.[0]?.containerDisk?.image).toBe(TINY_IMAGE);
    expect(await client.call('resources_list', { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', namespace: NAMESPACE })).toContain(
      NAME,
    );
  });

  it('starts it and asks its guest', async () => {
    expect(await turn('start')).toContain('started successfully');
    await waitRunning(NAME);
    const info = await eventually('the guest answers', async () => client.call('vm_guest_info', { ...VM, info_type: 'os' }), {
      timeoutMs: 60_000,
    });
    expect(info).toContain(`hostname: ${NAME}`);
  });

  it('pauses and resumes it', async () => {
    await lifecycle('pause');
    await waitForStatus(NAME, 'Paused');
    await lifecycle('unpause');
    await waitForStatus(NAME, 'Running');
  });

  it('finds nothing wrong with it', async () => {
    const report = await client.call('vm_troubleshoot', VM);
    expect(report).toContain(NAME);
    expect(report).not.toContain('CRITICAL');
  });

  it('stops it, and deletes it', async () => {
    expect(await turn('stop')).toContain('stopped successfully');
    await waitForStatus(NAME, 'Stopped');
    await client.call('resources_delete', { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', ...VM });
    await eventually('the VM is gone', async () => (await find('vm', NAME)) === undefined);
  });

  it('says why the API refuses', async () => {
    const wrong = client.call('vm_create', { ...VM, name: 'Not A Name', workload: TINY_IMAGE });
    await expect(wrong).rejects.toThrow('Invalid value: "Not A Name"');
  });
}
