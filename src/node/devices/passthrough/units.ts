// Which devices of a node go to guests, and as what: from the cluster's permissions and what the kernel shows to the units that the kubelet
// hands out. What one IOMMU group holds goes together, and only where no driver of the host keeps a part of it. Pure.
import type { DeviceKind } from '../../../core/devices/device-env.js';
import type { PermittedDevices, UsbId, UsbSet } from '../../../core/devices/permitted.js';
import type { Mdev, PciInventory, UsbDevice, WantedFunction } from './sysfs.js';

/** What a container gets or does not get as a whole. */
export interface Unit {
  /** The kubelet's name of it; must be the same after a restart of this process. */
  readonly id: string;
  /** As the launcher takes them: PCI addresses, UUIDs, bus:device. */
  readonly addresses: readonly string[];
  /** Device nodes without which it is of no use. */
  readonly nodes: readonly string[];
  /** Device nodes that are handed over where the kernel makes them. */
  readonly extraNodes?: readonly string[];
  readonly numaNode?: number;
  /** It was offered, and cannot be used any more. */
  readonly isLost?: true;
}

export interface Offer {
  readonly kind: DeviceKind;
  readonly resourceName: string;
  readonly units: readonly Unit[];
}

export interface Finding {
  readonly resourceName: string;
  readonly message: string;
}

export interface Inventory {
  readonly pci: PciInventory;
  readonly mdevs: readonly Mdev[];
  readonly usb: readonly UsbDevice[];
}

export interface Offers {
  /** Only resources of which this node has something, or had. */
  readonly offers: readonly Offer[];
  /** Devices that are permitted and cannot be handed out. */
  readonly findings: readonly Finding[];
}

const VFIO = '/dev/vfio/vfio';
/** vfio-pci itself, and drivers of vendors that add migration to it. */
const VFIO_DRIVER = /(^|[-_])vfio[-_]pci$/;
/** They leave a group to the guest though they hold a function of it. */
const HARMLESS_DRIVERS = ['', 'pci-stub', 'pcieport'];

