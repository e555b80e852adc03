// What a running domain has now, as libvirt describes it: the facts that end in the VMI's status, and the elements that changes start from.
import type { DomainDiskReport, DomainInterfaceReport } from '../../../api/index.js';
import { HOTPLUG_DISKS_DIR } from '../../storage/paths.js';
import type { Domain } from '../domain.js';
import type { DomainDevices, DomainDisk, Size } from '../domain-devices.js';
import { AGENT_CHANNEL } from '../steps/consoles.js';
import { deviceName } from '../steps/device.js';

export interface LiveDomain {
  readonly machineType?: string;
  readonly disks: readonly DomainDiskReport[];
  readonly interfaces: readonly DomainInterfaceReport[];
  /** Name of the device on the host's side → name of the interface. */
  readonly taps: ReadonlyMap<string, string>;
  /** What the guest has now, plugged memory included. */
  readonly memoryBytes?: number;
  /** vCPUs that are plugged in. */
  readonly vcpus?: number;
  readonly isAgentConnected: boolean;
}

const UNITS: Readonly<Record<NonNullable<Size['unit']>, number>> = {
  b: 1,
  bytes: 1,
  KB: 1000,
  k: 1024,
  KiB: 1024,
  MB: 1000 ** 2,
  M: 1024 ** 2,
  MiB: 1024 ** 2,
  GB: 1000 ** 3,
  G: 1024 ** 3,
  GiB: 1024 ** 3,
  TB: 1000 ** 4,
  T: 1024 ** 4,
  TiB: 1024 ** 4,
};

/** libvirt's sizes are KiB unless they say otherwise. */
export function bytesIn(size: Size | undefined): number | undefined {
  return size?.value === undefined ? undefined : Number(size.value) * UNITS[size.unit ?? 'KiB'];
}

export const sourcePath = ({ source }: DomainDisk): string | undefined => {
  const data = source?.dataStore?.source ?? source;
  return data?.file ?? data?.dev;
};

/** Its volume was plugged into the running pod. */
export const isHotplugged = (disk: DomainDisk): boolean => sourcePath(disk)?.startsWith(`${HOTPLUG_DISKS_DIR}/`) === true;

export function describeLive({ devices = {}, os, currentMemory, memory, vcpu }: Domain): LiveDomain {
  const disks = (devices.disk ?? []).flatMap((disk): DomainDiskReport[] => {
    const name = deviceName(disk);
    // A drive without medium is no volume.
    if (name === undefined || sourcePath(disk) === undefined) return [];
    return [{ name, target: disk.target?.dev ?? '' }];
  });
  const interfaces = (devices.interface ?? []).flatMap((each): DomainInterfaceReport[] => {
    const name = deviceName(each);
    return name === undefined ? [] : [{ name, mac: each.mac?.address ?? '' }];
  });
  const taps = (devices.interface ?? []).flatMap((each): [string, string][] => {
    const [name, tap] = [deviceName(each), each.target?.dev];
    return name === undefined || tap === undefined ? [] : [[tap, name]];
  });
  const found = {
    machineType: os?.type?.machine,
    memoryBytes: bytesIn(currentMemory ?? memory),
    vcpus: vcpu?.current ?? vcpu?.value,
  };
  const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  return { ...(given as Pick<LiveDomain, 'vcpus'>), disks, interfaces, taps: new Map(taps), isAgentConnected: isAgentConnected(devices) };
}

const isAgentConnected = ({ channel = [] }: DomainDevices): boolean =>
  channel.some(({ target }) => target?.name === AGENT_CHANNEL && target.state === 'connected');
