import { describe, expect, it } from 'vitest';
import { launcherPod, vmi } from '../../../test/builders/objects.js';
import type { Pod, VirtualMachineInstance, VirtualMachineInstanceNetworkInterface } from '../../api/index.js';
import { hashedPodInterface } from '../../core/network/names.js';
import { ATTACHED_NETWORKS, changedAttachments, nextInterfaces } from './networks.js';
import type { Seen } from './seen.js';

const BLUE = hashedPodInterface('blue');
const guest = (interfaces?: VirtualMachineInstanceNetworkInterface[]): VirtualMachineInstance =>
  vmi({
    spec: {
      networks: [
        { name: 'default', pod: {} },
        { name: 'blue', multus: { networkName: 'blue' } },
      ],
    },
    status: { ...(interfaces ? { interfaces } : {}) },
  });
const podWith = (annotations: Record<string, string>): Pod => launcherPod({ metadata: { name: 'p', annotations } });
const status = (...interfaces: string[]): Pod =>
  podWith({ 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(interfaces.map((name) => ({ name: 'x', interface: name }))) });

describe('nextInterfaces', () => {
  const nic = { name: 'default', infoSource: 'domain' };
  it.each<[string, VirtualMachineInstanceNetworkInterface[] | undefined, Pod, VirtualMachineInstanceNetworkInterface[]]>([
    ['says nothing of a pod without secondary networks', [nic], status('eth0'), [nic]],
    [
      'says that the pod has one',
      [nic],
      status('eth0', BLUE),
      [nic, { name: 'blue', podInterfaceName: BLUE, infoSource: 'multus-status' }],
    ],
    [
      'adds its word',
      [{ name: 'blue', infoSource: 'domain' }],
      status(BLUE),
      [{ name: 'blue', podInterfaceName: BLUE, infoSource: 'domain, multus-status' }],
    ],
    ['takes it back', [{ name: 'blue', infoSource: 'domain, multus-status' }], status(), [{ name: 'blue', infoSource: 'domain' }]],
    ['reads nothing out of a broken annotation', undefined, podWith({ 'k8s.v1.cni.cncf.io/network-status': '{' }), []],
  ])('%s', (_title, interfaces, pod, expected) => {
    expect(nextInterfaces(guest(interfaces), pod)).toEqual(expected);
  });
});

describe('changedAttachments', () => {
  const blue = JSON.stringify([{ name: 'blue', namespace: 'shop', interface: BLUE }]);
  it.each([
    ['nothing to bring', {}, undefined, undefined],
    [
      'what it asks for already, written otherwise',
      { [ATTACHED_NETWORKS]: `[{"interface":"${BLUE}","namespace":"shop","name":"blue"}]` },
      blue,
      undefined,
    ],
    ['one more', {}, blue, blue],
    ['one less', { [ATTACHED_NETWORKS]: blue }, undefined, '[]'],
  ])('%s', (_title, annotations, wanted, expected) => {
    expect(changedAttachments({ pod: podWith(annotations as Record<string, string>) } as unknown as Seen, wanted)).toBe(expected);
  });
});