export function offersOf(permitted: PermittedDevices, inventory: Inventory, before: readonly Offer[] = []): Offers {
  const findings: Finding[] = [];
  const offers = [
    ...pciOffers(permitted.pci, inventory.pci, findings),
    ...mdevOffers(permitted.mdev, inventory.mdevs, findings),
    ...usbOffers(permitted.usb, inventory.usb, before),
  ];
  const pci = new Set(permitted.pci.values());
  return {
    offers: withLost(
      offers,
      before.filter(({ kind, resourceName }) => kind === 'pci' && pci.has(resourceName)),
    ),
    findings,
  };
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const numa = ([first]: readonly { readonly numaNode?: number }[]): { readonly numaNode?: number } =>
  first?.numaNode === undefined ? {} : { numaNode: first.numaNode };

function pciOffers(permitted: ReadonlyMap<string, string>, inventory: PciInventory, findings: Finding[]): Offer[] {
  const byResource = grouped(
    inventory.wanted.filter(({ id }) => permitted.has(id)),
    ({ id }) => permitted.get(id) ?? '',
  );
  return [...byResource].flatMap(([resourceName, functions]): Offer[] => {
    const usable = functions.filter((one) => {
      const trouble = pciTrouble(one, inventory);
      if (trouble !== undefined) findings.push({ resourceName, message: `PCI device ${one.address} (${one.id}) ${trouble}` });
      return trouble === undefined;
    });
    const units = [...grouped(usable, ({ group = '' }) => group)].map(([group, members]) => pciUnit(group, members));
    return units.length === 0 ? [] : [{ kind: 'pci', resourceName, units }];
  });
}

const pciUnit = (group: string, members: readonly WantedFunction[]): Unit => ({
  id: group,
  addresses: members.map(({ address }) => address),
  nodes: [VFIO, `/dev/vfio/${group}`],
  extraNodes: members.flatMap(({ cdevs }) => cdevs.map((name) => `/dev/vfio/devices/${name}`)),
  ...numa(members),
});

const isForGuests = ({ driver, isVgpu }: WantedFunction): boolean => VFIO_DRIVER.test(driver) || (driver === 'nvidia' && isVgpu);

function pciTrouble(wanted: WantedFunction, { all }: PciInventory): string | undefined {
  if (!isForGuests(wanted)) {
    return `is held by ${wanted.driver ? `the driver ${wanted.driver}` : 'no driver'}: bind it to vfio-pci to give it to guests`;
  }
  if (wanted.group === undefined) {
    return 'is guarded by no IOMMU: switch it on in the firmware and, for Intel, with the kernel argument intel_iommu=on';
  }
  const holder = wanted.groupMembers
    .map((address) => all.get(address))
    .find(
      (one) =>
        one && !one.isBridge && !VFIO_DRIVER.test(one.driver) && !HARMLESS_DRIVERS.includes(one.driver) && one.address !== wanted.address,
    );
  return (
    holder &&
    `shares IOMMU group ${wanted.group} with ${holder.address} (${holder.id}), which the driver ${holder.driver} holds: bind that to vfio-pci, too`
  );
}

/** The kubelet hears of a lost device that it is unhealthy: what merely left the list would look as if the node never had it. */
function withLost(offers: readonly Offer[], before: readonly Offer[]): Offer[] {
  const merged = new Map(offers.map((offer) => [offer.resourceName, offer]));
  for (const old of before) {
    const now = merged.get(old.resourceName)?.units ?? [];
    const lost = old.units.filter(({ id }) => !now.some((unit) => unit.id === id)).map((unit): Unit => ({ ...unit, isLost: true }));
    merged.set(old.resourceName, { ...old, units: [...now, ...lost] });
  }
  return [...merged.values()];
}

function mdevOffers(permitted: ReadonlyMap<string, string>, mdevs: readonly Mdev[], findings: Finding[]): Offer[] {
  const resourceOf = ({ typeName, typeId }: Mdev): string => permitted.get(typeName) ?? permitted.get(typeId) ?? '';
  return [...grouped(mdevs.filter(resourceOf), resourceOf)].flatMap(([resourceName, found]): Offer[] => {
    const units = found.flatMap((mdev): Unit[] => {
      if (mdev.group !== undefined) {
        return [{ id: mdev.group, addresses: [mdev.uuid], nodes: [VFIO, `/dev/vfio/${mdev.group}`], ...numa([mdev]) }];
      }
      findings.push({
        resourceName,
        message: `mediated device ${mdev.uuid} of ${mdev.parent} has no IOMMU group: load the module vfio_mdev`,
      });
      return [];
    });
    return units.length === 0 ? [] : [{ kind: 'mdev', resourceName, units }];
  });
}

const addressOf = ({ bus, device }: UsbDevice): string => `${bus}:${device}`;
const matches = (wanted: UsbId, { vendor, product }: UsbDevice): boolean => wanted.vendor === vendor && wanted.product === product;

/** Sets stay as they were put together before: one may be with a guest already. */
function usbOffers(sets: readonly UsbSet[], devices: readonly UsbDevice[], before: readonly Offer[]): Offer[] {
  const free = new Map(devices.map((device) => [addressOf(device), device]));
  const take = (found: readonly UsbDevice[]): Unit => {
    for (const device of found) free.delete(addressOf(device));
    return usbUnit(found);
  };
  const kept = sets.map((set) => keptSets(set, free, before).map(take));
  const units = sets.map((set, at) => {
    const made = [...(kept[at] ?? [])];
    for (let next = nextSet(set, free); next; next = nextSet(set, free)) made.push(take(next));
    return { resourceName: set.resourceName, made };
  });
  return [...grouped(units, ({ resourceName }) => resourceName)].flatMap(([resourceName, found]): Offer[] => {
    const all = found.flatMap(({ made }) => made);
    return all.length === 0 ? [] : [{ kind: 'usb', resourceName, units: all }];
  });
}

function keptSets({ resourceName, members }: UsbSet, free: ReadonlyMap<string, UsbDevice>, before: readonly Offer[]): UsbDevice[][] {
  const old = before.filter((offer) => offer.kind === 'usb' && offer.resourceName === resourceName).flatMap(({ units }) => units);
  return old.flatMap(({ addresses }) => {
    const found = addresses.flatMap((address) => free.get(address) ?? []);
    const isSame = found.length === members.length && members.every((wanted, at) => found[at] && matches(wanted, found[at]));
    return isSame ? [found] : [];
  });
}

/** One device for each member; undefined when one is not plugged in. */
function nextSet({ members }: UsbSet, free: ReadonlyMap<string, UsbDevice>): UsbDevice[] | undefined {
  const found = new Set<UsbDevice>();
  for (const wanted of members) {
    const device = [...free.values()].find((one) => matches(wanted, one) && !found.has(one));
    if (!device) return undefined;
    found.add(device);
  }
  return found.size === 0 ? undefined : [...found];
}

const usbUnit = (found: readonly UsbDevice[]): Unit => ({
  id: found.map(addressOf).join('+'),
  addresses: found.map(addressOf),
  nodes: found.map(({ path }) => path),
});
