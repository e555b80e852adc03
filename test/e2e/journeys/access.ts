// Who may do what, asked of the API server: the default roles by SubjectAccessReview, and the node agent's token on another node.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Pod, SubjectAccessReview } from '../../../src/api/index.js';
import { scratchDir } from '../../fakes/scratch.js';
import { CLUSTER_ROLE, KIND_ROWS, type Question, ROLES, type RoleName, SUBRESOURCE_ROWS, titleOf } from '../access-matrix.js';
import { apply, cluster, eventually, kubectl, list, NAMESPACE } from '../harness.js';

const AUTHENTICATED = 'system:authenticated';
const RBAC = 'rbac.authorization.k8s.io';
const userOf = (role: string): string => `access-${role}`;
/** Bound by the installation to everybody who is logged in. */
const EVERYBODY: readonly RoleName[] = ['default', 'instancetype'];
const BOUND = ROLES.filter((role) => !EVERYBODY.includes(role));
/** Kubernetes' own roles, into which ours are aggregated. */
const AGGREGATED = ['admin', 'edit', 'view'] as const;

const bindings = (): object[] => [
  ...BOUND.map((role) => binding(role, CLUSTER_ROLE[role])),
  ...AGGREGATED.map((role) => binding(`plain-${role}`, role)),
];

const binding = (name: string, role: string): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name: userOf(name), namespace: NAMESPACE },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: RBAC, kind: 'User', name: userOf(name) }],
});

const review = (user: string, groups: readonly string[], question: Question): SubjectAccessReview => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  metadata: {},
  spec: {
    user,
    groups: [...groups],
    resourceAttributes: {
      group: question.group,
      resource: question.resource,
      verb: question.verb,
      ...(question.subresource ? { subresource: question.subresource } : {}),
      ...(question.namespaced ? { namespace: NAMESPACE } : {}),
    },
  },
});

/** In the order of the questions. kubectl prints what it created one object after the other. */
async function ask(reviews: readonly SubjectAccessReview[]): Promise<boolean[]> {
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: reviews });
  const text = await (await cluster()).kubectl(['create', '-f', '-', '-o', 'json'], body);
  const answers = JSON.parse(`[${text.replace(/^\}\n\{$/gm, '},\n{')}]`) as SubjectAccessReview[];
  return answers.map(({ status }) => status?.allowed === true);
}

/** `verb resource` lines that are allowed. */
async function allowed(user: string, groups: readonly string[], rows: readonly Question[]): Promise<string[]> {
  const answers = await ask(rows.map((row) => review(user, groups, row)));
  return rows.filter((_, at) => answers[at]).map(titleOf);
}

const ALL_ROWS = [...SUBRESOURCE_ROWS, ...KIND_ROWS];
const expectedFor = (roles: readonly RoleName[]): string[] =>
  ALL_ROWS.filter((row) => row.allowed.some((role) => roles.includes(role))).map(titleOf);

export function access(): void {
  describe('default roles', () => {
    beforeAll(async () => await apply(...bindings()));
    afterAll(
      async () =>
        void (await kubectl(
          'delete',
          'rolebinding',
          '-n',
          NAMESPACE,
          ...[...BOUND, ...AGGREGATED.map((role) => `plain-${role}`)].map(userOf),
        )),
    );

    it.each(BOUND)('%s: exactly what the matrix says, in its namespace', async (role) => {
      const rows = ALL_ROWS.filter(({ namespaced }) => namespaced);
      const expected = rows.filter((row) => row.allowed.includes(role)).map(titleOf);
      expect(await allowed(userOf(role), [], rows)).toEqual(expected);
    });

    it.each(AGGREGATED)("Kubernetes' own role %s includes ours", async (role) => {
      const rows = SUBRESOURCE_ROWS.filter(({ namespaced, allowed: roles }) => namespaced && roles.includes(role));
      expect(await allowed(userOf(`plain-${role}`), [], rows)).toEqual(rows.map(titleOf));
    });

    it('everybody who is logged in may ask for the version, read the KubeVirt CR and choose an instance type', async () => {
      expect(await allowed('somebody', [AUTHENTICATED], ALL_ROWS)).toEqual(expectedFor(EVERYBODY));
    });

    it('a stranger may nothing', async () => {
      expect(await allowed('system:anonymous', ['system:unauthenticated'], ALL_ROWS)).toEqual([]);
    });
  });

  describe('node restriction', nodeRestriction);
}

