import { describe, expect, it } from 'vitest';
import { factsOf, GUEST_UID, type GuestParts, guest, rendered } from '../../../../test/builders/domain.js';
import type { DomainFacts } from '../facts.js';
import type { AnyStep } from '../order.js';
import { channels, graphics, serialConsole } from './consoles.js';
import { controllers } from './controllers.js';
import { hostDevices } from './host-devices.js';
import { inputs } from './inputs.js';
import { balloon, filesystems, panicDevices, rng, sound, tpm, usbRedirection, vsock, watchdog } from './peripherals.js';

type Row = readonly [title: string, step: AnyStep, parts: GuestParts, facts: Partial<DomainFacts>, want: readonly string[]];

const M = 'virtio-non-transitional';
const PRIVATE = `/var/run/kubevirt-private/${GUEST_UID}`;
const SEV: GuestParts = { domain: { launchSecurity: { sev: {} } } };
const noUsb = '<controller type="usb" index="0" model="none"/>';
const usb = '<controller type="usb" index="0" model="qemu-xhci"/>';
const scsi = `<controller type="scsi" index="0" model="${M}"/>`;
const serial = `<controller type="virtio-serial" index="0" model="${M}"/>`;
const vnc = `<graphics type="vnc"><listen type="socket" socket="${PRIVATE}/virt-vnc"/></graphics>`;
const video = (attrs: string): string => `<video><model ${attrs}/></video>`;
const reporting = (on: 'on' | 'off', inner = '<stats period="10"/>'): string =>
  `<memballoon model="${M}" freePageReporting="${on}">${inner}</memballoon>`;
const usbBus = (host: string): Partial<DomainFacts> => ({ env: { USB_RESOURCE_VENDOR_COM_STICK: host } });
const dedicated: Partial<DomainFacts> = { cpuSet: [0], topology: { cells: [{ id: 0, cpus: [{ id: 0, siblings: [] }], distances: [] }] } };

