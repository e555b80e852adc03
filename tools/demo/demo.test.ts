// What the demo tells while it waits, and how it reads its options.
import { describe, expect, it } from 'vitest';
import { addedSince, type Found, type Item, itemsOf, look, planOf } from './found.js';
import { parseOptions } from './options.js';
import { installReason, machineReason, pullReason } from './states.js';

describe('parseOptions', () => {
  it.each([
    ['a person at a terminal', [], true, { kubeconfig: undefined, unattended: false, keep: false, help: false }],
    ['no terminal', [], false, { kubeconfig: undefined, unattended: true, keep: false, help: false }],
    ['--yes --keep', ['--yes', '--keep'], true, { kubeconfig: undefined, unattended: true, keep: true, help: false }],
    ['another cluster', ['--kubeconfig', '/k'], true, { kubeconfig: '/k', unattended: false, keep: false, help: false }],
  ])('%s', (_title, args, hasTerminal, expected) => {
    expect(parseOptions(args, hasTerminal)).toEqual(expected);
  });

  it('refuses what it does not know, with the usage', () => {
    expect(() => parseOptions(['--bogus'], true)).toThrow(/bogus.*usage: npm start/s);
  });
});

describe('installReason', () => {
  it.each([
    ['not seen', {}, 'the operator has not seen it yet'],
    [
      'deploying',
      { phase: 'Deploying', conditions: [{ type: 'Available', status: 'False', message: 'virt-api: 0 of 2' }] },
      'Deploying: virt-api: 0 of 2',
    ],
    ['available', { phase: 'Deployed', conditions: [{ type: 'Available', status: 'True' }] }, undefined],
  ])('%s', (_title, status, expected) => {
    expect(installReason({ metadata: { name: 'kubevirt' }, status })).toBe(expected);
  });
});

describe('machineReason', () => {
  it.each([
    ['not seen', {}, 'virt-controller has not seen it yet'],
    ['starting', { printableStatus: 'Starting' }, 'Starting'],
    [
      'stuck, with a reason',
      { printableStatus: 'ErrImagePull', conditions: [{ type: 'Ready', status: 'False', message: 'no such image' }] },
      'ErrImagePull: no such image',
    ],
    [
      'without a node: not what Ready repeats',
      {
        printableStatus: 'ErrorUnschedulable',
        conditions: [
          { type: 'Ready', status: 'False', message: 'it does not run' },
          { type: 'PodScheduled', status: 'False', message: 'no node fits' },
        ],
      },
      'ErrorUnschedulable: no node fits',
    ],
    ['running', { printableStatus: 'Running' }, undefined],
  ])('%s', (_title, status, expected) => {
    expect(machineReason({ metadata: { name: 'demo' }, status })).toBe(expected);
  });
});

const item = (kind: string, name: string, over: { apiVersion?: string; namespace?: string } = {}): Item => ({
  apiVersion: over.apiVersion ?? 'v1',
  kind,
  metadata: { name, ...(over.namespace !== undefined && { namespace: over.namespace }) },
});
const NOTHING: Found = { objects: [], kubevirts: [], machines: [] };
const operator = item('Deployment', 'virt-operator', { apiVersion: 'apps/v1', namespace: 'kubevirt' });
const kubevirt = item('KubeVirt', 'main', { apiVersion: 'kubevirt.io/v1', namespace: 'virt' });

