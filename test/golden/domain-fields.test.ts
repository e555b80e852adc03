// Every field of a VMI's domain, its volumes and its networks: each changes the XML, or is listed with the reason why not. A field that the API
// gains fails here until it has a row.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { schemaOf } from '../../src/api/schema/crds.js';
import type { Schema } from '../../src/api/schema/resolve.js';
import { KvError } from '../../src/base/errors.js';
import { renderDomainXml } from '../../src/core/converter/index.js';
import { factsOf, type GuestParts, guest } from '../builders/domain.js';
import { CONTEXTS, ELSEWHERE, FACTS, FIELDS } from './domain-fields.js';

const SPEC = schemaOf('VirtualMachineInstance').properties?.spec as Schema;

/** Paths of what has no fields of its own. */
function leavesOf(schema: Schema, path: string): string[] {
  if (schema.items) return leavesOf(schema.items, `${path}[]`);
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return [path];
  return fields.flatMap(([key, field]) => leavesOf(field, path === '' ? key : `${path}.${key}`));
}

const PARTS: readonly [string, Schema | undefined][] = [
  ['', SPEC.properties?.domain],
  ['volumes[]', SPEC.properties?.volumes?.items],
  ['networks[]', SPEC.properties?.networks?.items],
];
const LEAVES = PARTS.flatMap(([path, schema]) => leavesOf(schema as Schema, path));

type Holder = Record<string, unknown>;

/** `devices.disks[].io` is of the first disk; what is missing on the way is made. */
function setAt(vmi: VirtualMachineInstance, path: string, value: unknown): void {
  const isOfSpec = /^(volumes|networks)\[/.test(path);
  let holder = (isOfSpec ? vmi.spec : vmi.spec.domain) as unknown as Holder;
  const keys = path.replaceAll('[]', '.0').split('.');
  for (const [i, key] of keys.slice(0, -1).entries()) {
    if (value === undefined && holder[key] === undefined) return;
    holder[key] ??= keys[i + 1] === '0' ? [] : {};
    holder = holder[key] as Holder;
  }
  const last = keys.at(-1) ?? '';
  if (value === undefined) delete holder[last];
  else holder[last] = value;
}

function xmlWith(parts: GuestParts, path: string, value: unknown): string {
  const vmi = structuredClone(guest(parts));
  setAt(vmi, path, value);
  const hostArch = vmi.spec.architecture === 's390x' ? 's390x' : 'amd64';
  return renderDomainXml(vmi, factsOf({ ...FACTS, hostArch }));
}

/** Without the field there may be no domain at all. */
function outcomeWith(parts: GuestParts, path: string, value: unknown): string {
  try {
    return xmlWith(parts, path, value);
  } catch (err) {
    if (err instanceof KvError) return err.message;
    throw err;
  }
}

describe('every field', () => {
  it('has a row or a reason, and no row is of a field that is gone', () => {
    const known = [...FIELDS.map(([path]) => path), ...ELSEWHERE.map(({ path }) => path)];
    expect([...new Set(known)].sort()).toEqual([...LEAVES].sort());
  });

  it.each(FIELDS.map(([path, values, context = 'plain']) => ({ path, values, context })))('$path', ({ path, values, context }) => {
    const parts = CONTEXTS[context] ?? {};
    const [value, other] = Array.isArray(values) ? values : [values, undefined];
    expect(xmlWith(parts, path, value)).not.toBe(outcomeWith(parts, path, other));
  });

  it.each(ELSEWHERE.filter(({ value }) => value !== undefined))('$path is for others: $why', ({ path, value, context }) => {
    const parts = CONTEXTS[context ?? 'plain'] ?? {};
    expect(xmlWith(parts, path, value)).toBe(xmlWith(parts, path, undefined));
  });
});
