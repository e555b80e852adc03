// The tree of a machine with one of everything, and what filters leave of it.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { filterGraph, type GraphNode, vmGraph, vmiGraph } from './object-graph.js';

const SPEC = {
  domain: { devices: {} },
  accessCredentials: [
    { sshPublicKey: { source: { secret: { secretName: 'keys' } }, propagationMethod: {} } },
    { userPassword: { source: { secret: { secretName: 'password' } }, propagationMethod: {} } },
  ],
  volumes: [
    { name: 'a', dataVolume: { name: 'dv' } },
    { name: 'b', persistentVolumeClaim: { claimName: 'claim' } },
    { name: 'c', configMap: { name: 'settings' } },
    { name: 'd', secret: { secretName: 'hidden' } },
    { name: 'e', cloudInitNoCloud: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } } },
    { name: 'f', cloudInitConfigDrive: { userData: 'x' } },
    { name: 'g', containerDisk: { image: 'x' } },
  ],
  networks: [
    { name: 'default', pod: {} },
    { name: 'own', multus: { networkName: 'nad' } },
    { name: 'other', multus: { networkName: 'elsewhere/nad' } },
  ],
};
const FACTS = { launcherPod: 'virt-launcher-x', ipamClaims: ['address'], stateClaims: ['tpm'] };
const NO_FACTS = { ipamClaims: [], stateClaims: [] };

const vm = (rest: object = {}, status: object = {}, spec: object = SPEC): VirtualMachine =>
  ({ metadata: { name: 'web', namespace: 'shop' }, spec: { template: { spec }, ...rest }, status }) as unknown as VirtualMachine;
const vmi = { metadata: { name: 'web', namespace: 'shop' }, spec: SPEC } as unknown as VirtualMachineInstance;

/** One line a node: depth, kind, where, its type, and whether it may be missing. */
function lines(node: GraphNode, depth = 0): string[] {
  const { kind, name, namespace, apiGroup } = node.objectReference;
  const type = node.labels['kubevirt.io/dependency-type'];
  const line = `${'  '.repeat(depth)}${apiGroup || 'core'} ${kind} ${namespace}/${name} ${type}${node.optional ? ' optional' : ''}`;
  return [line, ...(node.children ?? []).flatMap((child) => lines(child, depth + 1))];
}

const OF_SPEC = [
  'core Secret shop/keys config',
  'core Secret shop/password config',
  'cdi.kubevirt.io DataVolume shop/dv storage',
  '  core PersistentVolumeClaim shop/dv storage',
  'core PersistentVolumeClaim shop/claim storage',
  'core ConfigMap shop/settings config',
  'core Secret shop/hidden config',
  'core Secret shop/user config',
  'core Secret shop/net config',
  'core PersistentVolumeClaim shop/tpm storage',
  'k8s.cni.cncf.io NetworkAttachmentDefinition shop/nad network optional',
  'k8s.cni.cncf.io NetworkAttachmentDefinition elsewhere/nad network optional',
  'k8s.cni.cncf.io IPAMClaim shop/address network optional',
];
const below = (list: readonly string[]): string[] => list.map((line) => `  ${line}`);

describe('graphs', () => {
  it('of a VM that runs', () => {
    const graph = vmGraph(
      vm(
        {
          instancetype: { kind: 'virtualmachineclusterinstancetype', name: 'u1' },
          preference: { kind: 'VirtualMachinePreference', name: 'p' },
        },
        { created: true, instancetypeRef: { controllerRevisionRef: { name: 'rev-1' } } },
      ),
      FACTS,
    );
    expect(lines(graph)).toEqual([
      'kubevirt.io VirtualMachine shop/web compute',
      '  kubevirt.io VirtualMachineInstance shop/web compute',
      '    core Pod shop/virt-launcher-x compute',
      '  instancetype.kubevirt.io VirtualMachineClusterInstancetype /u1 config optional',
      '  apps ControllerRevision shop/rev-1 config',
      '  instancetype.kubevirt.io VirtualMachinePreference shop/p config optional',
      ...below(OF_SPEC),
    ]);
  });

  it('of a VMI', () => {
    expect(lines(vmiGraph(vmi, FACTS))).toEqual([
      'kubevirt.io VirtualMachineInstance shop/web compute',
      '  core Pod shop/virt-launcher-x compute',
      ...below(OF_SPEC),
    ]);
  });

  it.each([
    ['nothing to depend on', vm({}, {}, { domain: { devices: {} } }), []],
    [
      'created, without a pod',
      vm({}, { created: true }, { domain: { devices: {} } }),
      ['  kubevirt.io VirtualMachineInstance shop/web compute'],
    ],
    [
      'revision that the status does not know yet',
      vm({ instancetype: { kind: 'VirtualMachineInstancetype', name: 'i', revisionName: 'rev-0' } }, {}, { domain: { devices: {} } }),
      ['  instancetype.kubevirt.io VirtualMachineInstancetype shop/i config optional', '  apps ControllerRevision shop/rev-0 config'],
    ],
    ['unknown kind', vm({ instancetype: { kind: 'Flavor', name: 'i' } }, {}, { domain: { devices: {} } }), []],
  ])('%s', (_title, machine, expected) => {
    const graph = vmGraph(machine, NO_FACTS);
    expect(lines(graph)).toEqual(['kubevirt.io VirtualMachine shop/web compute', ...expected]);
    if (expected.length === 0) expect(graph).not.toHaveProperty('children');
  });
});

describe('filterGraph', () => {
  const kept = (options: object): string[] | string => {
    const graph = filterGraph(vmGraph(vm({}, { created: true }), FACTS), options);
    return graph.ok ? lines(graph.value) : graph.error;
  };
  const only = (type: string): object => ({ labelSelector: { matchLabels: { 'kubevirt.io/dependency-type': type } } });

  it.each([
    ['nothing', {}, 16],
    ['what is optional', { includeOptionalNodes: false }, 13],
    ['all but compute', only('compute'), 3],
    ['all but storage', only('storage'), 5],
    ['all but network', only('network'), 4],
    ['everything below', only('none'), 1],
  ])('leaves out %s', (_title, options, count) => {
    expect(kept(options)).toHaveLength(count);
  });

  it('says what is wrong with a selector', () => {
    expect(kept({ labelSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } })).toContain('Like is no operator');
  });
});
