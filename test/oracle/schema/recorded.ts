// The recorded CustomResourceDefinitions, where recordings exist, and how ours differ from them. Descriptions are each project's own.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import type { CustomResourceDefinition } from '../../../src/api/index.js';
import type { Schema } from '../../../src/api/schema/resolve.js';

/** Beside a clone of this repository. */
export const ORACLES = join(import.meta.dirname, '..', '..', '..', '..', 'shared', 'oracles');
export const hasRecordings = existsSync(ORACLES);

/** Belongs to another project, whose installation is an option of the reference (docs/adr/0008). */
const FOREIGN = /\.template\.kubevirt\.io\.yaml$/;

export function recordedCrds(): CustomResourceDefinition[] {
  return globSync(join(ORACLES, 'pairs', 'install', '*', 'customresourcedefinition.*.yaml'))
    .filter((path) => !FOREIGN.test(basename(path)))
    .sort()
    .map((path) => parse(readFileSync(path, 'utf8')) as CustomResourceDefinition);
}

export function schemaIn(crd: CustomResourceDefinition, version: string): Schema {
  const found = crd.spec.versions.find((each) => each.name === version);
  return (found?.schema?.openAPIV3Schema ?? {}) as Schema;
}

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The recording put a fixed time wherever a key of this name stood, also in place of the schema of a field. */
const OVERWRITTEN = 'phaseTransitionTimestamp';
/** Lists whose order says nothing. */
const UNORDERED = new Set(['required', 'enum', 'categories']);

function plain(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(item));
    return UNORDERED.has(key) ? items.sort() : items;
  }
  if (!isNode(value)) return value;
  const entries = Object.entries(value).filter(
    ([name, child]) => name !== OVERWRITTEN && !(name === 'description' && typeof child === 'string'),
  );
  return Object.fromEntries(entries.map(([name, child]) => [name, plain(child, name)]));
}

function* differences(want: unknown, have: unknown, path: string): Iterable<string> {
  if (isNode(want) && isNode(have)) {
    for (const key of new Set([...Object.keys(want), ...Object.keys(have)])) yield* differences(want[key], have[key], `${path}.${key}`);
  } else if (Array.isArray(want) && Array.isArray(have) && want.length === have.length) {
    for (const [at, item] of want.entries()) yield* differences(item, have[at], `${path}[${at}]`);
  } else if (JSON.stringify(want) !== JSON.stringify(have)) {
    yield `${path}: recorded ${JSON.stringify(want) ?? 'nothing'}, ours ${JSON.stringify(have) ?? 'nothing'}`;
  }
}

/** Where ours differs from the recorded one. */
export function crdDifferences(recorded: CustomResourceDefinition, ours: CustomResourceDefinition | undefined): string[] {
  return ours ? [...differences(plain(recorded), plain(ours), recorded.metadata.name ?? '')] : [`${recorded.metadata.name}: missing`];
}
