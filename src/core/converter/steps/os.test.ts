import { describe, expect, it } from 'vitest';
import { factsOf, type GuestParts, guest, rendered } from '../../../../test/builders/domain.js';
import type { Firmware } from '../../../api/index.js';
import type { DomainFacts } from '../facts.js';
import { os } from './os.js';

const DIR = '/usr/share/OVMF';
const firmwareFiles = (...names: string[]): Partial<DomainFacts> => ({ firmwareFiles: new Set(names.map((name) => `${DIR}/${name}`)) });
const UPSTREAM = firmwareFiles(
  'OVMF_CODE.fd',
  'OVMF_VARS.fd',
  'OVMF_CODE.secboot.fd',
  'OVMF_VARS.secboot.fd',
  'OVMF_CODE.cc.fd',
  'OVMF.amdsev.fd',
  'OVMF.inteltdx.fd',
  'OVMF.inteltdx.secboot.fd',
  'AAVMF_CODE.fd',
  'AAVMF_VARS.fd',
);
const TYPE = '<type arch="x86_64" machine="q35">hvm</type>';
const NVRAM = '/var/run/kubevirt-private/libvirt/qemu/nvram/vm_VARS.fd';

const osOf = (parts: GuestParts, facts: Partial<DomainFacts> = UPSTREAM): string | undefined =>
  rendered(os, guest(parts), factsOf(facts))[0];
const withFirmware = (firmware: Firmware, more: GuestParts = {}): GuestParts => ({ ...more, domain: { ...more.domain, firmware } });
const loader = (code: string, secure: string): string => `<loader readonly="yes" secure="${secure}" type="pflash">${DIR}/${code}</loader>`;
const nvram = (vars: string): string => `<nvram template="${DIR}/${vars}">${NVRAM}</nvram>`;