const rows: readonly Row[] = [
  ['controllers of a plain guest', controllers, {}, {}, [noUsb, scsi, serial]],
  ['no SCSI without hotplug', controllers, { devices: { disableHotplug: true } }, {}, [noUsb, serial]],
  [
    'SCSI for a SCSI disk',
    controllers,
    { devices: { disableHotplug: true, disks: [{ name: 'd', lun: { bus: 'scsi' } }] } },
    {},
    [noUsb, scsi, serial],
  ],
  ['no serial controller without console', controllers, { devices: { autoattachSerialConsole: false } }, {}, [noUsb, scsi]],
  ['USB for a tablet', controllers, { devices: { inputs: [{ name: 't', type: 'tablet' }] } }, {}, [usb, scsi, serial]],
  [
    'no USB for a virtio tablet',
    controllers,
    { devices: { inputs: [{ name: 't', type: 'tablet', bus: 'virtio' }] } },
    {},
    [noUsb, scsi, serial],
  ],
  ['USB for a disk', controllers, { devices: { disks: [{ name: 'd', disk: { bus: 'usb' } }] } }, {}, [usb, scsi, serial]],
  ['USB for redirection', controllers, { devices: { clientPassthrough: {} } }, {}, [usb, scsi, serial]],
  [
    'USB for a host device',
    controllers,
    { devices: { hostDevices: [{ name: 'h', deviceName: 'vendor.com/stick' }] } },
    usbBus('1:2'),
    [usb, scsi, serial],
  ],
  ['always USB on arm64', controllers, {}, { hostArch: 'arm64' }, [usb, scsi, serial]],
  [
    'never USB on s390x',
    controllers,
    { devices: { inputs: [{ name: 't', type: 'tablet' }] } },
    { hostArch: 's390x' },
    [noUsb, '<controller type="scsi" index="0" model="virtio-scsi"/>', '<controller type="virtio-serial" index="0" model="virtio"/>'],
  ],
  [
    'transitional models',
    controllers,
    { devices: { useVirtioTransitional: true } },
    {},
    [
      noUsb,
      '<controller type="scsi" index="0" model="virtio-transitional"/>',
      '<controller type="virtio-serial" index="0" model="virtio-transitional"/>',
    ],
  ],
  [
    'no 64-bit PCI window',
    controllers,
    { annotations: { 'kubevirt.io/disablePCIHole64': 'True' } },
    {},
    [noUsb, scsi, '<controller type="pci" index="0" model="pcie-root"><pcihole64 unit="KiB">0</pcihole64></controller>', serial],
  ],
  [
    'the IOMMU of encrypted guests',
    controllers,
    SEV,
    {},
    [
      noUsb,
      `<controller type="scsi" index="0" model="${M}"><driver iommu="on"/></controller>`,
      `<controller type="virtio-serial" index="0" model="${M}"><driver iommu="on"/></controller>`,
    ],
  ],
  [
    'no pooled thread when every disk has its own',
    controllers,
    {
      devices: { disks: [{ name: 'd', disk: { bus: 'scsi' }, dedicatedIOThread: true }] },
      domain: { cpu: { cores: 2 }, ioThreadsPolicy: 'auto' },
    },
    {},
    [noUsb, scsi, serial],
  ],
  [
    'a pooled thread for SCSI disks',
    controllers,
    {
      devices: {
        disks: [
          { name: 'd', disk: { bus: 'scsi' }, dedicatedIOThread: true },
          { name: 'v', disk: { bus: 'virtio' } },
        ],
      },
      domain: { cpu: { cores: 2 }, ioThreadsPolicy: 'auto' },
    },
    {},
    [noUsb, `<controller type="scsi" index="0" model="${M}"><driver iothread="1" queues="2"/></controller>`, serial],
  ],
  ['graphics', graphics, {}, {}, [video('type="vga" heads="1" vram="16384"'), vnc]],
  ['graphics of a UEFI guest', graphics, { domain: { firmware: { bootloader: { efi: {} } } } }, {}, [video('type="bochs" heads="1"'), vnc]],
  [
    'no bochs where the cluster says so',
    graphics,
    { domain: { firmware: { bootloader: { efi: {} } } } },
    { bochsForEfiGuests: false },
    [video('type="vga" heads="1" vram="16384"'), vnc],
  ],
  ['graphics on arm64', graphics, {}, { hostArch: 'arm64' }, [video('type="virtio" heads="1"'), vnc]],
  ['a chosen adapter', graphics, { devices: { video: { type: 'cirrus' } } }, {}, [video('type="cirrus" heads="1" vram="16384"'), vnc]],
  ['no graphics', graphics, { devices: { autoattachGraphicsDevice: false } }, {}, []],
  ['no graphics for another architecture', graphics, {}, { crossArchEmulation: true }, []],
  [
    'serial console',
    serialConsole,
    {},
    {},
    [
      `<serial type="unix"><target port="0"/><source mode="bind" path="${PRIVATE}/virt-serial0"/><log file="${PRIVATE}/virt-serial0-log" append="on"/></serial>`,
      '<console type="pty"><target type="serial" port="0"/></console>',
    ],
  ],
  ['no console', serialConsole, { devices: { autoattachSerialConsole: false } }, {}, []],
  ['the agent’s channel', channels, {}, {}, ['<channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>']],
  [
    'the metrics’ channel',
    channels,
    { devices: { downwardMetrics: {} } },
    {},
    [
      '<channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>',
      '<channel type="unix"><source mode="bind" path="/var/run/kubevirt-private/downwardmetrics-channel/downwardmetrics.sock"/>' +
        '<target type="virtio" name="org.github.vhostmd.1"/></channel>',
    ],
  ],
  [
    'a tablet',
    inputs,
    { devices: { inputs: [{ name: 't', type: 'tablet' }] } },
    {},
    ['<input type="tablet" bus="usb"><alias name="ua-t"/></input>'],
  ],
  [
    'a virtio tablet',
    inputs,
    { devices: { inputs: [{ name: 't', type: 'tablet', bus: 'virtio' }] } },
    {},
    ['<input type="tablet" bus="virtio" model="virtio"><alias name="ua-t"/></input>'],
  ],
  ['inputs on arm64', inputs, {}, { hostArch: 'arm64' }, ['<input type="tablet" bus="usb"/>', '<input type="keyboard" bus="usb"/>']],
  [
    'no second tablet on arm64',
    inputs,
    { devices: { inputs: [{ name: 't', type: 'tablet' }] } },
    { hostArch: 'arm64' },
    ['<input type="tablet" bus="usb"><alias name="ua-t"/></input>', '<input type="keyboard" bus="usb"/>'],
  ],
  ['inputs on s390x', inputs, {}, { hostArch: 's390x' }, ['<input type="keyboard" bus="virtio"/>']],
  ['no inputs without a screen', inputs, { devices: { autoattachGraphicsDevice: false } }, { hostArch: 'arm64' }, []],
  ['balloon', balloon, {}, {}, [reporting('on')]],
  ['no balloon', balloon, { devices: { autoattachMemBalloon: false } }, {}, ['<memballoon model="none"/>']],
  ['no statistics', balloon, {}, { memBalloonStatsPeriod: 0 }, [`<memballoon model="${M}" freePageReporting="on"/>`]],
  ['no reporting in the cluster', balloon, {}, { freePageReportingDisabled: true }, [reporting('off')]],
  ['no reporting by annotation', balloon, { annotations: { 'kubevirt.io/free-page-reporting-disabled': 'true' } }, {}, [reporting('off')]],
  [
    'no reporting with huge pages',
    balloon,
    { domain: { memory: { guest: '1Gi', hugepages: { pageSize: '2Mi' } } } },
    {},
    [reporting('off')],
  ],
  ['no reporting with dedicated CPUs', balloon, { domain: { cpu: { dedicatedCpuPlacement: true } } }, dedicated, [reporting('off')]],
  ['balloon of an encrypted guest', balloon, SEV, {}, [reporting('on', '<stats period="10"/><driver iommu="on"/>')]],
  ['rng', rng, { devices: { rng: {} } }, {}, [`<rng model="${M}"><backend model="random">/dev/urandom</backend></rng>`]],
  ['no rng', rng, {}, {}, []],
  [
    'watchdog',
    watchdog,
    { devices: { watchdog: { name: 'w', i6300esb: { action: 'reset' } } } },
    {},
    ['<watchdog model="i6300esb" action="reset"><alias name="ua-w"/></watchdog>'],
  ],
  [
    'watchdog on s390x',
    watchdog,
    { devices: { watchdog: { name: 'w', diag288: { action: 'poweroff' } } } },
    { hostArch: 's390x' },
    ['<watchdog model="diag288" action="poweroff"><alias name="ua-w"/></watchdog>'],
  ],
  ['sound', sound, { devices: { sound: { name: 's' } } }, {}, ['<sound model="ich9"><alias name="ua-s"/></sound>']],
  ['old sound', sound, { devices: { sound: { name: 's', model: 'ac97' } } }, {}, ['<sound model="ac97"><alias name="ua-s"/></sound>']],
  ['TPM', tpm, { devices: { tpm: {} } }, {}, ['<tpm model="tpm-tis"><backend type="emulator" version="2.0"/></tpm>']],
  [
    'persistent TPM',
    tpm,
    { devices: { tpm: { persistent: true } } },
    {},
    ['<tpm model="tpm-crb"><backend type="emulator" version="2.0" persistent_state="yes"/></tpm>'],
  ],
  ['switched-off TPM', tpm, { devices: { tpm: { enabled: false, persistent: true } } }, {}, []],
  ['vsock', vsock, { status: { VSOCKCID: 1234 } }, {}, [`<vsock model="${M}"><cid auto="no" address="1234"/></vsock>`]],
  [
    'vsock of its own',
    vsock,
    { status: { VSOCKCID: 1234 } },
    { localVsockNamespace: true },
    [`<vsock model="${M}"><cid auto="no" address="3"/></vsock>`],
  ],
  ['panic notifiers', panicDevices, { devices: { panicDevices: [{ model: 'isa' }, {}] } }, {}, ['<panic model="isa"/>', '<panic/>']],
  [
    'USB redirection',
    usbRedirection,
    { devices: { clientPassthrough: {} } },
    {},
    [0, 1, 2, 3].map((i) => `<redirdev type="unix" bus="usb"><source mode="bind" path="${PRIVATE}/virt-usbredir-${i}"/></redirdev>`),
  ],
  [
    'a shared directory',
    filesystems,
    { devices: { filesystems: [{ name: 'fs', virtiofs: {} }] } },
    {},
    [
      '<filesystem type="mount" accessmode="passthrough"><source socket="/var/run/kubevirt/virtiofs-containers/fs.sock"/>' +
        '<target dir="fs"/><driver type="virtiofs" queue="1024"/></filesystem>',
    ],
  ],
  [
    'host devices, GPUs, SR-IOV in this order',
    hostDevices,
    {
      devices: {
        gpus: [{ name: 'g', deviceName: 'v.com/gpu' }],
        hostDevices: [{ name: 'h', deviceName: 'v.com/dev' }],
        interfaces: [{ name: 'fast', sriov: {}, pciAddress: '0000:05:00.0', bootOrder: 1 }],
      },
    },
    { env: { MDEV_PCI_RESOURCE_V_COM_GPU: 'uuid-1', PCI_RESOURCE_V_COM_DEV: '0000:81:01.0' }, sriovAddresses: { fast: '0000:82:00.1' } },
    [
      '<hostdev type="pci" managed="no"><source><address domain="0x0000" bus="0x81" slot="0x01" function="0x0"/></source>' +
        '<alias name="ua-hostdevice-h"/></hostdev>',
      '<hostdev type="mdev" mode="subsystem" model="vfio-pci" display="on" ramfb="on"><source><address uuid="uuid-1"/></source>' +
        '<alias name="ua-gpu-g"/></hostdev>',
      '<hostdev type="pci" managed="no"><source><address domain="0x0000" bus="0x82" slot="0x00" function="0x1"/></source>' +
        '<boot order="1"/><address type="pci" domain="0x0000" bus="0x05" slot="0x00" function="0x0"/><alias name="ua-sriov-fast"/></hostdev>',
    ],
  ],
  [
    'no host devices on a migration target',
    hostDevices,
    { devices: { gpus: [{ name: 'g', deviceName: 'v.com/gpu' }] } },
    { migrationTarget: true },
    [],
  ],
  [
    'a single virtual GPU that migrates',
    hostDevices,
    { devices: { gpus: [{ name: 'g', deviceName: 'v.com/gpu' }] } },
    { migrationTarget: true, vgpuLiveMigration: true, env: { MDEV_PCI_RESOURCE_V_COM_GPU: 'uuid-1' } },
    [
      '<hostdev type="mdev" mode="subsystem" model="vfio-pci" display="on" ramfb="on"><source><address uuid="uuid-1"/></source><alias name="ua-gpu-g"/></hostdev>',
    ],
  ],
];

