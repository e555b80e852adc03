// kubectl, in the cluster's version and in the newest, over one object of every kind: what each way to write an object makes of it, what
// would be written, what is different, scale, and waiting. What the kinds' own journey shows is not repeated.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualMachinePool } from '../../../src/api/index.js';
import { linesOf, type Outcome, runClient } from '../clients/commands.js';
import { newestKubectl } from '../clients/prepare.js';
import { cluster, find, NAMESPACE } from '../harness.js';
import { KIND_OBJECTS, type KindObject } from '../kind-objects.js';

/** One after the other: of a List kubectl checks the fields by itself, and takes no part of an object. */
const documents = (objects: readonly object[]): string => objects.map((object) => JSON.stringify(object)).join('\n---\n');
const ALL = documents(KIND_OBJECTS);
const STDIN = ['-f', '-'];
/** What the pool and the replica set are called for `scale`. */
const SCALED = ['vmirs/kinds', 'virtualmachinepools.pool.kubevirt.io/kinds'] as const;

type Kubectl = (args: readonly string[], input?: string) => Promise<Outcome>;

const nameOf = ({ kind, apiVersion, metadata }: KindObject): string => `${kind.toLowerCase()}.${apiVersion.split('/')[0]}/${metadata.name}`;
/** A line for each kind but those left out, as kubectl prints after it has written. */
const each = (done: string, ...without: readonly string[]): string[] =>
  KIND_OBJECTS.filter(({ kind }) => !without.includes(kind)).map((object) => `${nameOf(object)} ${done}`);

/** Each with a label more. */
const labelled = (label: string, value: string): string =>
  documents(KIND_OBJECTS.map((object) => ({ ...object, metadata: { ...object.metadata, labels: { [label]: value } } })));

/** Of each no more than its name and a label: what a second manager owns. */
const labelOnly = (label: string, value: string): string =>
  documents(
    KIND_OBJECTS.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata: { ...metadata, labels: { [label]: value } } })),
  );

function writing(kubectl: Kubectl): void {
  const writes = async (args: readonly string[], done: string): Promise<void> => {
    const { stdout, stderr } = await kubectl([...args, ...STDIN], ALL);
    expect(linesOf(stdout), stderr).toEqual(each(done));
  };

  it('says what it would create, and creates nothing', async () => {
    const { stdout, stderr } = await kubectl(['apply', '--dry-run=server', ...STDIN], ALL);
    expect(linesOf(stdout), stderr).toEqual(each('created (server dry run)', 'VirtualMachineInstanceMigration'));
    expect(stderr).toContain('the VMI "e2e/kinds-alone" does not exist'); // for it would only be created
    expect((await kubectl(['get', ...STDIN, '--ignore-not-found', '-o', 'name'], ALL)).stdout).toBe('');
  });

  it('applies: creates, and finds nothing to change the second time', async () => {
    await writes(['apply'], 'created');
    await writes(['apply'], 'unchanged');
  });

  it('replaces an object by itself, but for an instance, which would lose its defaults', async () => {
    const { stdout, stderr } = await kubectl(['replace', ...STDIN], ALL);
    expect(linesOf(stdout), stderr).toEqual(each('replaced', 'VirtualMachineInstance'));
    expect(stderr).toContain('update of VMI object is restricted');
  });

  it('sees no difference where there is none, and the one that there is', async () => {
    expect(await kubectl(['diff', ...STDIN], ALL)).toMatchObject({ code: 0, stdout: '' });
    const { code, stdout } = await kubectl(['diff', ...STDIN], labelled('differs', 'yes'));
    expect(code).toBe(1);
    expect(stdout.match(/^\+ {4}differs: "yes"$/gm)).toHaveLength(KIND_OBJECTS.length);
  });

  it('patches by merging and by operations', async () => {
    await writes(['patch', '--type=merge', '-p', '{"metadata":{"labels":{"merged":"yes"}}}'], 'patched');
    await writes(['patch', '--type=json', '-p', '[{"op":"add","path":"/metadata/labels/added","value":"yes"}]'], 'patched');
    const labels = await kubectl(
      ['get', ...STDIN, '-o', 'jsonpath={range .items[*]}{.metadata.labels.merged}{.metadata.labels.added} {end}'],
      ALL,
    );
    expect(labels.stdout.trim().split(' ')).toEqual(KIND_OBJECTS.map(() => 'yesyes'));
  });
}

