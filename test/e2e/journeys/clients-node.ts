// The official client for JavaScript with the types of the package entry `kubevirt-ts/api`: create, list, watch, patch, delete.
import { CustomObjectsApi, KubeConfig, PatchStrategy, setHeaderOptions, Watch } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type * as Entry from '../../../src/api/package.js';
import type { KubeList, VirtualMachine } from '../../../src/api/package.js';
import { API_DIR, buildApi } from '../../../tools/build-api.js';
import { cluster, eventually, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';

const NAME = 'from-node';
const LABEL = 'clients=node';
const body = tinyVm(NAME, { runStrategy: 'Halted' });

interface Seen {
  readonly type: string;
  readonly vm: VirtualMachine;
}

export function clientNode(): void {
  const config = new KubeConfig();
  const seen: Seen[] = [];
  let api: CustomObjectsApi;
  let where: { group: string; version: string; plural: string; namespace: string };
  let watching: AbortController | undefined;

  beforeAll(async () => {
    await buildApi();
    const entry = (await import(`${API_DIR}/index.js`)) as typeof Entry;
    config.loadFromFile((await cluster()).kubeconfig);
    api = config.makeApiClient(CustomObjectsApi);
    where = { ...entry.resourceOf('VirtualMachine'), namespace: NAMESPACE };
    const path = `/apis/${where.group}/${where.version}/namespaces/${NAMESPACE}/${where.plural}`;
    const take = (type: string, vm: VirtualMachine): void => void seen.push({ type, vm });
    watching = await new Watch(config).watch(path, { labelSelector: LABEL }, take, () => undefined);
  });
  afterAll(() => watching?.abort());

  const patch = async (strategy: PatchStrategy, change: object): Promise<VirtualMachine> =>
    await api.patchNamespacedCustomObject({ ...where, name: NAME, body: change }, setHeaderOptions('Content-Type', strategy));

  it('creates a VM and gets it back with its defaults', async () => {
    const created: VirtualMachine = await api.createNamespacedCustomObject({ ...where, body });
    expect(created.spec.template.spec?.domain?.machine?.type).toMatch(/q35/);
    expect(created.spec.runStrategy).toBe('Halted');
  });

  it('patches by merging, by operations and by applying', async () => {
    await patch(PatchStrategy.MergePatch, { metadata: { labels: { clients: 'node' } } });
    await patch(PatchStrategy.JsonPatch, [{ op: 'add', path: '/metadata/labels/added', value: 'yes' }]);
    const applied = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata: { name: NAME, labels: { applied: 'yes' } } };
    const options = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply);
    const vm: VirtualMachine = await api.patchNamespacedCustomObject(
      { ...where, name: NAME, body: applied, fieldManager: 'node' },
      options,
    );
    expect(vm.metadata.labels).toEqual({ clients: 'node', added: 'yes', applied: 'yes' });
  });

  it('lists by label', async () => {
    const { items }: KubeList<VirtualMachine> = await api.listNamespacedCustomObject({ ...where, labelSelector: LABEL });
    expect(items.map((vm) => vm.metadata.name)).toEqual([NAME]);
  });

  it('has a refusal as a Status with its causes', async () => {
    const wrong = patch(PatchStrategy.MergePatch, { spec: { runStrategy: 'Sometimes' } });
    const { code, body: said } = await wrong.then(
      () => ({ code: 0, body: '' }),
      (err: { code: number; body: string }) => err,
    );
    expect([code, JSON.parse(said)]).toMatchObject([422, { kind: 'Status', details: { causes: [{ field: 'spec.runStrategy' }] } }]);
  });

  it('has watched all of it, to the end', async () => {
    await eventually('the watch shows the VM stopped', async () => seen.some(({ vm }) => vm.status?.printableStatus === 'Stopped'));
    await api.deleteNamespacedCustomObject({ ...where, name: NAME });
    await eventually('the watch shows it gone', async () => seen.at(-1)?.type === 'DELETED');
    expect(seen[0]?.type).toBe('ADDED');
    expect(new Set(seen.map(({ vm }) => vm.metadata.name))).toEqual(new Set([NAME]));
  });
}
