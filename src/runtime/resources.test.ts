import { describe, expect, it } from 'vitest';
import { KINDS } from '../api/schema/kinds/index.js';
import * as resources from './resources.js';
import type { Resource } from './types.js';

const named = Object.values(resources) as Resource<never>[];

describe('resources', () => {
  it.each(KINDS.map((row) => [row.kind, row] as const))('name %s as its CRD does', (kind, row) => {
    const found = named.find((resource) => resource.kind === kind);
    expect(found).toMatchObject({ group: row.group, plural: row.plural, namespaced: row.namespaced });
    expect(row.versions.map((version) => version.name)).toContain(found?.version);
  });
});
