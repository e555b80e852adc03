// What device elements have in common: the alias by which a device is found again, boot order and PCI address.
import type { PciAddress } from '../../devices/index.js';
import type { Address, Device } from '../domain-devices.js';

/** libvirt leaves aliases with this prefix to the user and gives them back unchanged. */
const USER_ALIAS = 'ua-';

export const aliased = (name: string): Pick<Device, 'alias'> => ({ alias: { name: `${USER_ALIAS}${name}` } });

/** Name that we gave a device; undefined for those that libvirt added. */
export const deviceName = ({ alias }: Pick<Device, 'alias'>): string | undefined =>
  alias?.name?.startsWith(USER_ALIAS) ? alias.name.slice(USER_ALIAS.length) : undefined;

export const bootOrder = (order: number | undefined): Device['boot'] => (order === undefined ? undefined : { order });

export const pciPlace = (address: PciAddress): Address => ({ type: 'pci', ...address });

/** Devices of an encrypted guest do their DMA through the IOMMU. */
export const iommuDriver = (iommu: boolean): { readonly iommu: true } | undefined => (iommu ? { iommu: true } : undefined);
