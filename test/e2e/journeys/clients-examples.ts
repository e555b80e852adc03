// Manifests that users start from, as kubectl sends them with --dry-run=server: each gets the answer that is recorded for it, or where none
// is recorded it is accepted or refused with a reason. They lie beside a clone of this repository where they exist at all.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linesOf, type Outcome, runClient } from '../clients/commands.js';
import { apply, cluster, kubectl, NAMESPACE, ROOT } from '../harness.js';
import type { KindObject } from '../kind-objects.js';

const ORACLES = join(ROOT, '..', 'shared', 'oracles');
const FOLDER = join(ORACLES, 'examples');
const RECORDED = join(ORACLES, 'pairs', 'admit', 'examples.jsonl');

interface Verdict {
  readonly allowed: boolean;
  readonly causes?: readonly { readonly field: string }[];
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

/** What has to be there for an answer: nothing of it is to run. */
const surroundings = (cases: Iterable<Recorded>): object[] =>
  [...cases]
    .flatMap(({ env = [] }) => env)
    .map(({ apiVersion, kind, metadata, spec }) => ({
      apiVersion,
      kind,
      metadata: { name: metadata.name, namespace: NAMESPACE },
      spec: { ...spec, nodeSelector: { 'clients.kubevirt-ts.test/none': 'yes' } },
    }));

/** kubectl's complaint about the file, if there is one. */
function complaint({ stderr }: Outcome, file: string): string | undefined {
  return stderr.split(/^(?=Error from server|error:)/m).find((part) => part.includes(`/${file}"`));
}

const expectedOf = ({ expected }: Recorded): Verdict => expected.flow ?? expected.default;

function answers(files: readonly string[]): void {
  const verdicts = recorded(files);
  const around = surroundings(verdicts.values());
  let outcome: Outcome = { code: 0, stdout: '', stderr: '' };

  beforeAll(async () => {
    if (around.length > 0) await apply(...around);
    outcome = await runClient([(await cluster()).kubectlPath, 'create', '--dry-run=server', '-n', NAMESPACE, '-f', FOLDER]);
  });
  afterAll(async () => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: around });
    if (around.length > 0) await (await cluster()).kubectl(['delete', '-f', '-', '--timeout=60s'], list);
  });

  it.each([...verdicts].map(([file, each]) => [basename(file, '.yaml'), file, each] as const))(
    'answers as recorded: %s',
    (_name, file, each) => {
      const { allowed, causes = [] } = expectedOf(each);
      const said = complaint(outcome, file);
      if (allowed) expect(said).toBeUndefined();
      else expect(said).toContain('denied the request: ');
      for (const { field } of causes) expect(said).toContain(field);
    },
  );

  it.each(files.filter((file) => !verdicts.has(file)))('takes it or says what is wrong: %s', (file) => {
    expect(complaint(outcome, file) ?? 'taken').toMatch(/^taken$|denied the request: \S|no matches for kind "(?!Virtual)/);
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
