// Builds a host's root with the parts of /sys and /dev that passing devices through looks at, in the shapes that kernels give them.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export interface SampleHost {
  readonly root: string;
  file(path: string, text: string): void;
  /** A relative link, as all of /sys are. */
  link(path: string, target: string): void;
  /** A character device. */
  device(path: string): void;
  remove(path: string): void;
}

export function sampleHost(root: string): SampleHost {
  const place = (path: string): string => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  return {
    root,
    file: (path, text) => writeFileSync(place(path), text),
    link: (path, target) => symlinkSync(relative(dirname(path), target), place(path)),
    device: (path) => symlinkSync('/dev/null', place(path)),
    remove: (path) => rmSync(join(root, path), { recursive: true, force: true }),
  };
}

export interface SamplePci {
  readonly address: string;
  readonly id: string;
  readonly driver?: string;
  readonly group?: string;
  readonly numaNode?: number;
  readonly classCode?: string;
}

/** Where the kernel keeps a PCI function; /sys/bus/pci/devices only links there. */
export const pciDir = (address: string): string => `/sys/devices/pci0000:00/${address}`;

export function addPci(host: SampleHost, { address, id, driver, group, numaNode = -1, classCode = '30000' }: SamplePci): void {
  const dir = pciDir(address);
  const lines = [
    ...(driver ? [`DRIVER=${driver}`] : []),
    `PCI_CLASS=${classCode}`,
    `PCI_ID=${id.toUpperCase()}`,
    `PCI_SLOT_NAME=${address}`,
  ];
  host.file(`${dir}/uevent`, `${lines.join('\n')}\n`);
  host.file(`${dir}/numa_node`, `${numaNode}\n`);
  host.link(`/sys/bus/pci/devices/${address}`, dir);
  if (group === undefined) return;
  host.link(`${dir}/iommu_group`, `/sys/kernel/iommu_groups/${group}`);
  host.link(`/sys/kernel/iommu_groups/${group}/devices/${address}`, dir);
}

export interface SampleType {
  readonly parent: string;
  readonly id: string;
  readonly name?: string;
  readonly available: number;
}

export const typeDir = ({ parent, id }: { readonly parent: string; readonly id: string }): string =>
  `${pciDir(parent)}/mdev_supported_types/${id}`;

export function addMdevType(host: SampleHost, type: SampleType): void {
  if (type.name !== undefined) host.file(`${typeDir(type)}/name`, `${type.name}\n`);
  host.file(`${typeDir(type)}/available_instances`, `${type.available}\n`);
  host.file(`${typeDir(type)}/create`, '');
  host.remove(`/sys/class/mdev_bus/${type.parent}`);
  host.link(`/sys/class/mdev_bus/${type.parent}`, pciDir(type.parent));
}

export function addMdev(host: SampleHost, uuid: string, type: SampleType, group: string): void {
  const dir = `${pciDir(type.parent)}/${uuid}`;
  host.link(`${dir}/mdev_type`, typeDir(type));
  host.link(`${dir}/iommu_group`, `/sys/kernel/iommu_groups/${group}`);
  host.file(`${dir}/remove`, '');
  host.link(`/sys/bus/mdev/devices/${uuid}`, dir);
}

export function addUsb(host: SampleHost, port: string, [bus, device]: readonly [number, number], product: string): void {
  const dir = `/sys/devices/pci0000:00/0000:00:14.0/usb${bus}/${port}`;
  const file = [bus, device].map((number) => String(number).padStart(3, '0'));
  const facts = { DEVTYPE: 'usb_device', DEVNAME: `bus/usb/${file.join('/')}`, PRODUCT: product, BUSNUM: file[0], DEVNUM: file[1] };
  host.file(
    `${dir}/uevent`,
    Object.entries(facts)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
  );
  host.link(`/sys/bus/usb/devices/${port}`, dir);
  host.file(`${dir}/${port}:1.0/uevent`, `DEVTYPE=usb_interface\nPRODUCT=${product}\n`);
  host.link(`/sys/bus/usb/devices/${port}:1.0`, `${dir}/${port}:1.0`);
}
