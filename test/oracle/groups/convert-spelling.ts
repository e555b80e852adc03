// How the reference spells what our domains spell as libvirt's schema wants it. The recording was made without libvirt, which forgives each of
// these; the comparison does not. Every rule is one kind of difference, applied to the finished tree; none adds or removes a device.
import type { Devices, Disk, VirtualMachineInstance, VolumeStatus } from '../../../src/api/index.js';
import type { XmlNode } from '../../../src/core/converter/index.js';
import { busOf } from '../../../src/core/converter/io-threads.js';
import { nameDisks } from '../../../src/core/converter/steps/disk-names.js';
import { claimBytes } from '../../../src/core/storage/disk-images.js';

type Rewrite = (node: XmlNode, vmi: VirtualMachineInstance) => XmlNode;

/** By tag. */
const RULES: Readonly<Record<string, Rewrite>> = {
  // libvirt's own default, which its schema demands to be said.
  clock: (node) => (node.attrs.offset === 'utc' && node.attrs.adjustment === undefined ? without(node, 'offset') : node),
  feature: (node, vmi) => {
    const asked = vmi.spec.domain.cpu?.features?.find(({ name }) => name === node.attrs.name);
    return asked && !asked.policy ? without(node, 'policy') : node;
  },
  // QEMU has no tpm-crb for arm64.
  tpm: (node, { spec }) =>
    spec.architecture === 'arm64' && spec.domain.devices.tpm?.persistent ? { ...node, attrs: { ...node.attrs, model: 'tpm-crb' } } : node,
  // The reference knows the field and passes over it.
  apic: (node) => without(node, 'eoi'),
  // The kind of an address is that of its device.
  hostdev: (node) =>
    node.attrs.type === 'pci'
      ? mapChild(node, 'source', (source) =>
          mapChild(source, 'address', (address) => ({ ...address, attrs: { type: 'pci', ...address.attrs } })),
        )
      : node,
  // Ours serves CD-ROM drives and LUNs on USB, too.
  controller: (node, { spec }) =>
    node.attrs.type === 'usb' && spec.architecture !== 'arm64' && hasOnlyDrivesOnUsb(spec.domain.devices)
      ? { ...node, attrs: { ...node.attrs, model: 'none' } }
      : node,
  // The attribute's name is written in lower case.
  filesystem: ({ attrs: { accessmode, ...attrs }, ...node }) => ({
    ...node,
    attrs: { ...attrs, ...(accessmode === undefined ? {} : { accessMode: accessmode }) },
  }),
  // libvirt reads addresses with colons only.
  interface: (node, vmi) => withMac(node, vmi),
  disk: (node, vmi) => withSizes(withVolumeName(withAskedTarget(node, vmi), vmi), vmi),
};

export function asRecorded(node: XmlNode, vmi: VirtualMachineInstance): XmlNode {
  const children = node.children.map((child) => asRecorded(child, vmi));
  return RULES[node.tag]?.({ ...node, children }, vmi) ?? { ...node, children };
}

const without = (node: XmlNode, name: string): XmlNode => ({
  ...node,
  attrs: Object.fromEntries(Object.entries(node.attrs).filter(([key]) => key !== name)),
});

const nameOf = (node: XmlNode): string => node.children.find(({ tag }) => tag === 'alias')?.attrs.name?.replace(/^ua-/, '') ?? '';

const mapChild = (node: XmlNode, tag: string, change: (child: XmlNode) => XmlNode): XmlNode => ({
  ...node,
  children: node.children.map((child) => (child.tag === tag ? change(child) : child)),
});

function withMac(node: XmlNode, { spec }: VirtualMachineInstance): XmlNode {
  const given = spec.domain.devices.interfaces?.find(({ name }) => name === nameOf(node))?.macAddress;
  return given ? mapChild(node, 'mac', (mac) => ({ ...mac, attrs: { address: given } })) : node;
}

function hasOnlyDrivesOnUsb({ disks = [], inputs = [], clientPassthrough, hostDevices }: Devices): boolean {
  const others = disks.some(({ disk }) => disk?.bus === 'usb') || inputs.some(({ bus }) => !bus || bus === 'usb');
  return !others && !clientPassthrough && !hostDevices && disks.some(({ cdrom, lun }) => (cdrom ?? lun)?.bus === 'usb');
}

/** Downward metrics on another bus than virtio cannot work; the reference tries. */
function withAskedTarget(node: XmlNode, { spec, status }: VirtualMachineInstance): XmlNode {
  const disks = spec.domain.devices.disks ?? [];
  const index = disks.findIndex(({ name }) => name === nameOf(node));
  const disk = disks[index];
  if (!disk || !spec.volumes?.some(({ downwardMetrics }) => downwardMetrics)) return node;
  const { dev = '' } = nameDisks(disks, status?.volumeStatus ?? [])[index] ?? {};
  return mapChild(node, 'target', (target) => ({ ...target, attrs: { ...target.attrs, bus: busOf(disk), dev } }));
}

/** A block device in the pod is named once more, by an attribute that libvirt has for network disks. */
function withVolumeName(node: XmlNode, { spec, status }: VirtualMachineInstance): XmlNode {
  const name = nameOf(node);
  const volume = spec.volumes?.find((each) => each.name === name);
  const isHotplugged = statusOf(status?.volumeStatus, name)?.hotplugVolume !== undefined;
  if (!volume || !name.includes('block') || isHotplugged) return node;
  const named = (source: XmlNode): XmlNode => ({ ...source, attrs: { ...source.attrs, name } });
  if (volume.ephemeral) return mapChild(node, 'backingStore', (backing) => mapChild(backing, 'source', named));
  return (volume.persistentVolumeClaim ?? volume.dataVolume) ? mapChild(node, 'source', named) : node;
}

const statusOf = (statuses: readonly VolumeStatus[] | undefined, name: string): VolumeStatus | undefined =>
  statuses?.find((each) => each.name === name);

const sizeNode = (tag: string, value: unknown): XmlNode => ({ tag, attrs: {}, children: [], text: String(value) });

/** Elements of the reference's own that tell its launcher how far an image may grow; ours reads the status. */
function withSizes(node: XmlNode, { spec, status }: VirtualMachineInstance): XmlNode {
  const name = nameOf(node);
  const disk: Disk | undefined = spec.domain.devices.disks?.find((each) => each.name === name);
  const info = statusOf(status?.volumeStatus, name)?.persistentVolumeClaimInfo;
  if (!info || !(disk?.disk ?? disk?.lun)) return node;
  const hasBoth = info.capacity?.storage !== undefined && info.requests?.storage !== undefined;
  const sizes = [
    ...(info.filesystemOverhead === undefined ? [] : [sizeNode('filesystemOverhead', info.filesystemOverhead)]),
    ...(hasBoth ? [sizeNode('capacity', claimBytes(info))] : []),
  ];
  return { ...node, children: [...node.children, ...sizes] };
}
