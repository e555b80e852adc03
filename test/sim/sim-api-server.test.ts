// The simulation keeps the rules of the real API server that controllers rely on.
import { describe, expect, it } from 'vitest';
import type { Pod, VirtualMachine } from '../../src/api/index.js';
import { RestClient } from '../../src/runtime/client.js';
import { CONFIG_MAPS, PODS, VIRTUAL_MACHINES } from '../../src/runtime/resources.js';
import { matcher } from './selectors.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

const vm = (): VirtualMachine => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  metadata: { name: 'web', namespace: 'ns', finalizers: ['test/finalizer'] },
  spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } },
});
const pod = (nodeName?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [], ...(nodeName ? { nodeName } : {}) },
});

function world(): { clock: VirtualClock; server: SimApiServer; client: RestClient } {
  const clock = new VirtualClock();
  const server = new SimApiServer(clock);
  return { clock, server, client: new RestClient({ transport: server.transport(), clock }) };
}

describe('SimApiServer', () => {
  it('keeps spec and status apart and counts generations by the spec', async () => {
    const { client } = world();
    const created = await client.create(VIRTUAL_MACHINES, { ...vm(), status: { ready: true } });
    expect([created.status, created.metadata.generation]).toEqual([undefined, 1]);
    const status = await client.update(
      VIRTUAL_MACHINES,
      { ...created, spec: { ...created.spec, runStrategy: 'Halted' }, status: { ready: true } },
      { subresource: 'status' },
    );
    expect([status.spec.runStrategy, status.status?.ready, status.metadata.generation]).toEqual(['Always', true, 1]);
    const spec = await client.mergePatch(VIRTUAL_MACHINES, 'ns/web', { spec: { runStrategy: 'Halted' }, status: { ready: false } });
    expect([spec.spec.runStrategy, spec.status?.ready, spec.metadata.generation]).toEqual(['Halted', true, 2]);
  });

  it('gives an unchanged write no new version', async () => {
    const { client, server } = world();
    const created = await client.create(VIRTUAL_MACHINES, vm());
    const version = server.store.version;
    expect((await client.update(VIRTUAL_MACHINES, created)).metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    expect(server.store.version).toBe(version);
  });

  it('waits for finalizers, then collects the children', async () => {
    const { client } = world();
    const owner = await client.create(VIRTUAL_MACHINES, vm());
    const { uid = '' } = owner.metadata;
    const ownerReferences = [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'web', uid, controller: true }];
    await client.create(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'child', namespace: 'ns', ownerReferences },
    });
    await client.delete(VIRTUAL_MACHINES, 'ns/web');
    expect((await client.get(VIRTUAL_MACHINES, 'ns/web')).metadata.deletionTimestamp).toBeTruthy();
    await client.jsonPatch(VIRTUAL_MACHINES, 'ns/web', [{ op: 'remove', path: '/metadata/finalizers' }]);
    expect(await client.find(VIRTUAL_MACHINES, 'ns/web')).toBeUndefined();
    expect(await client.find(CONFIG_MAPS, 'ns/child')).toBeUndefined();
  });

  it('leaves a bound pod to its kubelet', async () => {
    const { client } = world();
    await client.create(PODS, pod('node1'));
    await client.delete(PODS, 'ns/p');
    expect((await client.get(PODS, 'ns/p')).metadata.deletionGracePeriodSeconds).toBe(30);
    await client.delete(PODS, 'ns/p', { gracePeriodSeconds: 0 });
    expect(await client.find(PODS, 'ns/p')).toBeUndefined();
    await client.create(PODS, pod());
    await client.delete(PODS, 'ns/p');
    expect(await client.find(PODS, 'ns/p')).toBeUndefined();
  });

  it.each([
    ['a=1', '', true],
    ['a==1,b', '', true],
    ['a!=1', '', false],
    ['!c', '', true],
    ['a in (1, 2),b notin (x)', '', true],
    ['a notin (1)', '', false],
    ['', 'metadata.name=p', true],
    ['', 'spec.nodeName=other', false],
    ['', 'spec.nodeName!=other', true],
  ])('selects by %s %s', (labels, fields, expected) => {
    const object = pod('node1');
    object.metadata.labels = { a: '1', b: '2' };
    expect(matcher(labels, fields)(object)).toBe(expected);
  });
});
