// Our CRDs beside the recorded ones and the published objects with every field set, where these exist; and objects of our own with every
// field set, always.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compareQuantities, isQuantity, type VirtualMachine, type VirtualMachineInstance } from '../../src/api/index.js';
import { crds, schemaOf } from '../../src/api/schema/crds.js';
import { KINDS } from '../../src/api/schema/kinds/index.js';
import { clusterConfig } from '../../src/core/config/cluster-config.js';
import { defaultVm } from '../../src/core/defaults/vm.js';
import { defaultVmiSpec } from '../../src/core/defaults/vmi-spec.js';
import { agreementOf } from './schema/agreement.js';
import { fitted, fullObject } from './schema/fit.js';
import { outcome } from './schema/outcome.js';
import { hasRecordings, ORACLES, recordedCrds, schemaIn } from './schema/recorded.js';

const NOTHING = { pruned: [], refused: [] };
const recorded = hasRecordings ? recordedCrds() : [];
if (!hasRecordings) console.warn(`there are no recordings at ${ORACLES}: CRDs are not compared with recorded ones`);

describe('objects with every field set', () => {
  it.each(KINDS.map((row) => row.kind))('are taken whole: %s', (kind) => {
    expect(outcome(fullObject(kind, 'v1', schemaOf(kind)), schemaOf(kind))).toEqual(NOTHING);
  });
});

describe.skipIf(!hasRecordings)('recorded CRDs', () => {
  it('are there', () => expect(recorded.length).toBeGreaterThan(0));

  it.each(recorded.map((crd) => [crd.metadata.name ?? '', crd] as const))('%s is as ours', (name, crd) => {
    const ours = crds().find(({ metadata }) => metadata.name === name);
    expect(agreementOf(crd, ours).differences).toEqual([]);
  });
});

interface Published {
  readonly kind: string;
  readonly spec?: unknown;
  readonly status?: unknown;
}
const read = (path: string): Published => JSON.parse(readFileSync(path, 'utf8')) as Published;
const paths = globSync(join(ORACLES, 'api', '*', '*.json')).filter((path) => !path.includes('after_roundtrip'));

/** What the object becomes by pruning is published for those that have fields which no longer exist. */
function withoutPruned(path: string): Published {
  const after = path.replace('.json', '.after_roundtrip.json');
  return globSync(after).length > 0 ? read(after) : read(path);
}

describe.skipIf(!hasRecordings)('published objects', () => {
  it('are there', () => expect(paths.length).toBeGreaterThan(0));

  it.each(paths.map((path) => [basename(path), path] as const))('%s loses nothing', (_name, path) => {
    const object = withoutPruned(path);
    const schema = schemaOf(object.kind);
    expect(outcome(object, schema).pruned).toEqual([]);
    expect(outcome(fitted(object, schema) as object, schema)).toEqual(NOTHING);
  });

  it.each(paths.map((path) => [basename(path), path] as const))(
    '%s is refused for its placeholders only, as by the recorded schema',
    (_name, path) => {
      const object = read(path);
      const theirs = recorded.find((crd) => crd.spec.names.kind === object.kind);
      const version = theirs?.spec.versions[0]?.name ?? '';
      const want = theirs ? outcome(object, schemaIn(theirs, version)) : outcome(object, schemaOf(object.kind));
      expect(outcome(object, schemaOf(object.kind))).toEqual(want);
      expect(want.refused.filter((problem) => /: (type|required|duplicate)$/.test(problem))).toEqual([]);
    },
  );
});

const isSameQuantity = (a: unknown, b: unknown): boolean => isQuantity(a) && isQuantity(b) && compareQuantities(a, b) === 0;

/** Paths whose value is gone or another one; quantities may be written in another way. */
function* lost(before: unknown, after: unknown, path: string): Iterable<string> {
  if (typeof before !== 'object' || before === null) {
    if (before !== after && !isSameQuantity(before, after)) yield path;
    return;
  }
  for (const [key, value] of Object.entries(before))
    yield* lost(value, (after as Record<string, unknown> | undefined)?.[key], `${path}.${key}`);
}

const randomUuid = (): string => '00000000-0000-4000-8000-000000000000';
const config = clusterConfig();

function defaulted(object: VirtualMachine | VirtualMachineInstance): object {
  if (object.kind === 'VirtualMachine') return defaultVm(object as VirtualMachine, config, { creating: true, randomUuid });
  const spec = defaultVmiSpec((object as VirtualMachineInstance).spec, config);
  if (!spec.ok) throw new Error(spec.error);
  return { ...object, spec: spec.value };
}

describe('our defaults', () => {
  const ofKind = (kind: string) => fullObject(kind, 'kubevirt.io/v1', schemaOf(kind)) as unknown as VirtualMachine;
  const published = paths.map((path) => [basename(path), read(path) as unknown as VirtualMachine] as const);
  it.each([
    ['VirtualMachine', ofKind('VirtualMachine')] as const,
    ['VirtualMachineInstance', ofKind('VirtualMachineInstance')] as const,
    ...published.filter(([, { kind }]) => kind !== 'KubeVirt'),
  ])('keep what is set and fit the schema: %s', (_name, object) => {
    const after = defaulted(object);
    expect([...lost(object, after, '')]).toEqual([]);
    expect(outcome(after, schemaOf(object.kind ?? ''))).toEqual(outcome(object, schemaOf(object.kind ?? '')));
  });
});