function serverSideApply(kubectl: Kubectl): void {
  const apply = (manager: string, objects: string, ...flags: string[]): Promise<Outcome> =>
    kubectl(['apply', '--server-side', `--field-manager=${manager}`, ...flags, ...STDIN], objects);

  it('applies on the server: one manager beside another, and a conflict that names it', async () => {
    const first = await apply('first', labelled('owned', 'one'));
    expect(linesOf(first.stdout), first.stderr).toEqual(each('serverside-applied'));
    const { code, stderr } = await apply('second', labelOnly('owned', 'two'));
    expect(code).toBe(1);
    expect(stderr.match(/conflict with "first": \.metadata\.labels\.owned/g), stderr).toHaveLength(KIND_OBJECTS.length);
    const forced = await apply('second', labelOnly('owned', 'two'), '--force-conflicts');
    expect(linesOf(forced.stdout), forced.stderr).toEqual(each('serverside-applied'));
  });

  it('waits for what is there', async () => {
    const { stdout } = await kubectl(['wait', ...STDIN, '--for=jsonpath={.metadata.labels.owned}=two', '--timeout=20s'], ALL);
    expect(linesOf(stdout)).toEqual(each('condition met'));
  });
}

function restOfIt(kubectl: Kubectl): void {
  it('scales what has a scale', async () => {
    const pool = async () => (await find<VirtualMachinePool>('virtualmachinepools.pool.kubevirt.io', 'kinds'))?.spec.replicas;
    const scale = (from: number, to: number) =>
      kubectl(['scale', `--current-replicas=${from}`, `--replicas=${to}`, '-n', NAMESPACE, ...SCALED]);
    expect(linesOf((await scale(0, 1)).stdout)).toHaveLength(SCALED.length);
    expect(await pool()).toBe(1);
    expect((await scale(0, 2)).stderr).toContain('Expected replicas to be 0, was 1');
    expect((await scale(1, 0)).code).toBe(0);
    expect(await pool()).toBe(0);
    expect((await kubectl(['scale', '--replicas=2', '-n', NAMESPACE, 'vm/kinds'])).code).toBe(1);
  });

  it('explains down to the last field', async () => {
    const { stdout } = await kubectl(['explain', 'vm.spec.template.spec.domain.devices.disks.disk.bus']);
    expect(stdout).toContain('FIELD: bus <string>');
    expect((await kubectl(['explain', 'vmi.spec', '--recursive'])).stdout).toMatch(/^ {2}terminationGracePeriodSeconds\t<integer>$/m);
  });

  it('deletes: first as if, then all', async () => {
    const { stdout } = await kubectl(['delete', ...STDIN, '--dry-run=server'], ALL);
    expect(linesOf(stdout)).toHaveLength(KIND_OBJECTS.length);
    const { code, stderr } = await kubectl(['delete', ...STDIN, '--timeout=90s'], documents([...KIND_OBJECTS].reverse()));
    expect(code, stderr).toBe(0);
  });
}

/** `locate` gives the program; its version must be the expected one, which is asked of the cluster or of the package. */
function versionOf(title: string, locate: () => Promise<string>): void {
  let path = '';
  const kubectl: Kubectl = (args, input) => runClient([path, ...args], input);
  describe(title, () => {
    beforeAll(async () => {
      path = await locate();
    });
    afterAll(async () => void (await kubectl(['delete', ...STDIN, '--ignore-not-found', '--timeout=90s'], ALL)));

    it('is the version that it is meant to be', async () => {
      const { clientVersion, serverVersion } = JSON.parse((await kubectl(['version', '-o', 'json'])).stdout) as Record<
        'clientVersion' | 'serverVersion',
        { gitVersion: string }
      >;
      if (locate === newestKubectl) expect(clientVersion.gitVersion).not.toBe(serverVersion.gitVersion);
      else expect(clientVersion.gitVersion).toBe(serverVersion.gitVersion);
    });
    writing(kubectl);
    serverSideApply(kubectl);
    restOfIt(kubectl);
  });
}

export function kubectls(): void {
  versionOf('kubectl of the cluster’s version', async () => (await cluster()).kubectlPath);
  versionOf('kubectl of the newest version', newestKubectl);
}
