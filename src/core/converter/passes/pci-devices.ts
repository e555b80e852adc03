// Which devices of a domain take a place on the PCI bus, in the order in which they are placed.
import type { Device, DomainDevices } from '../domain-devices.js';

/** Buses themselves have no address. */
const BUSES = new Set(['pci-root', 'pcie-root', 'pcie-expander-bus']);

type Placed = Pick<Device, 'address'>;
type Change = <D extends Placed>(device: D) => D;

/** Devices that have an address of another kind (a drive on a controller …) are not among them. */
const mayBeOnPci = ({ address }: Placed): boolean => address?.type === undefined || address.type === 'pci';

/** Changes each of them. */
export function mapPciDevices(devices: DomainDevices, change: Change): DomainDevices {
  const one = <D extends Placed>(device: D): D => (mayBeOnPci(device) ? change(device) : device);
  const all = <D extends Placed>(list: readonly D[] | undefined): readonly D[] | undefined => list?.map(one);
  const some = <D extends Placed>(list: readonly D[] | undefined, isOnPci: (device: D) => boolean): readonly D[] | undefined =>
    list?.map((device) => (isOnPci(device) ? one(device) : device));
  return {
    ...devices,
    interface: all(devices.interface),
    hostdev: some(devices.hostdev, ({ type }) => type === 'pci'),
    controller: some(devices.controller, ({ model }) => !BUSES.has(model ?? '')),
    disk: some(devices.disk, ({ target }) => target?.bus === 'virtio'),
    input: some(devices.input, ({ bus }) => bus === 'virtio'),
    watchdog: all(devices.watchdog),
    rng: all(devices.rng),
    memballoon: devices.memballoon && one(devices.memballoon),
  };
}

export function pciDevices(devices: DomainDevices): Placed[] {
  const found: Placed[] = [];
  mapPciDevices(devices, (device) => {
    found.push(device);
    return device;
  });
  return found;
}
