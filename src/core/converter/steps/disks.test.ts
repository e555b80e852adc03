import { describe, expect, it } from 'vitest';
import { factsOf, guest, rendered } from '../../../../test/builders/domain.js';
import type { Disk, Volume } from '../../../api/index.js';
import type { DomainFacts } from '../facts.js';
import { disks } from './disks.js';

const UNMAP = '<driver name="qemu" type="raw" error_policy="stop" discard="unmap"/>';
const PVC_SOURCE = '<source file="/var/run/kubevirt-private/vmi-disks/d/disk.img"/>';
const VDA = '<target bus="virtio" dev="vda"/>';
const ALIAS = '<alias name="ua-d"/>';
const MODEL = 'virtio-non-transitional';
const pvc: Omit<Volume, 'name'> = { persistentVolumeClaim: { claimName: 'c' } };

function diskOf(
  disk: Omit<Disk, 'name'>,
  volume: Omit<Volume, 'name'> | undefined = pvc,
  facts: Partial<DomainFacts> = {},
  more: Parameters<typeof guest>[0] = {},
) {
  const volumes = volume ? [{ name: 'd', ...volume }] : [];
  const parts = { ...more, devices: { ...more.devices, disks: [{ name: 'd', ...disk }] }, spec: { ...more.spec, volumes } };
  return rendered(disks, guest(parts), factsOf({ containerDiskFormats: { d: 'raw' }, ...facts }));
}

const virtioDisk = (inner: string, attrs = 'type="file"'): string => `<disk device="disk" ${attrs} model="${MODEL}">${inner}</disk>`;

