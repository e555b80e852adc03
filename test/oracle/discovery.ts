// Prints how far the documents of the aggregated API agree with the published ones, in the form of the other groups' comparisons: each operation
// of both versions, by its path, method, id, parameters and body. Ends with 1 where they differ otherwise than explained.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openapiV3 } from '../../src/subresources/openapi.js';
import { VERSIONS } from '../../src/subresources/verbs.js';

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly $ref?: string;
  readonly schema?: { readonly $ref?: string };
}
interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>> };
}
type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const METHODS = new Set(['get', 'put', 'post', 'delete', 'patch']);
const RECORDED = resolve(import.meta.dirname, '..', '..', '..', 'shared', 'oracles', 'api', 'swagger.json');

/** Shared parameters of the recorded document are referred to by a name that ends in a checksum. */
const nameOf = ({ name, $ref = '' }: Parameter): string => name ?? /([a-zA-Z]+)-[^/]*$/.exec($ref)?.[1] ?? $ref;
const typeOf = (ref: string | undefined): string => ref?.split('/').at(-1) ?? '';

function summaryOf(operation: Operation, shared: readonly Parameter[]): string {
  const all = [...(operation.parameters ?? []), ...shared];
  const body = all.find((p) => p.in === 'body')?.schema?.$ref ?? Object.values(operation.requestBody?.content ?? {})[0]?.schema.$ref;
  const names = all
    .filter((p) => p.in !== 'body')
    .map(nameOf)
    .sort();
  return JSON.stringify({ id: operation.operationId, parameters: [...new Set(names)], body: typeOf(body) });
}

/** `METHOD path` → what clients are generated from. */
function operationsOf(paths: Paths, prefix: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [path, item] of Object.entries(paths)) {
    if (!path.startsWith(prefix)) continue;
    const shared = (item.parameters ?? []) as readonly Parameter[];
    for (const [method, operation] of Object.entries(item)) {
      if (METHODS.has(method)) found.set(`${method.toUpperCase()} ${path}`, summaryOf(operation as Operation, shared));
    }
  }
  return found;
}

const recorded = (JSON.parse(readFileSync(RECORDED, 'utf8')) as { paths: Paths }).paths;
const differences: string[] = [];
let cases = 0;
for (const version of VERSIONS) {
  const prefix = join('/apis/subresources.kubevirt.io', version, '/');
  const theirs = operationsOf(recorded, prefix);
  const ours = operationsOf((openapiV3(version) as { paths: Paths }).paths, prefix);
  for (const key of new Set([...theirs.keys(), ...ours.keys()])) {
    cases++;
    if (theirs.get(key) !== ours.get(key))
      differences.push(`${key}: recorded ${theirs.get(key) ?? 'nothing'}, ours ${ours.get(key) ?? 'nothing'}`);
  }
}

for (const line of differences) console.log(`  ${line}`);
console.log(`discovery: ${cases - differences.length}/${cases} agree (${((100 * (cases - differences.length)) / cases).toFixed(2)} %)`);
process.exitCode = differences.length === 0 && cases > 0 ? 0 : 1;
