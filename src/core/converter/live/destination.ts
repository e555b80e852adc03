// The domain as it shall be on the node that a guest moves to: libvirt's description of the running one with what differs there, which is where
// dedicated CPUs are pinned and where volumes lie that move to another claim. Nothing that the guest sees may change. Pure.
import type { PersistentVolumeClaimInfo, VirtualMachineInstance } from '../../../api/index.js';
import { isShared, movingVolumes } from '../../migration/volumes.js';
import { blockDevice, filesystemImage, hotplugBlockDevice, hotplugImage } from '../../storage/paths.js';
import { planCpus } from '../cpu-topology.js';
import type { Domain } from '../domain.js';
import type { DataElement, DomainDisk } from '../domain-devices.js';
import type { HostTopology } from '../host-topology.js';
import { planIoThreads } from '../io-threads.js';
import { planPlacement } from '../placement.js';
import { deviceName } from '../steps/device.js';
import { tuning } from '../steps/tuning.js';
import { isHotplugged, sourcePath } from './live-domain.js';

export interface CopiedDisk {
  /** Of its volume, where it is one of ours. */
  readonly name: string | undefined;
  readonly target: string;
  readonly path: string;
}

/** Disks whose contents QEMU copies: those that the guest can write and that are not on shared storage. */
export function disksToCopy({ devices }: Domain, vmi: VirtualMachineInstance): CopiedDisk[] {
  const shared = new Set((vmi.spec.volumes ?? []).filter((volume) => isShared(vmi, volume)).map(({ name }) => name));
  return (devices?.disk ?? []).flatMap((disk): CopiedDisk[] => {
    const [name, path, target] = [deviceName(disk), sourcePath(disk), disk.target?.dev];
    const isFixed = disk.device === 'cdrom' || disk.readonly === true;
    const isLocal = disk.type === 'file' || disk.type === 'block';
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

export function destinationDomain(domain: Domain, vmi: VirtualMachineInstance, to: Destination): Domain {
  const { devices } = domain;
  const moved: Domain = {
    ...domain,
    devices: devices && { ...devices, disk: devices.disk?.map((disk) => movedDisk(disk, vmi, to.sizes)) },
  };
  return to.cpuSet === undefined || vmi.spec.domain.cpu?.dedicatedCpuPlacement !== true ? moved : retuned(moved, vmi, to);
}

type Kind = 'file' | 'block';
function kindOf(claim: PersistentVolumeClaimInfo | undefined): Kind | undefined {
  if (claim?.volumeMode === undefined) return undefined;
  return claim.volumeMode === 'Block' ? 'block' : 'file';
}

/** Changes the place where the data lies: behind an overlay that tracks changes it is the overlay's data store. */
function movedDisk(disk: DomainDisk, vmi: VirtualMachineInstance, sizes: ReadonlyMap<string, bigint>): DomainDisk {
  const name = deviceName(disk);
  if (name === undefined || !movingVolumes(vmi).has(name)) return disk;
  const claims = vmi.status?.migratedVolumes?.find(({ volumeName }) => volumeName === name);
  const [from, to] = [kindOf(claims?.sourcePVCInfo), kindOf(claims?.destinationPVCInfo)];
  const kind = from === undefined || from === to ? undefined : to;
  const place = kind && placeOf(disk, name, kind);
  const type = kind && { type: kind };
  const moved = <S extends DataElement>(source: S | undefined): S | undefined =>
    source && sliced(place ? elsewhere(source, place) : source, sizes.get(name));
  const { source } = disk;
  const store = source?.dataStore;
  if (store === undefined) return { ...disk, ...type, source: moved(source) };
  return { ...disk, source: { ...source, dataStore: { ...store, ...type, source: moved(store.source) } } };
}

type Place = Pick<DataElement, 'file' | 'dev'>;

function placeOf(disk: DomainDisk, name: string, kind: Kind): Place {
  const isPlugged = isHotplugged(disk);
  if (kind === 'block') return { dev: isPlugged ? hotplugBlockDevice(name) : blockDevice(name) };
  return { file: isPlugged ? hotplugImage(name) : filesystemImage(name) };
}

function elsewhere<S extends DataElement>({ file: _file, dev: _dev, ...rest }: S, place: Place): S {
  return { ...place, ...rest } as S;
}

/** The claim that it moves to may be larger: the guest's disk stays as large as it is. */
function sliced<S extends DataElement>(source: S, size: bigint | undefined): S {
  if (size === undefined || source.slices !== undefined) return source;
  const slices: DataElement['slices'] = { slice: [{ type: 'storage', offset: 0n, size }] };
  return { ...source, slices };
}

function retuned(domain: Domain, vmi: VirtualMachineInstance, { cpuSet = [], topology }: Destination): Domain {
  const ioThreads = planIoThreads(vmi.spec.domain);
  const placement = planPlacement({
    vmi,
    cpus: planCpus(vmi.spec.domain, true),
    ioThreads,
    facts: { cpuSet, ...(topology ? { topology } : {}) },
  });
  const { cputune, numatune } = tuning.render({ ioThreads, placement });
  return {
    ...domain,
    cputune: domain.cputune && (cputune ?? domain.cputune),
    numatune: domain.numatune && (numatune ?? domain.numatune),
  };
}
