// What cannot run says why, on the VM, on the VMI and as an event, and goes on by itself when the cause is gone.
import { expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import { patchDeveloper } from '../gates.js';
import { apply, eventsOf, eventually, find, kubectl, NAMESPACE, TINY_IMAGE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { addImageName, removeImageName } from '../node-access.js';
import { waitRunning } from '../vm-waits.js';

/** A name that no earlier run on this cluster can have left behind. */
const LATE_IMAGE = `localhost/kubevirt-ts/arrives-later:at-${Date.now()}`;

export function stuck(): void {
  it('explains a missing image and recovers when it appears', async () => {
    await apply(tinyVm('late', { image: LATE_IMAGE }));
    const vm = await eventually('the VM names the image problem', async () => {
      const found = await find<VirtualMachine>('vm', 'late');
      return ['ErrImagePull', 'ImagePullBackOff'].includes(found?.status?.printableStatus ?? '') ? found : undefined;
    });
    const condition = vm.status?.conditions?.find((c) => c.type === 'Synchronized');
    expect(condition?.message).toContain(LATE_IMAGE);
    await addImageName(TINY_IMAGE, LATE_IMAGE);
    await waitRunning('late', { timeoutMs: 180_000 });
    await kubectl('delete', 'vm', 'late', '-n', NAMESPACE, '--timeout=60s');
    await removeImageName(LATE_IMAGE);
  });

  it('says on the VMI why a pod fits on no node', async () => {
    await apply(tinyVm('nowhere', { node: 'no-such-node' }));
    await eventually('ErrorUnschedulable', async () => {
      const found = await find<VirtualMachine>('vm', 'nowhere');
      return found?.status?.printableStatus === 'ErrorUnschedulable';
    });
    expect((await eventsOf('VirtualMachineInstance', 'nowhere')).join('\n')).toContain('Created virtual machine pod');
    await kubectl('delete', 'vm', 'nowhere', '-n', NAMESPACE, '--timeout=60s');
  });

  it('says what to do on a cluster without KVM that was not told to emulate', async () => {
    await patchDeveloper({ useEmulation: false });
    try {
      await apply(tinyVm('no-kvm'));
      const condition = await eventually('the VMI says that no node has KVM', async () => {
        const vmi = await find<VirtualMachineInstance>('vmi', 'no-kvm');
        return vmi?.status?.conditions?.find((c) => c.type === 'PodScheduled' && c.status === 'False');
      });
      expect(condition.message).toContain('Insufficient devices.kubevirt.io/kvm');
      expect(condition.message).toContain('useEmulation');
      await eventually('ErrorUnschedulable', async () => {
        const vm = await find<VirtualMachine>('vm', 'no-kvm');
        return vm?.status?.printableStatus === 'ErrorUnschedulable';
      });
    } finally {
      await patchDeveloper({ useEmulation: true });
      await kubectl('delete', 'vm', 'no-kvm', '-n', NAMESPACE, '--ignore-not-found', '--timeout=60s');
    }
  });
}
