import { describe, expect, it } from 'vitest';
import type { Pod, VirtualMachineInstance } from '../../api/index.js';
import { claim, context, demoVmi } from './fixtures.js';
import { renderHotplugPod, renderHotplugTriggerPod } from './hotplug.js';

const launcher: Pod = {
  metadata: { name: 'virt-launcher-demo-x', namespace: 'default', uid: 'pod-1', labels: { a: 'b' } },
  spec: { nodeName: 'node1', containers: [], tolerations: [{ key: 'mine', operator: 'Exists' }] },
};
const ctx = context({ pvcs: new Map([claim('fs', 'Filesystem'), claim('blk', 'Block')]) });

function vmi(selinuxContext: string | undefined, phase?: string): VirtualMachineInstance {
  const volumes = [
    { name: 'disk', persistentVolumeClaim: { claimName: 'fs', hotpluggable: true } },
    { name: 'raw', dataVolume: { name: 'blk', hotpluggable: true } },
  ];
  return {
    ...demoVmi({ volumes }),
    status: {
      ...(selinuxContext === undefined ? {} : { selinuxContext }),
      ...(phase ? { volumeStatus: [{ name: 'disk', target: '', phase, hotplugVolume: {} }] } : {}),
    },
  };
}

describe('the attachment pod', () => {
  const pod = renderHotplugPod(vmi('system_u:object_r:container_file_t:s0:c1,c2'), launcher, ['disk', 'raw'], ctx);
  const [container] = pod.spec?.containers ?? [];

  it('goes to the launcher’s node whatever the node’s condition, and ends with the launcher', () => {
    expect(pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toEqual([
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node1'] }] },
    ]);
    expect(pod.spec?.tolerations?.map(({ key }) => key)).toEqual([
      'mine',
      'node.kubernetes.io/disk-pressure',
      'node.kubernetes.io/memory-pressure',
      'node.kubernetes.io/network-unavailable',
      'node.kubernetes.io/pid-pressure',
      'node.kubernetes.io/unschedulable',
    ]);
    expect(pod.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid])).toEqual([['Pod', 'pod-1']]);
  });
  it('mounts file systems and block devices apart', () => {
    expect(container?.volumeMounts?.map(({ name, mountPath }) => [name, mountPath])).toEqual([
      ['hotplug-disks', '/path'],
      ['disk', '/disk'],
    ]);
    expect(container?.volumeDevices).toEqual([{ name: 'raw', devicePath: '/path/raw/uid-blk' }]);
  });
  it.each([
    ['Ready', false],
    ['MountedToPod', false],
    ['AttachedToNode', true],
  ])('mounts a volume in phase %s: %s', (phase, mounted) => {
    const mounts = renderHotplugPod(vmi('none', phase), launcher, ['disk'], ctx).spec?.containers[0]?.volumeMounts ?? [];
    expect(mounts.some(({ name }) => name === 'disk')).toBe(mounted);
  });
  it.each([
    ['system_u:object_r:container_file_t:s0:c1,c2', 's0:c1,c2'],
    ['none', 's0'],
  ])('runs at the SELinux level of %s', (selinux, level) => {
    const { securityContext } = renderHotplugPod(vmi(selinux), launcher, ['disk'], ctx).spec?.containers[0] ?? {};
    expect(securityContext?.seLinuxOptions?.level).toBe(level);
  });
  it('runs as the SELinux type of the cluster', () => {
    const typed = context({ pvcs: ctx.pvcs }, { selinuxLauncherType: 'virt_launcher.process' });
    const { securityContext } = renderHotplugPod(vmi('none'), launcher, ['disk'], typed).spec?.containers[0] ?? {};
    expect(securityContext?.seLinuxOptions).toEqual({ type: 'virt_launcher.process', level: 's0' });
  });
  it('takes the SELinux level over from the source of a migration', () => {
    const target = { ...vmi(undefined), status: { migrationState: { sourceState: { selinuxContext: 'u:r:t:s0:c3' } } } };
    const { securityContext } = renderHotplugPod(target as VirtualMachineInstance, launcher, ['disk'], ctx).spec?.containers[0] ?? {};
    expect(securityContext?.seLinuxOptions?.level).toBe('s0:c3');
  });
  it('tolerates once what the launcher tolerates too', () => {
    const pressed = { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' };
    const patient: Pod = { ...launcher, spec: { containers: [], tolerations: [pressed] } };
    expect(renderHotplugPod(vmi('none'), patient, ['disk'], ctx).spec?.tolerations).toHaveLength(5);
  });
  it('waits until the node has told the launcher’s SELinux context', () => {
    expect(() => renderHotplugPod(vmi(undefined), launcher, ['disk'], ctx)).toThrow('VMI is missing SELinux context');
  });
  it('refuses a volume without a claim', () => {
    expect(() => renderHotplugPod(vmi('none'), launcher, ['root'], ctx)).toThrow('volume root of the VMI names no claim');
  });
});

describe('the trigger pod', () => {
  it.each([
    [true, ['/bin/sh', '-c', 'exit', '0'], 'true'],
    [false, ['/usr/bin/container-disk'], undefined],
  ])('next to the launcher (ends: %s)', (ends, command, annotation) => {
    const pod = renderHotplugTriggerPod(vmi('none'), launcher, 'disk', { ...ctx, ends });
    expect(pod.spec?.tolerations).toEqual(launcher.spec?.tolerations);
    expect(pod.spec?.containers[0]?.command).toEqual(command);
    expect(pod.metadata.annotations?.['kubevirt.io/ephemeral-provisioning']).toBe(annotation);
    expect(pod.spec?.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual([
      { labelSelector: { matchLabels: { a: 'b' } }, topologyKey: 'kubernetes.io/hostname' },
    ]);
  });
});