interface KubeConfig {
  readonly users: { name: string; user: object }[];
}

function nodeRestriction(): void {
  const folder = scratchDir();
  const kubeconfig = join(folder, 'kubeconfig');
  let [own, other] = ['', ''];

  beforeAll(async () => {
    const agents = await list<Pod>('pods', '-n', 'kubevirt', '-l', 'kubevirt.io=virt-handler');
    const nodes = (await list('nodes')).map(({ metadata }) => metadata.name ?? '');
    const agent = agents[0];
    own = agent?.spec?.nodeName ?? '';
    other = nodes.find((name) => name !== own) ?? '';
    const name = agent?.metadata.name ?? '';
    const token = await kubectl(
      'create',
      'token',
      'kubevirt-handler',
      '-n',
      'kubevirt',
      '--bound-object-kind=Pod',
      `--bound-object-name=${name}`,
    );
    const config = parse(readFileSync((await cluster()).kubeconfig, 'utf8')) as KubeConfig;
    const users = config.users.map((user) => ({ name: user.name, user: { token: token.trim() } }));
    writeFileSync(kubeconfig, stringify({ ...config, users }), { mode: 0o600 });
  });

  const asAgent = (...args: string[]): Promise<string> => kubectl(...args, `--kubeconfig=${kubeconfig}`);
  const patch = (node: string, metadata: object, spec?: object): Promise<string> =>
    asAgent('patch', 'node', node, '--type=merge', '-p', JSON.stringify({ metadata, ...(spec ? { spec } : {}) }));

  it('lets an agent label its own node with our labels', async () => {
    await patch(own, { labels: { 'access-test.kubevirt.io/mark': 'on' }, annotations: { 'access-test.kubevirt.io/mark': 'on' } });
    await patch(own, { labels: { 'access-test.kubevirt.io/mark': null }, annotations: { 'access-test.kubevirt.io/mark': null } });
  });

  it.each([
    [
      'another node',
      (): Promise<string> => patch(other, { labels: { 'kubevirt.io/schedulable': 'false' } }),
      'this user cannot modify this node',
    ],
    ['a foreign label', (): Promise<string> => patch(own, { labels: { zone: 'mine' } }), 'cannot add/delete non kubevirt-owned labels'],
    [
      'the value of a foreign label',
      (): Promise<string> => patch(own, { labels: { 'kubernetes.io/hostname': 'other' } }),
      'cannot update non kubevirt-owned labels',
    ],
    [
      'a foreign annotation',
      (): Promise<string> => patch(own, { annotations: { note: 'mine' } }),
      'cannot add/delete non kubevirt-owned annotations',
    ],
    ['its taints', (): Promise<string> => patch(own, {}, { unschedulable: true }), 'this user cannot modify spec of node'],
    ['its owners', (): Promise<string> => patch(own, { finalizers: ['a.example/b'] }), 'only change allowed metadata fields'],
  ])('refuses it %s', async (_title, act, message) => {
    await expect(act()).rejects.toThrow(message);
  });

  it('refuses it a machine of another node', async () => {
    const machine = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstance',
      metadata: { name: 'elsewhere', namespace: NAMESPACE },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': 'nowhere' },
        domain: { memory: { guest: '64Mi' }, devices: {} },
      },
    };
    await apply(machine);
    try {
      const path = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstances/elsewhere`;
      const handle = await cluster();
      // The controllers write to it too: then our version is an old one, and that is said first.
      const said = await eventually('the refusal', async () => {
        const object = JSON.parse(await kubectl('get', '--raw', path)) as object;
        const body = JSON.stringify({ ...object, status: { phase: 'Failed' } });
        try {
          await handle.kubectl(['replace', '--raw', path, '-f', '-', `--kubeconfig=${kubeconfig}`], body);
        } catch (err) {
          const message = String((err as Error).message);
          return message.includes('the object has been modified') ? undefined : message;
        }
        return 'accepted';
      });
      expect(said).toContain('this user cannot modify this virtual machine instance');
    } finally {
      await kubectl('delete', 'vmi', 'elsewhere', '-n', NAMESPACE);
    }
  });
}
