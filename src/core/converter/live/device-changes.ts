// What has to be plugged, unplugged or changed so that a running domain becomes the wanted one. Only what can change in a running guest:
// hotplugged disks, media of CD-ROM drives, interfaces and their link state, SR-IOV functions. Pure; the launcher hands each to libvirt.
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import { childOf, el, renderXml, type XmlNode } from '../xml.js';
import { deviceName, devicesOf, isHotplugged, sourcePath } from './live-domain.js';

export interface DeviceChange {
  readonly kind: 'attach' | 'detach' | 'update';
  readonly what: 'disk' | 'interface' | 'host device';
  readonly name: string;
  readonly xml: string;
  /** File or device that must be there before. */
  readonly path?: string;
}

/** Buses from which a running guest lets go of a disk. */
const PLUGGABLE = new Set(['virtio', 'scsi']);
const SRIOV = 'sriov-';

type Named = ReadonlyMap<string, XmlNode>;

function byName(nodes: readonly XmlNode[]): Named {
  return new Map(nodes.flatMap((node) => ((name) => (name === undefined ? [] : [[name, node] as const]))(deviceName(node))));
}

const change = (kind: DeviceChange['kind'], what: DeviceChange['what'], name: string, node: XmlNode): DeviceChange => {
  const path = what === 'disk' && kind !== 'detach' ? sourcePath(node) : undefined;
  return { kind, what, name, xml: renderXml(node), ...(path === undefined ? {} : { path }) };
};

/** Goes before comes: a volume that is exchanged keeps its name. */
export function planDeviceChanges(vmi: VirtualMachineInstance, wanted: XmlNode, live: XmlNode): DeviceChange[] {
  const pairs = (tag: string): [Named, Named] => [byName(devicesOf(wanted, tag)), byName(devicesOf(live, tag))];
  return [
    ...diskChanges(...pairs('disk')),
    ...interfaceChanges(vmi.spec.domain.devices.interfaces ?? [], ...pairs('interface')),
    ...functionsThatLeave(vmi.spec.domain.devices.interfaces ?? [], byName(devicesOf(live, 'hostdev'))),
  ];
}

function diskChanges(wanted: Named, live: Named): DeviceChange[] {
  const leaving = [...live].filter(([name, disk]) => isPluggable(disk) && isHotplugged(disk) && !hasSameSource(wanted.get(name), disk));
  const coming = [...wanted].filter(
    ([name, disk]) => isPluggable(disk) && isHotplugged(disk) && !hasSameSource(live.get(name), disk) && !isFixed(live.get(name)),
  );
  return [
    ...leaving.map(([name, disk]) => change('detach', 'disk', name, forDetach(disk))),
    ...coming.map(([name, disk]) => change('attach', 'disk', name, disk)),
    ...mediaChanges(wanted, live),
  ];
}

const isPluggable = (disk: XmlNode): boolean =>
  disk.attrs.device !== 'cdrom' && PLUGGABLE.has(childOf(disk, 'target')?.attrs.bus ?? 'virtio');

/** A disk of that name that has been there from the start. */
const isFixed = (disk: XmlNode | undefined): boolean => disk !== undefined && !isHotplugged(disk);

const hasSameSource = (a: XmlNode | undefined, b: XmlNode): boolean => a !== undefined && sourcePath(a) === sourcePath(b);

/** libvirt finds a disk by its target; what it reports about the image's chain would only be checked again. */
const forDetach = (disk: XmlNode): XmlNode => ({
  ...disk,
  children: disk.children.filter(({ tag }) => tag !== 'backingStore' && tag !== 'privateData'),
});

/** Media of drives are exchanged in the drive that the guest has. */
function mediaChanges(wanted: Named, live: Named): DeviceChange[] {
  return [...live].flatMap(([name, drive]) => {
    if (drive.attrs.device !== 'cdrom' || !isExchangeable(drive)) return [];
    const next = wanted.get(name);
    if (next !== undefined && (next.attrs.device !== 'cdrom' || !isExchangeable(next))) return [];
    const path = next && sourcePath(next);
    return path === sourcePath(drive) ? [] : [change('update', 'disk', name, withMedium(drive, next))];
  });
}

const isExchangeable = (drive: XmlNode): boolean => sourcePath(drive) === undefined || isHotplugged(drive);

function withMedium(drive: XmlNode, next: XmlNode | undefined): XmlNode {
  const source = next && sourcePath(next) !== undefined ? childOf(next, 'source') : undefined;
  const driver = { ...childOf(drive, 'driver')?.attrs, type: 'raw' };
  const kept = drive.children.filter(({ tag }) => !['source', 'driver', 'backingStore'].includes(tag));
  return {
    ...drive,
    attrs: { ...drive.attrs, type: source?.attrs.file === undefined ? 'block' : 'file' },
    children: [el('driver', driver), ...(source ? [source] : []), ...kept],
  };
}

function interfaceChanges(specs: readonly Interface[], wanted: Named, live: Named): DeviceChange[] {
  const absent = new Set(specs.filter(({ state }) => state === 'absent').map(({ name }) => name));
  const leaving = [...live].filter(([name]) => absent.has(name));
  // Without a device to attach to, its network is not there yet.
  const coming = [...wanted].filter(([name, node]) => !live.has(name) && childOf(node, 'target') !== undefined);
  const changed = [...live].filter(([name, node]) => {
    const next = wanted.get(name);
    return next !== undefined && linkOf(next) !== linkOf(node);
  });
  return [
    ...leaving.map(([name, node]) => change('detach', 'interface', name, node)),
    ...coming.map(([name, node]) => change('attach', 'interface', name, node)),
    ...changed.map(([name, node]) => change('update', 'interface', name, withLink(node, linkOf(wanted.get(name) ?? node)))),
  ];
}

const linkOf = (node: XmlNode): 'up' | 'down' => (childOf(node, 'link')?.attrs.state === 'down' ? 'down' : 'up');

const withLink = (node: XmlNode, state: 'up' | 'down'): XmlNode => ({
  ...node,
  children: [...node.children.filter(({ tag }) => tag !== 'link'), el('link', { state })],
});

function functionsThatLeave(specs: readonly Interface[], live: Named): DeviceChange[] {
  const absent = specs.filter(({ state, sriov }) => state === 'absent' && sriov !== undefined).map(({ name }) => `${SRIOV}${name}`);
  return absent.flatMap((alias) => {
    const node = live.get(alias);
    return node === undefined ? [] : [change('detach', 'host device', alias, node)];
  });
}

/** SR-IOV functions that the pod got and the guest has not. */
export function planHostDevices(wanted: XmlNode, live: XmlNode): DeviceChange[] {
  const there = byName(devicesOf(live, 'hostdev'));
  return [...byName(devicesOf(wanted, 'hostdev'))]
    .filter(([name]) => name.startsWith(SRIOV) && !there.has(name))
    .map(([name, node]) => change('attach', 'host device', name, node));
}