describe('what lies behind a disk', () => {
  const overlay = '<source file="/var/run/kubevirt-ephemeral-disks/disk-data/d/disk.qcow2"/>';
  const qcow2 = '<driver name="qemu" type="qcow2" error_policy="stop" discard="unmap"/>';
  const backing = (type: string, format: string, source: string): string =>
    `<backingStore type="${type}"><format type="${format}"/><source ${source}/></backingStore>`;
  const private_ = '/var/run/kubevirt-private';
  const block = { blockVolumes: new Set(['d']) };

  it.each<[string, Omit<Volume, 'name'>, Partial<DomainFacts>, string]>([
    ['a claim', pvc, {}, virtioDisk(`${PVC_SOURCE}${VDA}${UNMAP}${ALIAS}`)],
    ['a block claim', pvc, block, virtioDisk(`<source dev="/dev/d"/>${VDA}${UNMAP}${ALIAS}`, 'type="block"')],
    ['a data volume', { dataVolume: { name: 'x' } }, {}, virtioDisk(`${PVC_SOURCE}${VDA}${UNMAP}${ALIAS}`)],
    [
      'a container disk',
      { containerDisk: { image: 'i' } },
      {},
      virtioDisk(`${overlay}${VDA}${qcow2}${ALIAS}${backing('file', 'raw', 'file="/var/run/kubevirt/container-disks/disk_0.img"')}`),
    ],
    [
      'an ephemeral claim',
      { ephemeral: {} },
      {},
      virtioDisk(`${overlay}${VDA}${qcow2}${ALIAS}${backing('file', 'raw', `file="${private_}/vmi-disks/d/disk.img"`)}`),
    ],
    [
      'an ephemeral block claim',
      { ephemeral: {} },
      block,
      virtioDisk(`${overlay}${VDA}${qcow2}${ALIAS}${backing('block', 'raw', 'dev="/dev/d"')}`),
    ],
    [
      'an empty disk',
      { emptyDisk: { capacity: '1Gi' } },
      {},
      virtioDisk(`<source file="/var/run/libvirt/empty-disks/d.qcow2"/>${VDA}${qcow2}${ALIAS}`),
    ],
    [
      'a host disk',
      { hostDisk: { path: '/data/x.img', type: 'Disk' } },
      {},
      virtioDisk(`<source file="${private_}/vmi-disks/d/x.img"/>${VDA}${UNMAP}${ALIAS}`),
    ],
    [
      'NoCloud',
      { cloudInitNoCloud: {} },
      {},
      virtioDisk(`<source file="/var/run/kubevirt-ephemeral-disks/cloud-init-data/default/vm/noCloud.iso"/>${VDA}${UNMAP}${ALIAS}`),
    ],
    [
      'ConfigDrive',
      { cloudInitConfigDrive: {} },
      {},
      virtioDisk(`<source file="/var/run/kubevirt-ephemeral-disks/cloud-init-data/default/vm/configdrive.iso"/>${VDA}${UNMAP}${ALIAS}`),
    ],
    ['a config map', { configMap: {} }, {}, virtioDisk(`<source file="${private_}/config-map-disks/d.iso"/>${VDA}${UNMAP}${ALIAS}`)],
    ['a secret', { secret: {} }, {}, virtioDisk(`<source file="${private_}/secret-disks/d.iso"/>${VDA}${UNMAP}${ALIAS}`)],
    ['the downward API', { downwardAPI: {} }, {}, virtioDisk(`<source file="${private_}/downwardapi-disks/d.iso"/>${VDA}${UNMAP}${ALIAS}`)],
    [
      'a service account',
      { serviceAccount: {} },
      {},
      virtioDisk(`<source file="${private_}/service-account-disk/service-account.iso"/>${VDA}${UNMAP}${ALIAS}`),
    ],
    ['sysprep', { sysprep: {} }, {}, virtioDisk(`<source file="${private_}/sysprep-disks/d.iso"/>${VDA}${UNMAP}${ALIAS}`)],
    [
      'downward metrics',
      { downwardMetrics: {} },
      {},
      virtioDisk(
        `<source file="${private_}/downwardapi-disks/vhostmd0"/>${VDA}<driver name="qemu" type="raw" error_policy="stop"/><readonly/>${ALIAS}`,
      ),
    ],
    [
      'a claim whose changes are tracked',
      pvc,
      { ...block, changedBlockOverlays: { d: '/cbt/d.qcow2' } },
      virtioDisk(
        `<source file="/cbt/d.qcow2"><dataStore type="block"><format type="raw"/><source dev="/dev/d"/></dataStore></source>${VDA}${qcow2}${ALIAS}`,
      ),
    ],
    [
      'a tracked host disk',
      { hostDisk: { path: '/data/x.img', type: 'Disk' } },
      { changedBlockOverlays: { d: '/cbt/d.qcow2' } },
      virtioDisk(
        `<source file="/cbt/d.qcow2"><dataStore type="file"><format type="raw"/><source file="${private_}/vmi-disks/d/x.img"/></dataStore></source>${VDA}${qcow2}${ALIAS}`,
      ),
    ],
  ])('%s', (_title, volume, facts, want) => {
    expect(diskOf({ disk: { bus: 'virtio' } }, volume, facts)).toEqual([want]);
  });

  it.each<[string, Omit<Volume, 'name'> | undefined, Partial<DomainFacts>, string]>([
    ['no volume', undefined, {}, 'no matching volume with name d found'],
    ['a memory dump', { memoryDump: { claimName: 'c' } }, {}, 'disk d references an unsupported source'],
    ['an image nobody looked at', { containerDisk: { image: 'i' } }, { containerDiskFormats: {} }, 'no disk info provided for volume d'],
  ])('refuses %s', (_title, volume, facts, message) => {
    const parts = {
      devices: { disks: [{ name: 'd', disk: { bus: 'virtio' } }] },
      spec: { volumes: volume ? [{ name: 'd', ...volume }] : [] },
    };
    expect(() => rendered(disks, guest(parts), factsOf(facts))).toThrow(message);
  });
});

