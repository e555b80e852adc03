// Our schemas in a real API server, without our webhooks: a copy of every CRD in a group of its own is small enough for a client-side apply,
// takes an object with every field set and gives it back whole, prunes what it does not know, and holds to its ranges and rules.
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CustomResourceDefinition, KubeObject } from '../../src/api/index.js';
import { crds, schemaOf } from '../../src/api/schema/crds.js';
import { type ClusterHandle, ensureUp } from '../cluster/cluster.js';
import { fitted, fullObject } from '../oracle/schema/fit.js';
import { outcome } from '../oracle/schema/outcome.js';
import { hasRecordings, ORACLES } from '../oracle/schema/recorded.js';

const NAMESPACE = 'kinds-test';
const GROUP = 'kinds.kubevirt-ts.test';
let cluster: ClusterHandle;

/**
 * The kind in our group, under names that kubectl does not take for the real ones. The status has no path of its own here, so that one
 * request brings all.
 */
function copyOf(crd: CustomResourceDefinition): CustomResourceDefinition {
  const { kind, plural, singular } = crd.spec.names;
  const names = { kind, plural: `copied${plural}`, singular: `copied${singular}` };
  const versions = crd.spec.versions.map(({ subresources: _s, ...version }) => version);
  return {
    ...crd,
    metadata: { name: `${names.plural}.${GROUP}` },
    spec: { ...crd.spec, group: GROUP, scope: 'Namespaced', names, versions },
  } as CustomResourceDefinition;
}

const copies = crds().map(copyOf);
const copyFor = (kind: string): CustomResourceDefinition => copies.find((crd) => crd.spec.names.kind === kind) as CustomResourceDefinition;
const stored = (kind: string): string => copyFor(kind).spec.versions.find((version) => version.storage)?.name ?? '';
const resource = (kind: string, version: string): string => `${copyFor(kind).spec.names.plural}.${version}.${GROUP}`;

interface Custom extends KubeObject {
  readonly spec?: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
}

const send = (verb: string, object: object, ...flags: string[]): Promise<string> =>
  cluster.kubectl([verb, '-n', NAMESPACE, '--validate=ignore', '-f', '-', ...flags], JSON.stringify(object));

const refusal = (object: object): Promise<string> =>
  send('create', object, '--dry-run=server').then(
    () => 'accepted',
    (err: Error) => err.message,
  );

const named = (kind: string, name: string, object: object): Custom => ({
  ...object,
  apiVersion: `${GROUP}/${stored(kind)}`,
  kind,
  metadata: { name },
});

async function roundTrip(kind: string, name: string, object: object): Promise<Custom> {
  await send('create', named(kind, name, object));
  return JSON.parse(await cluster.kubectl(['get', resource(kind, stored(kind)), name, '-n', NAMESPACE, '-o', 'json'])) as Custom;
}

beforeAll(async () => {
  cluster = await ensureUp();
  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: copies }));
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...copies.map((crd) => `crd/${crd.metadata.name}`)]);
});

afterAll(async () => {
  await cluster.kubectl(['delete', '--timeout=90s', '--ignore-not-found', ...copies.map((crd) => `crd/${crd.metadata.name}`)]);
  await cluster.kubectl(['delete', 'namespace', NAMESPACE, '--timeout=90s']);
});

describe('an object with every field set', () => {
  it.each(copies.map((crd) => crd.spec.names.kind))('comes back whole: %s', async (kind) => {
    const object = fullObject(kind, '', schemaOf(kind)) as Custom;
    const back = await roundTrip(kind, 'full', object);
    expect({ spec: back.spec, status: back.status }).toEqual({ spec: object.spec, status: object.status });
  });

  it.each(copies.flatMap((crd) => crd.spec.versions.map((version) => [crd.spec.names.kind, version.name])))(
    '%s is the same in version %s',
    async (kind, version) => {
      const of = async (which: string): Promise<Custom> =>
        JSON.parse(await cluster.kubectl(['get', resource(kind, which), 'full', '-n', NAMESPACE, '-o', 'json'])) as Custom;
      const [here, there] = [await of(version), await of(stored(kind))];
      expect(here.apiVersion).toBe(`${GROUP}/${version}`);
      expect([here.spec, here.status]).toEqual([there.spec, there.status]);
    },
  );
});

const published = globSync(`${ORACLES}/api/*/*.json`).filter((path) => !path.includes('after_roundtrip'));