describe('planOf', () => {
  const usual = { namespace: 'kubevirt', name: 'kubevirt' };
  it.each<[string, Partial<Found>, ReturnType<typeof planOf>]>([
    ['an empty cluster', {}, { installsOperator: true, createsKubevirt: true, createsMachine: true, kubevirt: usual }],
    [
      'only the namespace',
      { objects: [item('Namespace', 'kubevirt')] },
      { installsOperator: true, createsKubevirt: true, createsMachine: true, kubevirt: usual },
    ],
    [
      'an operator without work',
      { objects: [operator] },
      { installsOperator: false, createsKubevirt: true, createsMachine: true, kubevirt: usual },
    ],
    [
      'KubeVirt, of whatever name and operator',
      { kubevirts: [kubevirt] },
      { installsOperator: false, createsKubevirt: false, createsMachine: true, kubevirt: { namespace: 'virt', name: 'main' } },
    ],
    [
      'a machine of the name',
      { objects: [operator], kubevirts: [kubevirt], machines: [item('VirtualMachine', 'demo', { namespace: 'default' })] },
      { installsOperator: false, createsKubevirt: false, createsMachine: false, kubevirt: { namespace: 'virt', name: 'main' } },
    ],
  ])('%s', (_title, found, plan) => {
    expect(planOf({ ...NOTHING, ...found })).toEqual(plan);
  });
});

it('takes away what was added, and only that', () => {
  const now = [
    item('Namespace', 'kubevirt'),
    item('ServiceAccount', 'kubevirt-operator', { namespace: 'kubevirt' }),
    item('ClusterRole', 'kubevirt-operator', { apiVersion: 'rbac.authorization.k8s.io/v1' }),
    operator,
  ];
  expect(addedSince([item('Namespace', 'kubevirt'), item('ServiceAccount', 'kubevirt-operator', { namespace: 'other' })], now)).toEqual([
    ['serviceaccount/kubevirt-operator', '-n', 'kubevirt'],
    ['clusterrole.v1.rbac.authorization.k8s.io/kubevirt-operator'],
    ['deployment.v1.apps/virt-operator', '-n', 'kubevirt'],
  ]);
});

describe('look', () => {
  it.each([
    ['a list', JSON.stringify({ kind: 'List', items: [operator] }), [operator]],
    ['one object', JSON.stringify(operator), [operator]],
    ['nothing', '\n', []],
    ['an empty list', JSON.stringify({ kind: 'List', items: [] }), []],
  ])('reads %s', (_title, answer, expected) => {
    expect(itemsOf(answer)).toEqual(expected);
  });

  it('asks for our kinds only where they exist', async () => {
    const asked: string[] = [];
    const kubectl = (crds: string[]) => async (args: readonly string[]) => {
      asked.push(args.slice(1, 3).join(' '));
      return args[1] === '-k'
        ? JSON.stringify({ items: crds.map((name) => item('CustomResourceDefinition', name)) })
        : JSON.stringify(kubevirt);
    };
    expect(await look(kubectl([]))).toEqual(NOTHING);
    expect(asked).toEqual([expect.stringMatching(/^-k /)]);
    const found = await look(kubectl(['kubevirts.kubevirt.io', 'virtualmachines.kubevirt.io']));
    expect([found.kubevirts, asked.slice(2)]).toEqual([[kubevirt], ['kubevirts.kubevirt.io -A', 'virtualmachines.kubevirt.io demo']]);
  });
});

describe('pullReason', () => {
  const pod = (group: string, reason?: string) => ({
    metadata: { name: 'virt-api-1' },
    status: {
      [group]: [{ state: {} }, { state: reason ? { waiting: { reason, message: 'no r/x:1' } } : {} }],
    },
  });
  it.each([
    ['tried again', pod('containerStatuses', 'ImagePullBackOff'), 'ImagePullBackOff'],
    ['never to be pulled', pod('initContainerStatuses', 'ErrImageNeverPull'), 'ErrImageNeverPull'],
    ['failed once', pod('containerStatuses', 'ErrImagePull'), undefined],
    ['running', pod('containerStatuses'), undefined],
    ['just created', { metadata: { name: 'virt-api-1' } }, undefined],
  ])('%s', (_title, each, reason) => {
    const said = pullReason([pod('containerStatuses'), each]);
    if (reason === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(new RegExp(`^pod virt-api-1 does not get an image \\(${reason}: no r/x:1\\)\\. .*docs/installation.md`));
  });
});
