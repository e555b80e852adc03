// Disks, LUNs and CD-ROM drives: one element for each disk of the VMI whose volume is there (hotplugged ones only once they are mounted).
import type { Disk, Volume, VolumeStatus } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import { pciAddressOf } from '../../devices/index.js';
import { isHotpluggable } from '../../storage/hotpluggable.js';
import { RESERVATION_SOCKET } from '../../storage/paths.js';
import type { Address, DiskSourceElement, DomainDisk } from '../domain-devices.js';
import { assignThreads, busOf, type DiskThread } from '../io-threads.js';
import type { Scope } from '../scope.js';
import type { Fragment, Step } from '../step.js';
import { aliased, bootOrder, pciPlace } from './device.js';
import { blockIo } from './disk-block-size.js';
import { type DriverNeeds, diskDriver } from './disk-driver.js';
import { type DiskName, nameDisks } from './disk-names.js';
import { type DiskSource, hotplugSource, NO_MEDIUM, permanentSource, type SourceNeeds } from './disk-source.js';

type Needs = DriverNeeds | SourceNeeds | 'devices' | 'virtioModel' | 'ioThreads' | 'arch' | 'blockSizes' | 'migrationTarget';

export const disks: Step<Needs> = {
  name: 'disks',
  render(scope): Fragment {
    const wanted = (scope.devices.disks ?? []).map((disk) => attached(disk, scope));
    const statuses = scope.vmi.status?.volumeStatus ?? [];
    const names = nameDisks(wanted, statuses);
    const threads = assignThreads(wanted, scope.ioThreads);
    const nodes = wanted.map((disk, i): DomainDisk | undefined => {
      const part: DiskPart = { disk, name: names[i] as DiskName, thread: threads[i], source: sourceOf(disk, statuses, scope) };
      const node = diskNode(part, scope);
      return isPresent(disk, statuses, scope) ? node : undefined;
    });
    return { devices: { disk: nodes.filter((node) => node !== undefined) } };
  },
};

interface DiskPart {
  readonly disk: Disk;
  readonly name: DiskName;
  readonly thread: DiskThread;
  readonly source: DiskSource;
}

const volumesOf = ({ vmi }: Pick<Scope, 'vmi'>): readonly Volume[] => vmi.spec.volumes ?? [];

/** Tools in the guest look for the metrics on a virtio disk; they are read-only, which no SATA disk can be. */
function attached(disk: Disk, scope: Pick<Scope, 'vmi'>): Disk {
  const isMetrics = volumesOf(scope).some(({ name, downwardMetrics }) => name === disk.name && downwardMetrics !== undefined);
  return isMetrics && disk.disk ? { ...disk, disk: { ...disk.disk, bus: 'virtio' } } : disk;
}

function sourceOf(disk: Disk, statuses: readonly VolumeStatus[], scope: Pick<Scope, Needs>): DiskSource {
  const index = volumesOf(scope).findIndex(({ name }) => name === disk.name);
  const volume = volumesOf(scope)[index];
  if (volume) return hotplugStatus(disk, statuses, scope) ? hotplugSource(volume, scope) : permanentSource(volume, index, scope);
  if (disk.cdrom) return NO_MEDIUM;
  throw new KvError('Invalid', `no matching volume with name ${disk.name} found: every disk needs a volume of its name in spec.volumes`);
}

/** A migration target starts without hotplugged volumes; they are attached to it later. */
function hotplugStatus(disk: Disk, statuses: readonly VolumeStatus[], scope: Pick<Scope, 'migrationTarget'>): VolumeStatus | undefined {
  return scope.migrationTarget ? undefined : statuses.find(({ name, hotplugVolume }) => name === disk.name && hotplugVolume !== undefined);
}

/**
 * Hotplugged volumes appear once they are mounted into the pod. One that the status does not mention yet was added to the running guest if it
 * can be plugged in at all; any other has been there from the start.
 */
function isPresent(disk: Disk, statuses: readonly VolumeStatus[], scope: Pick<Scope, Needs>): boolean {
  const volume = volumesOf(scope).find(({ name }) => name === disk.name);
  if (!volume) return true;
  const status = statuses.find(({ name }) => name === disk.name);
  if (!status) return statuses.length === 0 || !isHotpluggable(volume);
  if (!status.hotplugVolume) return true;
  return !scope.migrationTarget && (status.phase === 'MountedToPod' || status.phase === 'Ready');
}

function diskNode(part: DiskPart, scope: Pick<Scope, Needs>): DomainDisk {
  const { disk, source, name } = part;
  const device = kindOf(disk);
  const virtio = source.fixed || (disk.disk !== undefined && busOf(disk) === 'virtio');
  return {
    device,
    type: source.type,
    model: virtio ? scope.virtioModel : undefined,
    source: sourceElement(part),
    target: device && { bus: busOf(disk), dev: name.dev, tray: disk.cdrom?.tray },
    serial: disk.disk && disk.serial ? disk.serial : undefined,
    driver: diskDriver(part, scope),
    readonly: isReadOnly(disk, source) || isClaimedReadOnly(disk, scope),
    ...aliased(disk.name),
    backingStore: source.backingStore,
    boot: bootOrder(disk.bootOrder),
    address: address(part),
    blockio: blockIo(disk, scope),
    shareable: disk.disk !== undefined && disk.shareable === true,
  };
}

/** A process on the node holds SCSI reservations for the guest, which may not do so itself. */
function sourceElement({ disk, source }: DiskPart): DiskSourceElement {
  if (!disk.lun?.reservation || source.fixed) return source.element;
  const holder = { type: 'unix', path: RESERVATION_SOCKET, mode: 'client' } as const;
  return { ...source.element, reservations: { managed: false, migration: true, source: holder } };
}

function kindOf(disk: Disk): DomainDisk['device'] {
  if (disk.disk) return 'disk';
  if (disk.lun) return 'lun';
  return disk.cdrom ? 'cdrom' : undefined;
}

function isReadOnly(disk: Disk, source: DiskSource): boolean {
  if (source.fixed) return true;
  if (disk.cdrom && !disk.disk && !disk.lun) return disk.cdrom.readonly !== false;
  return (disk.disk ?? disk.lun)?.readonly === true;
}

/** The pod has such a claim mounted read-only, and QEMU opens writable disks for writing. */
const isClaimedReadOnly = ({ name }: Disk, scope: Pick<Scope, Needs>): boolean =>
  volumesOf(scope).some((volume) => volume.name === name && volume.persistentVolumeClaim?.readOnly === true);

function address({ disk, name }: DiskPart): Address | undefined {
  const wanted = disk.disk?.pciAddress;
  if (wanted) {
    if (busOf(disk) !== 'virtio') {
      throw new KvError('Invalid', `setting a pci address is not allowed for non-virtio bus types, for disk ${disk.name}: use bus virtio`);
    }
    return pciPlace(pciAddressOf(wanted, `disk ${disk.name}`));
  }
  const scsi = (disk.disk ?? disk.lun)?.bus === 'scsi';
  return scsi ? { type: 'drive', controller: '0', bus: '0', unit: String(name.unit) } : undefined;
}