describe('how a disk is attached', () => {
  const SDA = '<target bus="scsi" dev="sda"/>';
  const DRIVE = '<address type="drive" controller="0" bus="0" unit="0"/>';
  const RAW = '<driver name="qemu" type="raw" error_policy="stop" discard="unmap"/>';

  it.each<[string, Omit<Disk, 'name'>, string]>([
    ['SATA', { disk: { bus: 'sata' } }, `<disk device="disk" type="file">${PVC_SOURCE}<target bus="sata" dev="sda"/>${RAW}${ALIAS}</disk>`],
    [
      'SCSI, read-only',
      { disk: { bus: 'scsi', readonly: true } },
      `<disk device="disk" type="file">${PVC_SOURCE}${SDA}${RAW}<readonly/>${ALIAS}${DRIVE}</disk>`,
    ],
    ['a LUN', { lun: { bus: 'scsi' } }, `<disk device="lun" type="file">${PVC_SOURCE}${SDA}${RAW}${ALIAS}${DRIVE}</disk>`],
    [
      'a LUN with reservations',
      { lun: { bus: 'scsi', reservation: true } },
      '<disk device="lun" type="file"><source file="/var/run/kubevirt-private/vmi-disks/d/disk.img"><reservations managed="no" migration="yes">' +
        '<source type="unix" path="/var/run/kubevirt/daemons/pr/pr-helper.sock" mode="client"/></reservations></source>' +
        `${SDA}${RAW}${ALIAS}${DRIVE}</disk>`,
    ],
    [
      'a CD-ROM',
      { cdrom: { bus: 'sata', tray: 'closed' } },
      `<disk device="cdrom" type="file">${PVC_SOURCE}<target bus="sata" dev="sda" tray="closed"/>${RAW}<readonly/>${ALIAS}</disk>`,
    ],
    [
      'a writable CD-ROM on SCSI has no address',
      { cdrom: { bus: 'scsi', readonly: false } },
      `<disk device="cdrom" type="file">${PVC_SOURCE}${SDA}${RAW}${ALIAS}</disk>`,
    ],
    [
      'serial, boot order, PCI address',
      { disk: { bus: 'virtio', pciAddress: '0001:02:1f.7' }, serial: 'S1', bootOrder: 2 },
      virtioDisk(
        `${PVC_SOURCE}${VDA}<serial>S1</serial>${RAW}${ALIAS}<boot order="2"/><address type="pci" domain="0x0001" bus="0x02" slot="0x1f" function="0x7"/>`,
      ),
    ],
    [
      'shared between guests',
      { disk: { bus: 'virtio' }, shareable: true },
      virtioDisk(
        `${PVC_SOURCE}${VDA}<driver name="qemu" type="raw" error_policy="stop" cache="none" discard="unmap"/>${ALIAS}<shareable/>`,
      ),
    ],
    [
      'modes as asked',
      { disk: { bus: 'virtio' }, cache: 'writeback', io: 'threads', errorPolicy: 'ignore' },
      virtioDisk(
        `${PVC_SOURCE}${VDA}<driver name="qemu" type="raw" error_policy="ignore" cache="writeback" io="threads" discard="unmap"/>${ALIAS}`,
      ),
    ],
    [
      'block sizes',
      { disk: { bus: 'virtio' }, blockSize: { custom: { logical: 512, physical: 4096, discardGranularity: 0 } } },
      virtioDisk(`${PVC_SOURCE}${VDA}${RAW}${ALIAS}<blockio logical_block_size="512" physical_block_size="4096" discard_granularity="0"/>`),
    ],
  ])('%s', (_title, disk, want) => {
    expect(diskOf(disk)).toEqual([want]);
  });

  it('an empty drive', () => {
    expect(rendered(disks, guest({ devices: { disks: [{ name: 'd', cdrom: { bus: 'sata' } }] } }))).toEqual([
      `<disk device="cdrom" type="block"><source/><target bus="sata" dev="sda"/>${RAW}<readonly/>${ALIAS}</disk>`,
    ]);
  });

  it.each<[string, Omit<Disk, 'name'>, string]>([
    [
      'a PCI address off the PCI bus',
      { disk: { bus: 'sata', pciAddress: '0000:81:01.0' } },
      'not allowed for non-virtio bus types, for disk d',
    ],
    [
      'half a PCI address',
      { disk: { bus: 'virtio', pciAddress: '81:01.0' } },
      'failed to configure disk d: failed to parse pci address 81:01.0',
    ],
    [
      'a cached shared disk',
      { disk: { bus: 'virtio' }, shareable: true, cache: 'writeback' },
      'a sharable disk requires cache = none got: writeback',
    ],
    ['an unknown error policy', { disk: { bus: 'virtio' }, errorPolicy: 'retry' }, 'error policy retry not recognized'],
  ])('refuses %s', (_title, disk, message) => {
    expect(() => diskOf(disk)).toThrow(message);
  });

  it('refuses large blocks on s390x only', () => {
    const disk = { disk: { bus: 'virtio' }, blockSize: { custom: { logical: 8192, physical: 8192 } } };
    expect(diskOf(disk).join()).toContain('logical_block_size="8192"');
    expect(() => diskOf(disk, pvc, { hostArch: 's390x' })).toThrow('s390x guests can use at most 4096');
  });
});

