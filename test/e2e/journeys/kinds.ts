// Every kind of the API as kubectl meets it: established, explained, with its columns; an object of it is taken, without what is unknown;
// old versions warn; rules refuse. And the types that the package offers read them.
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CustomResourceDefinition } from '../../../src/api/index.js';
import { crds } from '../../../src/api/schema/crds.js';
import { buildApi } from '../../../tools/build-api.js';
import { setGates } from '../gates.js';
import { cluster, eventually, kubectl, list, NAMESPACE, ROOT } from '../harness.js';
import { KIND_OBJECTS, type KindObject } from '../kind-objects.js';

const all = crds();
const stored = (crd: CustomResourceDefinition): string => crd.spec.versions.find((version) => version.storage)?.name ?? '';
const crdOf = (kind: string): CustomResourceDefinition => all.find((crd) => crd.spec.names.kind === kind) as CustomResourceDefinition;
const placed = ({ metadata: { namespace } }: KindObject): string[] => (namespace === undefined ? [] : ['-n', namespace]);

/** Creates the object as it is: kubectl's own check of fields is off. */
const create = async (object: object, ...flags: string[]): Promise<string> =>
  (await cluster()).kubectl(['create', '--validate=ignore', '-f', '-', ...flags], JSON.stringify(object));

const refused = (object: object, ...flags: string[]): Promise<string> =>
  create(object, '--dry-run=server', ...flags).then(
    () => 'accepted',
    (err: Error) => err.message,
  );

function establishment(): void {
  it('is established under all of its names', async () => {
    const there = await list<CustomResourceDefinition>('crds');
    const states = all.map(({ metadata: { name } }) => {
      const conditions = there.find((crd) => crd.metadata.name === name)?.status?.conditions ?? [];
      return [name, ...conditions.filter((each) => each.status === 'True').map((each) => each.type)];
    });
    expect(states).toEqual(all.map(({ metadata: { name } }) => [name, 'NamesAccepted', 'Established']));
  });

  it.each(all.map((crd) => [crd.spec.names.kind, crd] as const))('is explained: %s', async (_kind, crd) => {
    const { group, names } = crd.spec;
    const text = await kubectl('explain', names.plural, `--api-version=${group}/${stored(crd)}`);
    expect(text).toContain(`GROUP:      ${group}`);
    expect(text).toMatch(/DESCRIPTION:\n {4}\S/);
    expect(text).toMatch(/ {2}spec\t<.*>.*\n {4}\S/);
  });
}

/** Headings that kubectl makes of the columns. */
function headings(crd: CustomResourceDefinition): string[] {
  const columns = crd.spec.versions.find((version) => version.storage)?.additionalPrinterColumns ?? [];
  const names = columns.length > 0 ? columns.map((column) => column.name.toUpperCase()) : ['AGE'];
  return ['NAME', ...names];
}

function objects(): void {
  it.each(KIND_OBJECTS.map((object) => [object.kind, object] as const))('is taken, without what is unknown: %s', async (kind, object) => {
    await create({ ...object, spec: { ...object.spec, notAField: 1 } });
    const [resource, place] = [`${crdOf(kind).spec.names.plural}.${crdOf(kind).spec.group}`, placed(object)];
    const back = JSON.parse(await kubectl('get', resource, object.metadata.name, ...place, '-o', 'json')) as KindObject;
    expect(back.spec).not.toHaveProperty('notAField');
    expect(back.spec).toMatchObject(kind === 'VirtualMachineBackup' ? {} : object.spec);
    const table = await kubectl('get', resource, object.metadata.name, ...place, '-o', 'wide');
    expect(
      table
        .split('\n')[0]
        ?.trim()
        .split(/\s{2,}/),
    ).toEqual(headings(crdOf(kind)));
  });

  it('are found in `kubectl get all` where they stand in a namespace', async () => {
    const text = await kubectl('get', 'all', '-n', NAMESPACE, '-o', 'name');
    const wanted = KIND_OBJECTS.filter(({ metadata }) => metadata.namespace).map(
      ({ apiVersion, kind, metadata }) => `${kind.toLowerCase()}.${apiVersion.split('/')[0]}/${metadata.name}`,
    );
    expect(text.split('\n')).toEqual(expect.arrayContaining(wanted));
  });
}