describe('boot', () => {
  it.each<[string, GuestParts, Partial<DomainFacts>, string]>([
    ['plain', {}, {}, `<os>${TYPE}<smbios mode="sysinfo"/></os>`],
    [
      'a machine type',
      { domain: { machine: { type: 'pc-q35-8.2' } } },
      {},
      '<os><type arch="x86_64" machine="pc-q35-8.2">hvm</type><smbios mode="sysinfo"/></os>',
    ],
    ['arm64', {}, { hostArch: 'arm64' }, '<os><type arch="aarch64" machine="virt">hvm</type><smbios mode="sysinfo"/></os>'],
    ['s390x', {}, { hostArch: 's390x' }, '<os><type arch="s390x" machine="s390-ccw-virtio">hvm</type></os>'],
    [
      'paused',
      { spec: { startStrategy: 'Paused' } },
      {},
      `<os>${TYPE}<smbios mode="sysinfo"/><bootmenu enable="yes" timeout="10000"/></os>`,
    ],
    [
      'BIOS on the serial port',
      withFirmware({ bootloader: { bios: { useSerial: true } } }),
      {},
      `<os>${TYPE}<smbios mode="sysinfo"/><bios useserial="yes"/></os>`,
    ],
    [
      'a kernel from an image',
      withFirmware({
        kernelBoot: { container: { image: 'k', kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd.img' }, kernelArgs: 'quiet' },
      }),
      {},
      `<os>${TYPE}<smbios mode="sysinfo"/><kernel>/var/run/kubevirt/container-disks/kernel-boot/vmlinuz</kernel>` +
        '<initrd>/var/run/kubevirt/container-disks/kernel-boot/initrd.img</initrd><cmdline>quiet</cmdline></os>',
    ],
    [
      'ACPI tables',
      withFirmware({ acpi: { slicNameRef: 'lic', msdmNameRef: 'lic' } }, { spec: { volumes: [{ name: 'lic', secret: {} }] } }),
      {},
      `<os>${TYPE}<acpi><table type="slic">/var/run/kubevirt-private/secret/lic/slic.bin</table>` +
        '<table type="msdm">/var/run/kubevirt-private/secret/lic/msdm.bin</table></acpi><smbios mode="sysinfo"/></os>',
    ],
  ])('%s', (_title, parts, facts, want) => {
    expect(osOf(parts, facts)).toBe(want);
  });

  it.each<[string, Firmware, string]>([
    ['no table', { acpi: {} }, 'no ACPI tables were set'],
    ['no volume', { acpi: { slicNameRef: 'lost' } }, "firmware's volume for slic was not found"],
    ['no secret', { acpi: { msdmNameRef: 'root' } }, "firmware's volume type is unsupported for msdm"],
  ])('refuses ACPI with %s', (_title, firmware, message) => {
    expect(() => osOf(withFirmware(firmware))).toThrow(message);
  });
});

describe('UEFI', () => {
  const efi = (secureBoot?: boolean): Firmware => ({ bootloader: { efi: secureBoot === undefined ? {} : { secureBoot } } });

  it.each<[string, GuestParts, Partial<DomainFacts>, string[]]>([
    ['Secure Boot by default', withFirmware(efi()), UPSTREAM, [loader('OVMF_CODE.secboot.fd', 'yes'), nvram('OVMF_VARS.secboot.fd')]],
    [
      'no Secure Boot, on a build that could',
      withFirmware(efi(false)),
      UPSTREAM,
      [loader('OVMF_CODE.secboot.fd', 'no'), nvram('OVMF_VARS.fd')],
    ],
    [
      'the plain build',
      withFirmware(efi(false)),
      firmwareFiles('OVMF_CODE.fd', 'OVMF_VARS.fd'),
      [loader('OVMF_CODE.fd', 'no'), nvram('OVMF_VARS.fd')],
    ],
    [
      'Debian’s names',
      withFirmware(efi(false)),
      firmwareFiles('OVMF_CODE_4M.fd', 'OVMF_VARS_4M.fd'),
      [loader('OVMF_CODE_4M.fd', 'no'), nvram('OVMF_VARS_4M.fd')],
    ],
    ['arm64', withFirmware(efi(false)), { ...UPSTREAM, hostArch: 'arm64' }, [loader('AAVMF_CODE.fd', 'no'), nvram('AAVMF_VARS.fd')]],
    [
      'SEV',
      { domain: { firmware: efi(false), launchSecurity: { sev: {} } } },
      UPSTREAM,
      [loader('OVMF_CODE.cc.fd', 'no'), nvram('OVMF_VARS.fd')],
    ],
    [
      'SEV-SNP',
      { domain: { firmware: efi(false), launchSecurity: { snp: {} } } },
      UPSTREAM,
      [`<loader readonly="yes" secure="no" type="rom">${DIR}/OVMF.amdsev.fd</loader>`],
    ],
    [
      'TDX',
      { domain: { firmware: efi(), launchSecurity: { tdx: {} } } },
      UPSTREAM,
      [`<loader readonly="yes" secure="no" type="rom">${DIR}/OVMF.inteltdx.secboot.fd</loader>`],
    ],
    [
      'libvirt’s choice',
      withFirmware(efi()),
      { firmwareAutoSelection: true },
      [
        '<os firmware="efi">',
        '<firmware><feature enabled="yes" name="secure-boot"/><feature enabled="yes" name="enrolled-keys"/></firmware>',
        `<nvram format="raw">${NVRAM}</nvram>`,
      ],
    ],
    [
      'no choice to make without Secure Boot',
      withFirmware(efi(false)),
      { ...UPSTREAM, firmwareAutoSelection: true },
      [loader('OVMF_CODE.secboot.fd', 'no')],
    ],
    [
      'a launcher that runs as root',
      withFirmware(efi(), { status: { runtimeUser: 0 } }),
      UPSTREAM,
      [`<nvram template="${DIR}/OVMF_VARS.secboot.fd">/var/lib/libvirt/qemu/nvram/vm_VARS.fd</nvram>`],
    ],
  ])('%s', (_title, parts, facts, wants) => {
    const xml = osOf(parts, facts);
    for (const want of wants) expect(xml).toContain(want);
  });

  it.each(['snp', 'tdx'])('keeps no variables with %s', (kind) => {
    expect(osOf({ domain: { firmware: efi(false), launchSecurity: { [kind]: {} } } })).not.toContain('<nvram');
  });

  it.each<[string, GuestParts, Partial<DomainFacts>]>([
    ['an empty image', withFirmware(efi()), firmwareFiles()],
    ['code without variables', withFirmware(efi(false)), firmwareFiles('OVMF_CODE.fd')],
    ['SEV with Secure Boot', { domain: { firmware: efi(), launchSecurity: { sev: {} } } }, UPSTREAM],
    ['arm64 with Secure Boot', withFirmware(efi()), { ...UPSTREAM, hostArch: 'arm64' }],
  ])('is missing for %s', (_title, parts, facts) => {
    expect(() => osOf(parts, facts)).toThrow('EFI OVMF rom missing');
  });
});