describe('what facts change', () => {
  const driver = (xml: readonly string[]): string => /<driver [^>]*>/.exec(xml.join(''))?.[0] ?? '';
  const virtio = { disk: { bus: 'virtio' } };

  it.each<[string, Omit<Disk, 'name'>, Partial<DomainFacts>, Parameters<typeof guest>[0], string]>([
    [
      'preallocated volumes stay so',
      virtio,
      { preallocatedVolumes: new Set(['d']) },
      {},
      '<driver name="qemu" type="raw" error_policy="stop"/>',
    ],
    [
      'direct I/O',
      virtio,
      { diskBackends: { d: { directIo: true, preallocated: false } } },
      {},
      '<driver name="qemu" type="raw" error_policy="stop" cache="none" discard="unmap"/>',
    ],
    [
      'direct I/O on a full file',
      virtio,
      { diskBackends: { d: { directIo: true, preallocated: true } } },
      {},
      '<driver name="qemu" type="raw" error_policy="stop" cache="none" io="native" discard="unmap"/>',
    ],
    [
      'direct I/O on a device',
      virtio,
      { diskBackends: { d: { directIo: true, preallocated: false } }, blockVolumes: new Set(['d']) },
      {},
      '<driver name="qemu" type="raw" error_policy="stop" cache="none" io="native" discard="unmap"/>',
    ],
    [
      'no direct I/O',
      virtio,
      { diskBackends: { d: { directIo: false, preallocated: true } } },
      {},
      '<driver name="qemu" type="raw" error_policy="stop" cache="writethrough" discard="unmap"/>',
    ],
    [
      'asked modes win',
      { ...virtio, cache: 'writeback', io: 'threads' },
      { diskBackends: { d: { directIo: true, preallocated: true } } },
      {},
      '<driver name="qemu" type="raw" error_policy="stop" cache="writeback" io="threads" discard="unmap"/>',
    ],
    [
      'queues',
      virtio,
      {},
      { devices: { blockMultiQueue: true }, domain: { cpu: { cores: 4 } } },
      '<driver name="qemu" type="raw" error_policy="stop" queues="4" discard="unmap"/>',
    ],
    [
      'the IOMMU of encrypted guests',
      virtio,
      {},
      { domain: { launchSecurity: { sev: {} } } },
      '<driver name="qemu" type="raw" error_policy="stop" discard="unmap" iommu="on"/>',
    ],
    [
      'a thread',
      virtio,
      {},
      { domain: { ioThreadsPolicy: 'shared' } },
      '<driver name="qemu" type="raw" error_policy="stop" iothread="1" discard="unmap"/>',
    ],
  ])('%s', (_title, disk, facts, more, want) => {
    expect(driver(diskOf(disk, pvc, facts, more))).toBe(want);
  });

  it('a pool of threads', () => {
    const domain = { ioThreadsPolicy: 'supplementalPool', ioThreads: { supplementalPoolThreadCount: 2 } };
    expect(diskOf(virtio, pvc, {}, { domain }).join()).toContain('<iothreads><iothread id="1"/><iothread id="2"/></iothreads></driver>');
  });

  it('cannot bypass the cache where the file system cannot', () => {
    expect(() => diskOf({ ...virtio, cache: 'none' }, pvc, { diskBackends: { d: { directIo: false, preallocated: false } } })).toThrow(
      "Unable to use 'none' cache mode",
    );
  });

  it('looks up block sizes', () => {
    const disk = { ...virtio, blockSize: { matchVolume: { enabled: true } } };
    const facts = { blockSizes: { d: { logical: 512, physical: 512, discardGranularity: 512 } } };
    expect(diskOf(disk, pvc, facts).join()).toContain(
      '<blockio logical_block_size="512" physical_block_size="512" discard_granularity="512"/>',
    );
    expect(diskOf({ ...virtio, blockSize: { matchVolume: { enabled: false } } }).join()).not.toContain('blockio');
    expect(diskOf(disk).join()).not.toContain('blockio');
    expect(() => diskOf(disk, pvc, { blockSizes: {} })).toThrow('failed to configure disk d with block size detection enabled');
  });
});

