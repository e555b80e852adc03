// What has to be plugged, unplugged or changed so that a running domain becomes the wanted one. Only what can change in a running guest:
// hotplugged disks, media of CD-ROM drives, interfaces and their link state, SR-IOV functions. Pure; the launcher hands each to libvirt.
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import type { Domain } from '../domain.js';
import type { Device, DomainDisk, DomainHostDevice, DomainInterface } from '../domain-devices.js';
import { renderDevice } from '../domain-xml.js';
import { deviceName } from '../steps/device.js';
import { isHotplugged, sourcePath } from './live-domain.js';

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

type Named<D> = ReadonlyMap<string, D>;

const byName = <D extends Device>(devices: readonly D[] = []): Named<D> =>
  new Map(devices.flatMap((device) => ((name) => (name === undefined ? [] : [[name, device] as const]))(deviceName(device))));

type Kind = DeviceChange['kind'];

function diskChange(kind: Kind, name: string, disk: DomainDisk): DeviceChange {
  const path = kind === 'detach' ? undefined : sourcePath(disk);
  return { kind, what: 'disk', name, xml: renderDevice('disk', disk), ...(path === undefined ? {} : { path }) };
}

const interfaceChange = (kind: Kind, name: string, device: DomainInterface): DeviceChange => ({
  kind,
  what: 'interface',
  name,
  xml: renderDevice('interface', device),
});

const functionChange = (kind: Kind, name: string, device: DomainHostDevice): DeviceChange => ({
  kind,
  what: 'host device',
  name,
  xml: renderDevice('hostdev', device),
});

/** Goes before comes: a volume that is exchanged keeps its name. */
export function planDeviceChanges(
  vmi: VirtualMachineInstance,
  { devices: wanted = {} }: Domain,
  { devices: live = {} }: Domain,
): DeviceChange[] {
  const { interfaces = [] } = vmi.spec.domain.devices;
  return [
    ...diskChanges(byName(wanted.disk), byName(live.disk)),
    ...interfaceChanges(interfaces, byName(wanted.interface), byName(live.interface)),
    ...functionsThatLeave(interfaces, byName(live.hostdev)),
  ];
}

function diskChanges(wanted: Named<DomainDisk>, live: Named<DomainDisk>): DeviceChange[] {
  const leaving = [...live].filter(([name, disk]) => isPluggable(disk) && isHotplugged(disk) && !hasSameSource(wanted.get(name), disk));
  const coming = [...wanted].filter(
    ([name, disk]) => isPluggable(disk) && isHotplugged(disk) && !hasSameSource(live.get(name), disk) && !isFixed(live.get(name)),
  );
  return [
    ...leaving.map(([name, disk]) => diskChange('detach', name, forDetach(disk))),
    ...coming.map(([name, disk]) => diskChange('attach', name, disk)),
    ...mediaChanges(wanted, live),
  ];
}

const isPluggable = ({ device, target }: DomainDisk): boolean => device !== 'cdrom' && PLUGGABLE.has(target?.bus ?? 'virtio');

/** A disk of that name that has been there from the start. */
const isFixed = (disk: DomainDisk | undefined): boolean => disk !== undefined && !isHotplugged(disk);

const hasSameSource = (a: DomainDisk | undefined, b: DomainDisk): boolean => a !== undefined && sourcePath(a) === sourcePath(b);

/** libvirt finds a disk by its target; what it reports about the image's chain would only be checked again. */
const forDetach = (disk: DomainDisk): DomainDisk => ({ ...disk, backingStore: undefined, '<privateData>': undefined });

/** Media of drives are exchanged in the drive that the guest has. */
function mediaChanges(wanted: Named<DomainDisk>, live: Named<DomainDisk>): DeviceChange[] {
  return [...live].flatMap(([name, drive]) => {
    if (drive.device !== 'cdrom' || !isExchangeable(drive)) return [];
    const next = wanted.get(name);
    if (next !== undefined && (next.device !== 'cdrom' || !isExchangeable(next))) return [];
    const path = next && sourcePath(next);
    return path === sourcePath(drive) ? [] : [diskChange('update', name, withMedium(drive, next))];
  });
}

const isExchangeable = (drive: DomainDisk): boolean => sourcePath(drive) === undefined || isHotplugged(drive);

function withMedium(drive: DomainDisk, next: DomainDisk | undefined): DomainDisk {
  const source = next && sourcePath(next) !== undefined ? next.source : undefined;
  const { backingStore: _, ...kept } = drive;
  return { ...kept, type: source?.file === undefined ? 'block' : 'file', driver: { ...drive.driver, type: 'raw' }, source };
}

function interfaceChanges(specs: readonly Interface[], wanted: Named<DomainInterface>, live: Named<DomainInterface>): DeviceChange[] {
  const absent = new Set(specs.filter(({ state }) => state === 'absent').map(({ name }) => name));
  const leaving = [...live].filter(([name]) => absent.has(name));
  // Without a device to attach to, its network is not there yet.
  const coming = [...wanted].filter(([name, { target }]) => !live.has(name) && target !== undefined);
  const changed = [...live].flatMap(([name, device]) => {
    const next = wanted.get(name);
    return next === undefined || linkOf(next) === linkOf(device) ? [] : [[name, withLink(device, linkOf(next))] as const];
  });
  return [
    ...leaving.map(([name, device]) => interfaceChange('detach', name, device)),
    ...coming.map(([name, device]) => interfaceChange('attach', name, device)),
    ...changed.map(([name, device]) => interfaceChange('update', name, device)),
  ];
}

type Link = 'up' | 'down';
const linkOf = ({ link }: DomainInterface): Link => link?.state ?? 'up';

/** With its link pulled or put back in. */
export const withLink = (device: DomainInterface, state: Link): DomainInterface => ({ ...device, link: { state } });

function functionsThatLeave(specs: readonly Interface[], live: Named<DomainHostDevice>): DeviceChange[] {
  const absent = specs.filter(({ state, sriov }) => state === 'absent' && sriov !== undefined).map(({ name }) => `${SRIOV}${name}`);
  return absent.flatMap((alias) => {
    const device = live.get(alias);
    return device === undefined ? [] : [functionChange('detach', alias, device)];
  });
}

/** SR-IOV functions that the pod got and the guest has not. */
export function planHostDevices({ devices: wanted = {} }: Domain, { devices: live = {} }: Domain): DeviceChange[] {
  const there = byName(live.hostdev);
  return [...byName(wanted.hostdev)]
    .filter(([name]) => name.startsWith(SRIOV) && !there.has(name))
    .map(([name, device]) => functionChange('attach', name, device));
}
