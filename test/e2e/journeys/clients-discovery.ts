// What clients learn of the API before they use it: groups, resources, OpenAPI documents of both versions. And the API server's own log,
// which has to show no failure to read ours.
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crds } from '../../../src/api/schema/crds.js';
import { SUBRESOURCE_ROWS } from '../access-matrix.js';
import { linesOf, runClient } from '../clients/commands.js';
import { cluster, eventually, kubectl } from '../harness.js';

const GROUP = 'subresources.kubevirt.io';
const VERSIONS = ['v1', 'v1alpha3'] as const;
/** Served, and not in the lists of resources: as in KubeVirt, whose clients know them without. */
const UNLISTED = [
  ...['addvolume', 'removevolume', 'memorydump', 'removememorydump', 'portforward'].map((verb) => `virtualmachines/${verb}`),
  ...['usbredir', 'vsock'].map((verb) => `virtualmachineinstances/${verb}`),
  ...['version', 'guestfs'],
];
const startOf = (version: string): string => `/apis/${GROUP}/${version}/namespaces/{namespace}/virtualmachines/{name}/start`;

interface OpenApi {
  readonly paths: Record<string, object>;
  readonly definitions?: Record<string, Definition>;
  readonly components?: { readonly schemas?: Record<string, Definition> };
}

interface Definition {
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
}

const raw = async <T>(path: string): Promise<T> => JSON.parse(await kubectl('get', '--raw', path)) as T;
const kindsIn = (definitions: Record<string, Definition> = {}): string[] =>
  Object.values(definitions).flatMap((each) =>
    (each['x-kubernetes-group-version-kind'] ?? []).map(({ group, version, kind }) => `${group}/${version} ${kind}`),
  );
const served = crds().flatMap(({ spec }) =>
  spec.versions.filter((version) => version.served).map((version) => `${spec.group}/${version.name} ${spec.names.kind}`),
);
const groupVersions = [...new Set(served.map((each) => each.split(' ')[0] ?? ''))];

function resources(): void {
  it('lists every kind by its names and categories, without an error', async () => {
    const { stdout, stderr, code } = await runClient([(await cluster()).kubectlPath, 'api-resources', '-o', 'wide', '--no-headers']);
    expect([code, stderr]).toEqual([0, '']);
    const rows = linesOf(stdout);
    for (const { spec } of crds()) {
      const version = spec.versions.find((each) => each.storage)?.name;
      const row = rows.find((each) => each.startsWith(`${spec.names.plural} `) && each.includes(` ${spec.group}/`)) ?? '';
      expect(row, `${spec.names.kind} ${version}`).toContain(` ${spec.names.kind} `);
      expect(row).toContain([...(spec.names.shortNames ?? [])].join(','));
      expect(row).toContain((spec.names.categories ?? []).join(','));
    }
  });

  it('knows the subresources in both versions', async () => {
    const group = await raw<{ versions: { version: string }[]; preferredVersion: { version: string } }>(`/apis/${GROUP}`);
    expect([group.versions.map(({ version }) => version).sort(), group.preferredVersion.version]).toEqual([[...VERSIONS], 'v1']);
    const names = SUBRESOURCE_ROWS.map(({ resource, subresource }) => (subresource ? `${resource}/${subresource}` : resource));
    for (const version of VERSIONS) {
      const { resources: list } = await raw<{ resources: { name: string }[] }>(`/apis/${GROUP}/${version}`);
      expect(list.map(({ name }) => name).sort()).toEqual(names.filter((name) => !UNLISTED.includes(name)).sort());
    }
  });
}

function documents(): void {
  it('describes every kind and the subresources in OpenAPI v3', async () => {
    const { paths } = await raw<{ paths: Record<string, { serverRelativeURL: string }> }>('/openapi/v3');
    const read = async (groupVersion: string): Promise<OpenApi> => {
      const document = await raw<OpenApi>(paths[`apis/${groupVersion}`]?.serverRelativeURL ?? `no document of ${groupVersion}`);
      expect(danglingIn(document), groupVersion).toEqual([]);
      return document;
    };
    const kinds: string[] = [];
    for (const groupVersion of groupVersions) kinds.push(...kindsIn((await read(groupVersion)).components?.schemas));
    expect(kinds).toEqual(expect.arrayContaining(served));
    for (const version of VERSIONS) expect(Object.keys((await read(`${GROUP}/${version}`)).paths)).toContain(startOf(version));
  });

  it('describes them in OpenAPI v2, the subresources in their first version', async () => {
    // The API server writes this one anew some time after a kind has come.
    const missing = async (): Promise<string[]> => {
      const { paths, definitions } = await raw<OpenApi>('/openapi/v2');
      const there = new Set([...Object.keys(paths), ...kindsIn(definitions)]);
      return [startOf('v1'), ...served].filter((each) => !there.has(each));
    };
    await eventually('all is there', async () => {
      const names = await missing();
      if (names.length > 0) throw new Error(`without ${names.join(', ')}`);
      return true;
    });
  });
}

/** References within the document that lead nowhere. */
function danglingIn(document: OpenApi): string[] {
  const targets = new Set(Object.keys(document.components?.schemas ?? {}).map((name) => `#/components/schemas/${name}`));
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = '']) => reference);
  return references.filter((reference) => !targets.has(reference));
}

/** Of a client that went away while it was read to. */
const NO_COMPLAINT = /Timeout or abort while handling|Post-timeout activity/;

/** Runs around the clients' journeys: what the API server has logged meanwhile. */
export function watchApiServer(): void {
  let [file, from] = ['', 0];

  beforeAll(async () => {
    file = join((await cluster()).logsDir, 'kube-apiserver.log');
    from = statSync(file).size;
  });
  afterAll(async () => {
    const handle = await open(file);
    const { buffer } = await handle.read(Buffer.alloc(statSync(file).size - from), 0, null, from);
    await handle.close();
    const lines = linesOf(buffer.toString('utf8')).filter((line) => /openapi/i.test(line) && /err|fail/i.test(line));
    expect(lines.filter((line) => !NO_COMPLAINT.test(line))).toEqual([]);
  });
}

export function discovery(): void {
  describe('discovery', resources);
  describe('the documents', documents);
}