function answers(): void {
  it.each([
    ['kubevirt.io/v1alpha3', 'VirtualMachine', 'kubevirt.io/v1alpha3 is now deprecated and will be removed in a future release.'],
    [
      'kubevirt.io/v1',
      'VirtualMachineInstancePreset',
      'kubevirt.io/v1 VirtualMachineInstancePresets is now deprecated and will be removed in v2.',
    ],
    ['export.kubevirt.io/v1beta1', 'VirtualMachineExport', 'export.kubevirt.io/v1beta1 VirtualMachineExport is now deprecated'],
  ])('warn of %s %s', async (apiVersion, kind, warning) => {
    const object = KIND_OBJECTS.find((each) => each.kind === kind) as KindObject;
    const other = { ...object, apiVersion, metadata: { ...object.metadata, name: 'warned' } };
    expect(await refused(other, '--warnings-as-errors')).toContain(`Warning: ${warning}`);
  });

  it('refuse by the rules of the schema', async () => {
    const object = KIND_OBJECTS.find((each) => each.kind === 'VirtualMachineBackup') as KindObject;
    const of = (name: string, spec: object) => ({ ...object, metadata: { ...object.metadata, name }, spec: { ...object.spec, ...spec } });
    expect(await refused(of('pull', { mode: 'Pull' }))).toContain('tokenSecretRef is required when mode is Pull');
    expect(await refused(of('nowhere', { pvcName: '' }))).toContain('pvcName is required');
    const policy = KIND_OBJECTS.find((each) => each.kind === 'MigrationPolicy') as KindObject;
    expect(await refused({ ...policy, spec: { ...policy.spec, maxDowntimeMs: 0 } })).toContain('should be greater than or equal to 1');
  });

  it('scale', async () => {
    for (const kind of ['virtualmachineinstancereplicasets', 'virtualmachinepools']) {
      expect(
        await kubectl(
          'get',
          `${kind}.${kind.includes('pool') ? 'pool.' : ''}kubevirt.io`,
          'kinds',
          '-n',
          NAMESPACE,
          '--subresource=scale',
          '-o',
          'jsonpath={.kind}',
        ),
      ).toBe('Scale');
    }
  });
}

/** Runs the lines of docs/api-types.md against the cluster. */
async function documentedLines(): Promise<string> {
  const source = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs', 'api-types.md'), 'utf8'))?.[1] ?? '';
  const file = join(ROOT, 'dist', 'documented.ts');
  writeFileSync(file, source.replace("namespace: 'default'", `namespace: '${NAMESPACE}'`));
  try {
    const env = { ...process.env, KUBECONFIG: (await cluster()).kubeconfig };
    return (await promisify(execFile)(process.execPath, ['--import', 'tsx', file], { cwd: ROOT, env })).stdout;
  } finally {
    rmSync(file);
  }
}

/** A migration is held by its controller's finalizer; what is under test here are the kinds, not that it is let go. */
async function removeAll(): Promise<void> {
  const items = [...KIND_OBJECTS].reverse();
  const migration = items.find(({ kind }) => kind === 'VirtualMachineInstanceMigration') as KindObject;
  const release = ['--type', 'merge', '-p', '{"metadata":{"finalizers":null}}'];
  await kubectl('patch', 'vmim', migration.metadata.name, ...placed(migration), ...release);
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await (await cluster()).kubectl(['delete', '-f', '-', '--ignore-not-found', '--timeout=90s'], list);
}

export function kinds(): void {
  let restoreGates = async (): Promise<void> => undefined;

  beforeAll(async () => {
    restoreGates = await setGates({ on: ['IncrementalBackup', 'Plugins'] });
    const plugin = { ...KIND_OBJECTS.find(({ kind }) => kind === 'Plugin'), metadata: { name: 'trial' } };
    await eventually('the webhooks know of the gates', async () => (await refused(plugin)) === 'accepted');
  });

  afterAll(async () => {
    try {
      await removeAll();
    } finally {
      await restoreGates();
    }
  });

  describe('each kind', establishment);
  describe('an object of each kind', objects);
  describe('the API server’s answers', answers);

  it('are read with the package’s types', async () => {
    await buildApi();
    expect(await documentedLines()).toContain('kinds Stopped');
  });
}
