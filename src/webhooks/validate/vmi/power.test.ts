// POWER guests: refused as any unknown architecture unless the cluster configures theirs; then by rules of their own.
import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration, VirtualMachineInstance } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import { vmiCreateCauses } from './rules.js';

const CONFIGURED: KubeVirtConfiguration = { architectureConfiguration: { ppc64le: {} } };

function causesOf(domain: object, configuration: KubeVirtConfiguration = CONFIGURED): string[] {
  const spec = { architecture: 'ppc64le', domain: { memory: { guest: '1Gi' }, devices: {}, ...domain } };
  const vmi: VirtualMachineInstance = { metadata: { name: 'test' }, spec };
  return [...vmiCreateCauses(vmi, clusterConfigOf(configuration), false)].map(({ field, message }) => `${field}: ${message}`);
}

describe('ppc64le', () => {
  it.each<[string, object, KubeVirtConfiguration, string[]]>([
    ['is let through where it is configured', { machine: { type: 'pseries' } }, CONFIGURED, []],
    ['is unknown where it is not', {}, {}, ['spec.architecture: architecture "ppc64le" is not supported: use one of amd64, arm64, s390x']],
    ['has no machine types of others', { machine: { type: 'q35' } }, CONFIGURED, [expect.stringContaining('spec.domain.machine.type: ')]],
    [
      'boots without EFI',
      { firmware: { bootloader: { efi: { secureBoot: false } } } },
      CONFIGURED,
      ['spec.domain.firmware.bootloader.efi: ppc64le guests boot with Open Firmware only: take efi out'],
    ],
    [
      'has devices of its own',
      { devices: { video: { type: 'bochs' }, watchdog: { name: 'w', diag288: {} }, panicDevices: [{ model: 'isa' }] } },
      CONFIGURED,
      [
        'spec.domain.devices.panicDevices: ppc64le brings a panic device of its own: take panicDevices out',
        'spec.domain.devices.watchdog: the watchdog of ppc64le is i6300esb: set it and no other',
        'spec.domain.devices.video.type: video type "bochs" is not supported on ppc64le: use one of vga, virtio',
      ],
    ],
  ])('%s', (_title, domain, configuration, want) => {
    expect(causesOf(domain, configuration)).toEqual(want);
  });
});