describe('devices', () => {
  it.each(rows)('%s', (_title, step, parts, facts, want) => {
    expect(rendered(step, guest(parts), factsOf(facts))).toEqual(want);
  });
});

describe('console logs', () => {
  it.each([
    [undefined, false, true],
    [undefined, true, false],
    [true, true, true],
    [false, false, false],
  ])('VMI %s, disabled in the cluster %s: %s', (wish, serialConsoleLogDisabled, want) => {
    const devices = wish === undefined ? {} : { logSerialConsole: wish };
    expect(rendered(serialConsole, guest({ devices }), factsOf({ serialConsoleLogDisabled })).join().includes('<log ')).toBe(want);
  });
});

describe('devices that cannot be', () => {
  it.each<[string, AnyStep, GuestParts, Partial<DomainFacts>, string]>([
    [
      'watchdog on arm64',
      watchdog,
      { devices: { watchdog: { name: 'w', i6300esb: {} } } },
      { hostArch: 'arm64' },
      'not supported on architecture arm64',
    ],
    [
      'watchdog of another architecture',
      watchdog,
      { devices: { watchdog: { name: 'w', i6300esb: {} } } },
      { hostArch: 's390x' },
      'set devices.watchdog.diag288',
    ],
    ['unknown sound', sound, { devices: { sound: { name: 's', model: 'sb16' } } }, {}, 'invalid model: sb16'],
    [
      'input on PS/2',
      inputs,
      { devices: { inputs: [{ name: 't', type: 'tablet', bus: 'ps2' }] } },
      {},
      'input contains unsupported bus ps2',
    ],
    ['a keyboard', inputs, { devices: { inputs: [{ name: 'k', type: 'keyboard' }] } }, {}, 'input contains unsupported type keyboard'],
  ])('%s', (_title, step, parts, facts, message) => {
    expect(() => rendered(step, guest(parts), factsOf(facts))).toThrow(message);
  });
});
