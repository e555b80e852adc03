// Bad input: an invalid VM is refused with every cause and field at once, and nothing of it is stored.
import { expect, it } from 'vitest';
import { find, NAMESPACE, refusal } from '../harness.js';

export function refusals(): void {
  it('names every cause and field of an invalid VM', async () => {
    const message = await refusal({
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      metadata: { name: 'broken', namespace: NAMESPACE },
      spec: {
        runStrategy: 'Always',
        template: {
          spec: {
            domain: {
              memory: { guest: '128Mi' },
              devices: { disks: [{ name: 'missing', disk: { bus: 'virtio' } }], interfaces: [{ name: 'lost', masquerade: {} }] },
            },
            networks: [{ name: 'default', pod: {} }],
            volumes: [],
          },
        },
      },
    });
    expect(message).toContain('spec.template.spec.domain.devices.disks[0]');
    expect(message).toContain('spec.template.spec.domain.devices.interfaces[0]');
    expect(await find('vm', 'broken')).toBeUndefined();
  });

  it('refuses an unknown run strategy', async () => {
    const message = await refusal({
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      metadata: { name: 'odd', namespace: NAMESPACE },
      spec: { runStrategy: 'Sometimes', template: { spec: { domain: { devices: {} } } } },
    });
    expect(message).toContain('Sometimes');
  });
}