describe('hotplugged volumes', () => {
  const hotplugged = (phase: string) => ({ name: 'd', target: '', phase, hotplugVolume: { attachPodName: 'p' } });
  const status = (volumeStatus: object[]) => ({ status: { volumeStatus: [{ name: 'root', target: 'vda' }, ...volumeStatus] as never[] } });
  const scsi = { disk: { bus: 'scsi' } };
  const hot = { persistentVolumeClaim: { claimName: 'c', hotpluggable: true } };
  const present = (volumeStatus: object[], facts: Partial<DomainFacts> = {}, volume: Omit<Volume, 'name'> = hot): boolean =>
    diskOf(scsi, volume, facts, status(volumeStatus)).length === 1;

  it.each<[string, boolean, boolean]>([
    ['mounted', present([hotplugged('MountedToPod')]), true],
    ['in use', present([hotplugged('Ready')]), true],
    ['attaching', present([hotplugged('AttachedToNode')]), false],
    ['leaving', present([hotplugged('Detaching')]), false],
    ['just added', present([]), false],
    ['from the start', present([{ name: 'd', target: 'sda' }]), true],
    ['not hotpluggable, status still unknown', present([], {}, pvc), true],
    ['on a migration target', present([hotplugged('Ready')], { migrationTarget: true }), false],
  ])('%s', (_title, got, want) => {
    expect(got).toBe(want);
  });

  it('lie elsewhere', () => {
    expect(diskOf(scsi, hot, {}, status([hotplugged('Ready')])).join()).toContain('<source file="/var/run/kubevirt/hotplug-disks/d.img"/>');
    expect(diskOf(scsi, hot, { blockVolumes: new Set(['d']) }, status([hotplugged('Ready')])).join()).toContain(
      'type="block"><source dev="/var/run/kubevirt/hotplug-disks/d"/>',
    );
  });

  it('can only be claims', () => {
    expect(() => diskOf(scsi, { emptyDisk: { capacity: '1Gi' } }, {}, status([hotplugged('Ready')]))).toThrow(
      'hotplug disk d references an unsupported source',
    );
  });
});

describe('downward metrics', () => {
  it('are on a virtio disk, whatever bus was asked for', () => {
    expect(diskOf({ disk: { bus: 'sata' } }, { downwardMetrics: {} }).join()).toContain('<target bus="virtio" dev="vda"/>');
  });
});
