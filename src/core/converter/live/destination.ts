// The domain as it shall be on the node that a guest moves to: libvirt's description of the running one with what differs there, which is where
// dedicated CPUs are pinned and where volumes lie that move to another claim. Nothing that the guest sees may change. Pure.
import type { PersistentVolumeClaimInfo, VirtualMachineInstance } from '../../../api/index.js';
import { isShared, movingVolumes } from '../../migration/volumes.js';
import { blockDevice, filesystemImage, hotplugBlockDevice, hotplugImage } from '../../storage/paths.js';
import { planCpus } from '../cpu-topology.js';
import type { HostTopology } from '../host-topology.js';
import { planIoThreads } from '../io-threads.js';
import { planPlacement } from '../placement.js';
import { tuning } from '../steps/tuning.js';
import { childOf, el, type XmlNode } from '../xml.js';
import { deviceName, devicesOf, isHotplugged, sourcePath } from './live-domain.js';

export interface CopiedDisk {
  /** Of its volume, where it is one of ours. */
  readonly name: string | undefined;
  readonly target: string;
  readonly path: string;
}

/** Disks whose contents QEMU copies: those that the guest can write and that are not on shared storage. */
export function disksToCopy(domain: XmlNode, vmi: VirtualMachineInstance): CopiedDisk[] {
  const shared = new Set((vmi.spec.volumes ?? []).filter((volume) => isShared(vmi, volume)).map(({ name }) => name));
  return devicesOf(domain, 'disk').flatMap((disk): CopiedDisk[] => {
    const [name, path, target] = [deviceName(disk), sourcePath(disk), childOf(disk, 'target')?.attrs.dev];
    const isFixed = disk.attrs.device === 'cdrom' || childOf(disk, 'readonly') !== undefined;
    const isLocal = disk.attrs.type === 'file' || disk.attrs.type === 'block';
    if (isFixed || !isLocal || path === undefined || target === undefined || (name !== undefined && shared.has(name))) return [];
    return [{ name, target, path }];
  });
}

export interface Destination {
  /** Sizes of the volumes that move to another claim, by name. */
  readonly sizes: ReadonlyMap<string, bigint>;
  /** CPUs of the target's pod; for guests with dedicated ones. */
  readonly cpuSet?: readonly number[];
  readonly topology?: HostTopology;
}

export function destinationDomain(domain: XmlNode, vmi: VirtualMachineInstance, to: Destination): XmlNode {
  const moved = withDevices(domain, (device) => (device.tag === 'disk' ? movedDisk(device, vmi, to.sizes) : device));
  return to.cpuSet === undefined || vmi.spec.domain.cpu?.dedicatedCpuPlacement !== true ? moved : retuned(moved, vmi, to);
}

function withDevices(domain: XmlNode, change: (device: XmlNode) => XmlNode): XmlNode {
  const children = domain.children.map((child) => (child.tag === 'devices' ? { ...child, children: child.children.map(change) } : child));
  return { ...domain, children };
}

const modeOf = (info: PersistentVolumeClaimInfo | undefined): string | undefined => info?.volumeMode;

function movedDisk(disk: XmlNode, vmi: VirtualMachineInstance, sizes: ReadonlyMap<string, bigint>): XmlNode {
  const name = deviceName(disk);
  if (name === undefined || !movingVolumes(vmi).has(name)) return disk;
  const claims = vmi.status?.migratedVolumes?.find(({ volumeName }) => volumeName === name);
  const from = modeOf(claims?.sourcePVCInfo);
  const to = modeOf(claims?.destinationPVCInfo);
  const isOther = from !== undefined && to !== undefined && from !== to;
  const path = to === 'Block' ? devicePath(disk, name) : imagePath(disk, name);
  return withData(
    disk,
    (source) => sliced(isOther ? otherSource(source, to === 'Block', path) : source, sizes.get(name)),
    isOther ? to : undefined,
  );
}

const devicePath = (disk: XmlNode, name: string): string => (isHotplugged(disk) ? hotplugBlockDevice(name) : blockDevice(name));
const imagePath = (disk: XmlNode, name: string): string => (isHotplugged(disk) ? hotplugImage(name) : filesystemImage(name));

/** Changes the place where the data lies: behind an overlay that tracks changes it is the overlay's data store. */
function withData(disk: XmlNode, change: (source: XmlNode) => XmlNode, mode: string | undefined): XmlNode {
  const type = mode === undefined ? {} : { type: mode === 'Block' ? 'block' : 'file' };
  const source = childOf(disk, 'source');
  const store = childOf(source, 'dataStore');
  const inside = (node: XmlNode): XmlNode => ({
    ...node,
    children: node.children.map((child) => (child.tag === 'source' ? change(child) : child)),
  });
  if (store === undefined) return { ...inside(disk), attrs: { ...disk.attrs, ...type } };
  const changed = { ...inside(store), attrs: { ...store.attrs, ...type } };
  const outer = (node: XmlNode): XmlNode => ({ ...node, children: node.children.map((child) => (child === store ? changed : child)) });
  return { ...disk, children: disk.children.map((child) => (child === source ? outer(child) : child)) };
}

function otherSource({ attrs, ...source }: XmlNode, isBlock: boolean, path: string): XmlNode {
  const { file: _file, dev: _dev, ...rest } = attrs;
  return { ...source, attrs: { ...(isBlock ? { dev: path } : { file: path }), ...rest } };
}

/** The claim that it moves to may be larger: the guest's disk stays as large as it is. */
function sliced(source: XmlNode, bytes: bigint | undefined): XmlNode {
  if (bytes === undefined || childOf(source, 'slices') !== undefined) return source;
  return { ...source, children: [...source.children, el('slices', {}, [el('slice', { type: 'storage', offset: 0, size: bytes })])] };
}

const PINS: ReadonlySet<string> = new Set(['cputune', 'numatune']);

function retuned(domain: XmlNode, vmi: VirtualMachineInstance, { cpuSet = [], topology }: Destination): XmlNode {
  const ioThreads = planIoThreads(vmi.spec.domain);
  const placement = planPlacement({
    vmi,
    cpus: planCpus(vmi.spec.domain, true),
    ioThreads,
    facts: { cpuSet, ...(topology ? { topology } : {}) },
  });
  const { elements = [] } = tuning.render({ ioThreads, placement });
  const pins = new Map(elements.filter(({ tag }) => PINS.has(tag)).map((element) => [element.tag, element]));
  return { ...domain, children: domain.children.map((child) => pins.get(child.tag) ?? child) };
}
