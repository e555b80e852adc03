// Manifests that users start from, as kubectl sends them with --dry-run=server: each gets the answer that is recorded for it, or where none
// is recorded it is accepted or refused with a reason. They lie beside a clone of this repository where they exist at all.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { linesOf, type Outcome, runClient } from '../clients/commands.js';
import { apply, cluster, kubectl, NAMESPACE, ROOT } from '../harness.js';
import type { KindObject } from '../kind-objects.js';

const ORACLES = join(ROOT, '..', 'shared', 'oracles');
const FOLDER = join(ORACLES, 'examples');
const RECORDED = join(ORACLES, 'pairs', 'admit', 'examples.jsonl');

interface Verdict {
  readonly allowed: boolean;
}

interface Recorded {
  readonly id: string;
  readonly object: KindObject;
  readonly env?: readonly KindObject[];
  readonly expected: { readonly default: Verdict; readonly flow?: Verdict };
}

/** The verdicts of the manifests, by file name. */
function recorded(files: readonly string[]): Map<string, Recorded> {
  const all = linesOf(readFileSync(RECORDED, 'utf8')).map((line) => JSON.parse(line) as Recorded);
  const named = all.map((each) => [`${each.id.split('/').at(-1)}.yaml`, each] as const);
  return new Map(named.filter(([file]) => files.includes(file)));
}

/** What has to be there for an answer, each once: nothing of it is to run. */
function surroundings(cases: Iterable<Recorded>): KindObject[] {
  const all = [...cases]
    .flatMap(({ env = [] }) => env)
    .map(({ apiVersion, kind, metadata, spec }) => ({
      apiVersion,
      kind,
      metadata: { name: metadata.name, ...(metadata.namespace === undefined ? {} : { namespace: NAMESPACE }) },
      spec: kind === 'VirtualMachineInstance' ? { ...spec, nodeSelector: { 'clients.kubevirt-ts.test/none': 'yes' } } : spec,
    }));
  return [...new Map(all.map((each) => [`${each.kind} ${each.metadata.name}`, each])).values()];
}

/** What came of a file: 'accepted' where every object of it is reported as created, else kubectl's complaint. */
function answerTo({ stdout, stderr }: Outcome, file: string): string {
  const names = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map(
    (document) => (document.toJS() as KindObject).metadata.name,
  );
  if (names.every((name) => stdout.includes(`/${name} created (server dry run)`))) return 'accepted';
  return stderr.split(/^(?=Error from server|error:)/m).find((part) => part.includes(`/${file}"`)) ?? `no answer: ${stderr}`;
}

const create = async (files: readonly string[]): Promise<Outcome> => {
  const flags = files.flatMap((file) => ['-f', join(FOLDER, file)]);
  return await runClient([(await cluster()).kubectlPath, 'create', '--dry-run=server', '-n', NAMESPACE, ...flags]);
};

function answers(files: readonly string[]): void {
  const verdicts = recorded(files);
  const around = surroundings(verdicts.values());
  const dependent = files.filter((file) => verdicts.get(file)?.env);
  const said = new Map<string, string>();

  beforeAll(async () => {
    const independent = files.filter((file) => !dependent.includes(file));
    const alone = await create(independent);
    for (const file of independent) said.set(file, answerTo(alone, file));
    if (around.length > 0) await apply(...around);
    const together = await create(dependent);
    for (const file of dependent) said.set(file, answerTo(together, file));
  });
  afterAll(async () => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: around });
    if (around.length > 0) await (await cluster()).kubectl(['delete', '-f', '-', '--ignore-not-found', '--timeout=60s'], list);
  });

  it.each([...verdicts].map(([file, each]) => [basename(file, '.yaml'), file, each] as const))(
    'answers as recorded: %s',
    (_name, file, each) => {
      const { allowed } = each.expected.flow ?? each.expected.default;
      expect(said.get(file)).toMatch(allowed ? /^accepted$/ : /denied the request: \S/);
    },
  );

  it.each(files.filter((file) => !verdicts.has(file)))('takes it or says what is wrong: %s', (file) => {
    expect(said.get(file)).toMatch(/^accepted$|denied the request: \S|no matches for kind "(?!Virtual)/);
  });

  it('leaves nothing behind', async () => {
    const there = linesOf(await kubectl('get', 'vm,vmirs,vmpool', '-n', NAMESPACE, '-o', 'name'));
    const names = [...verdicts.values()].map(({ object }) => object.metadata.name);
    expect(there.filter((each) => names.includes(each.split('/')[1] ?? ''))).toEqual([]);
  });
}

export function examples(): void {
  if (existsSync(FOLDER)) {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
    describe('the manifests that users start from', () => answers(files));
    return;
  }
  it.skipIf(process.env.CI !== 'true')(`there are no manifests at ${FOLDER}`, () => expect(existsSync(FOLDER)).toBe(true));
}