describe.skipIf(!hasRecordings)('published objects', () => {
  it.each(published.map((path, at) => [basename(path), path, at] as const))(
    '%s loses what the schema does not know, and no more',
    async (_n, path, at) => {
      const given = JSON.parse(readFileSync(path, 'utf8')) as Custom & { kind: string };
      const object = fitted(given, schemaOf(given.kind)) as Custom;
      const back = await roundTrip(given.kind, `published-${at}`, object);
      expect(leaves(object, back)).toEqual(outcome(object, schemaOf(given.kind)).pruned);
    },
  );
});

/** Paths of spec and status that are in the first object but not, or differently, in the second; list items without their number. */
function leaves(before: Custom, after: Custom): string[] {
  const missing = (a: unknown, b: unknown, path: string): string[] => {
    if (typeof a !== 'object' || a === null) return a === b ? [] : [path];
    if (b === undefined) return [path];
    return Object.entries(a).flatMap(([key, value]) =>
      missing(value, (b as Record<string, unknown>)[key], Array.isArray(a) ? `${path}[]` : `${path}.${key}`),
    );
  };
  return [...missing(before.spec, after.spec, '.spec'), ...missing(before.status ?? {}, after.status ?? {}, '.status')];
}

const backup = (spec: object): object => named('VirtualMachineBackup', 'b', { spec });
const VM = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'vm' };

describe('what does not fit', () => {
  it.each<[string, () => object, string]>([
    ['a VM without template', () => named('VirtualMachine', 'x', { spec: {} }), 'spec.template: Required value'],
    [
      'a wrong type',
      () => named('VirtualMachine', 'x', { spec: { running: 'yes', template: {} } }),
      'spec.running: Invalid value: "string"',
    ],
    [
      'an unknown word',
      () => named('VirtualMachineClone', 'x', { spec: { source: VM, volumeNamePolicy: 'Mine' } }),
      'supported values: "RandomizeNames", "PrefixTargetName"',
    ],
    [
      'too little',
      () => named('VirtualMachinePool', 'x', { spec: { selector: {}, virtualMachineTemplate: {}, replicas: -1 } }),
      'should be greater than or equal to 0',
    ],
    [
      'too much',
      () => named('MigrationPolicy', 'x', { spec: { selectors: {}, maxDowntimeMs: 2_000_001 } }),
      'should be less than or equal to 2000000',
    ],
    [
      'no hook',
      () => named('Plugin', 'x', { spec: { nodeHooks: [{ socket: '/s', permittedHooks: [] }] } }),
      'should have at least 1 items',
    ],
    ['a backup of nothing', () => backup({ source: { kind: 'VirtualMachine', name: 'vm' }, pvcName: 'c' }), 'apiGroup is required'],
    [
      'a backup of a pod',
      () => backup({ source: { apiGroup: 'kubevirt.io', kind: 'Pod', name: 'p' }, pvcName: 'c' }),
      'kind must be VirtualMachine for kubevirt.io',
    ],
    ['a backup to nowhere', () => backup({ source: VM }), 'pvcName is required'],
    ['a pull without token', () => backup({ source: VM, pvcName: 'c', mode: 'Pull' }), 'tokenSecretRef is required when mode is Pull'],
    [
      'a tracker of a tracker',
      () => named('VirtualMachineBackupTracker', 'x', { spec: { source: { ...VM, kind: 'VirtualMachineBackupTracker' } } }),
      'kind must be VirtualMachine',
    ],
  ])('is refused: %s', async (_title, object, words) => {
    expect(await refusal(object())).toContain(words);
  });

  it('is a change of what never changes', async () => {
    await send('create', named('VirtualMachineBackup', 'fixed', { spec: { source: VM, pvcName: 'c' } }));
    const changed = named('VirtualMachineBackup', 'fixed', { spec: { source: VM, pvcName: 'd' } });
    await expect(send('apply', changed)).rejects.toThrow('spec is immutable after creation');
  });

  it('is pruned where the schema does not know it, and defaulted where it is missing', async () => {
    const restore = await roundTrip('VirtualMachineRestore', 'sparse', { spec: { target: VM, virtualMachineSnapshotName: 's', nope: 1 } });
    expect(restore.spec).toEqual({ target: VM, virtualMachineSnapshotName: 's', targetReadinessPolicy: 'WaitGracePeriod' });
    const machine = await roundTrip('VirtualMachine', 'sparse', {
      spec: { template: { metadata: { labels: { a: 'b' }, nope: 1 } } },
      status: { nope: 1 },
    });
    expect([machine.spec?.template, machine.status]).toEqual([
      { metadata: { labels: { a: 'b' }, nope: 1 } },
      { printableStatus: 'Stopped' },
    ]);
  });
});
