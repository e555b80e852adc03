// What libvirt 11.3 with QEMU 10 refuses: each row was seen refused by them, and names the field now.
import { describe, expect, it } from 'vitest';
import { factsOf, type GuestParts, guest } from '../../../../test/builders/domain.js';
import type { Disk, Volume } from '../../../api/index.js';
import { buildDomain } from '../assemble.js';
import type { DomainFacts } from '../facts.js';

const VERSION = 11_003_000;

const withDisk = (disk: Omit<Disk, 'name'>, volume: Omit<Volume, 'name'> = { persistentVolumeClaim: { claimName: 'c' } }): GuestParts => ({
  devices: { disks: [{ name: 'd', ...disk }] },
  spec: { volumes: [{ name: 'd', ...volume }] },
});
const block: Partial<DomainFacts> = { blockVolumes: new Set(['d']) };
const withInterface = (more: object): GuestParts => ({ devices: { interfaces: [{ name: 'default', masquerade: {}, ...more }] } });
const tdxFirmware: Partial<DomainFacts> = { firmwareFiles: new Set(['/usr/share/OVMF/OVMF.inteltdx.fd']) };
const tdx: GuestParts = {
  domain: { features: { acpi: {} }, launchSecurity: { tdx: {} }, firmware: { bootloader: { efi: { secureBoot: false } } } },
};

const TWO_AT_ONE_ADDRESS: NonNullable<GuestParts['devices']> = {
  disks: [{ name: 'd', disk: { bus: 'virtio', pciAddress: '0000:00:05.0' } }],
  interfaces: [{ name: 'default', masquerade: {}, pciAddress: '0000:00:05.0' }],
};
const vgpu: Partial<DomainFacts> = { env: { MDEV_PCI_RESOURCE_V_COM_GPU: 'aa618089-8b16-4d01-a136-25a0f3c73123' } };

const rows: [string, GuestParts, Partial<DomainFacts>, RegExp][] = [
  ['TDX', tdx, tdxFirmware, /^spec\.domain\.launchSecurity\.tdx: TDX guests need libvirt 11\.6, the launcher image has 11\.3/],
  [
    'a Grace GPU',
    { devices: { hostDevices: [{ name: 'h', deviceName: 'v.com/grace' }] } },
    { graceDevices: ['hostdevice-h'], env: { PCI_RESOURCE_V_COM_GRACE: '0009:01:00.0' } },
    /^spec\.domain\.devices\.hostDevices\[0\]: this launcher cannot pass through NVIDIA Grace GPUs: they need IOMMUFD \(libvirt 12\.2, the image has 11\.3\)/,
  ],
  [
    'a ceiling below the memory',
    { domain: { memory: { guest: '2Gi', maxGuest: '1Gi' } } },
    {},
    /^spec\.domain\.memory\.maxGuest: 1Gi is less/,
  ],
  [
    'few spinlock retries',
    { domain: { features: { hyperv: { spinlocks: { spinlocks: 1 } } } } },
    {},
    /^spec\.domain\.features\.hyperv\.spinlocks\.spinlocks: 1 retries/,
  ],
  [
    'no vendor',
    { domain: { features: { hyperv: { vendorid: {} } } } },
    {},
    /^spec\.domain\.features\.hyperv\.vendorid\.vendorid: the vendor/,
  ],
  [
    'EFI without ACPI',
    { domain: { features: { acpi: { enabled: false } }, firmware: { bootloader: { efi: { secureBoot: false } } } } },
    { firmwareFiles: new Set(['/usr/share/OVMF/OVMF_CODE.fd', '/usr/share/OVMF/OVMF_VARS.fd']) },
    /^spec\.domain\.features\.acpi: EFI needs ACPI/,
  ],
  [
    'a BIOS on no serial console',
    { domain: { firmware: { bootloader: { bios: { useSerial: true } } } }, devices: { autoattachSerialConsole: false } },
    {},
    /^spec\.domain\.firmware\.bootloader\.bios\.useSerial: the BIOS cannot/,
  ],
  [
    'a screen without graphics',
    {
      devices: {
        autoattachGraphicsDevice: false,
        gpus: [{ name: 'g', deviceName: 'v.com/gpu', virtualGPUOptions: { display: {} } }],
      },
    },
    vgpu,
    /^spec\.domain\.devices\.gpus\[0\]\.virtualGPUOptions\.display: a GPU shows/,
  ],
  ['a disk of no kind', withDisk({}), {}, /^spec\.domain\.devices\.disks\[0\]: disk d: the disk says neither/],
  [
    'a LUN on a file',
    withDisk({ lun: { bus: 'scsi' } }),
    {},
    /^spec\.domain\.devices\.disks\[0\]\.lun: disk d: only a volume in block mode/,
  ],
  ['a CD-ROM drive on virtio', withDisk({ cdrom: { bus: 'virtio' } }), {}, /disks\[0\]\.cdrom\.bus: disk d: a CD-ROM drive cannot/],
  ['a LUN on SATA', withDisk({ lun: { bus: 'sata' } }), block, /^spec\.domain\.devices\.disks\[0\]\.lun\.bus: disk d: a LUN cannot be on/],
  [
    'a read-only SATA disk',
    withDisk({ disk: { bus: 'sata', readonly: true } }),
    {},
    /disks\[0\]\.disk\.readonly: disk d: a disk on bus sata/,
  ],
  [
    'a shared overlay',
    withDisk({ disk: { bus: 'virtio' }, shareable: true }, { emptyDisk: { capacity: '1Gi' } }),
    {},
    /disks\[0\]\.shareable: disk d: only a raw image/,
  ],
  [
    'native I/O through the host’s cache',
    withDisk({ disk: { bus: 'virtio' }, io: 'native', cache: 'writethrough' }),
    {},
    /disks\[0\]\.io: disk d: native I\/O and cache writethrough/,
  ],
  ['a slot of a port', withDisk({ disk: { bus: 'virtio', pciAddress: '0000:81:01.0' } }), {}, /disks\[0\]\.disk\.pciAddress: 0000:81/],
  [
    'slot 0 behind an old bridge',
    withInterface({ pciAddress: '0000:06:00.0', model: 'e1000' }),
    {},
    /interfaces\[0\]\.pciAddress: 0000:06:00\.0: slot 00 of a bridge/,
  ],
  [
    'one address for two',
    { devices: TWO_AT_ONE_ADDRESS, spec: { volumes: [{ name: 'd', emptyDisk: { capacity: '1Gi' } }] } },
    {},
    /interfaces\[0\]\.pciAddress: 0000:00:05\.0 is the address of devices\.disks\[0\]/,
  ],
  [
    'one name for two',
    {
      devices: { disks: [{ name: 'default', disk: { bus: 'virtio' } }] },
      spec: { volumes: [{ name: 'default', emptyDisk: { capacity: '1Gi' } }] },
    },
    {},
    /^spec\.domain\.devices: a device of kind interface and one of kind disk are both named default: rename one/,
  ],
  ['another PCI domain', withInterface({ pciAddress: '0001:00:05.0' }), {}, /interfaces\[0\]\.pciAddress: 0001:00:05\.0 is/],
  ['a multicast MAC', withInterface({ macAddress: '01:00:5e:00:00:01' }), {}, /interfaces\[0\]\.macAddress: interface default: 01:00/],
  [
    'an emulated card on passt',
    {
      devices: { interfaces: [{ name: 'default', passtBinding: {}, model: 'e1000' }] },
      status: { interfaces: [{ name: 'default', podInterfaceName: 'eth0' }] },
    },
    { interfaceAttachments: {} },
    /interfaces\[0\]\.model: interface default: passt serves virtio only/,
  ],
];

describe('what libvirt refuses', () => {
  it.each(rows)('%s', (_title, parts, facts, message) => {
    expect(() => buildDomain(guest(parts), factsOf({ ...facts, libvirtVersion: VERSION }))).toThrow(message);
  });

  it.each(rows)('is left alone without a libvirt: %s', (_title, parts, facts) => {
    expect(buildDomain(guest(parts), factsOf(facts)).name).toBe('default_vm');
  });

  it.each<[string, GuestParts, Partial<DomainFacts>]>([
    ['an ordinary guest', {}, {}],
    ['TDX by a newer libvirt', tdx, { ...tdxFirmware, libvirtVersion: 11_006_000 }],
    ['enlightenments that are off', { domain: { features: { hyperv: { spinlocks: { enabled: false, spinlocks: 1 } } } } }, {}],
    [
      'a GPU whose screen nobody asked for',
      { devices: { autoattachGraphicsDevice: false, gpus: [{ name: 'g', deviceName: 'v.com/gpu' }] } },
      vgpu,
    ],
    ['a LUN on a block device', withDisk({ lun: { bus: 'scsi' } }), block],
    ['a read-only virtio disk', withDisk({ disk: { bus: 'virtio', readonly: true } }), {}],
    ['native I/O before the volume was looked at', withDisk({ disk: { bus: 'virtio' }, io: 'native' }), {}],
    ['an address on the root bus', withInterface({ pciAddress: '0000:00:05.0' }), {}],
    [
      'an address behind a bridge of the old machine',
      { ...withInterface({ pciAddress: '0000:01:05.0' }), domain: { machine: { type: 'pc' } } },
      {},
    ],
  ])('takes %s', (_title, parts, facts) => {
    expect(buildDomain(guest(parts), factsOf({ libvirtVersion: VERSION, ...facts })).name).toBe('default_vm');
  });
});
