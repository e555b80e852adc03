// What device elements have in common: the alias by which a device is found again, boot order and PCI address.
import type { PciAddress } from '../../devices/index.js';
import { el, type XmlNode } from '../xml.js';

/** libvirt leaves aliases with this prefix to the user and gives them back unchanged. */
const USER_ALIAS = 'ua-';

export const alias = (name: string): XmlNode => el('alias', { name: `${USER_ALIAS}${name}` });

/** The name behind an alias; undefined for aliases that libvirt made up. */
export const nameOfAlias = (value: string | undefined): string | undefined =>
  value?.startsWith(USER_ALIAS) ? value.slice(USER_ALIAS.length) : undefined;

export const bootOrder = (order: number | undefined): XmlNode | undefined => (order === undefined ? undefined : el('boot', { order }));

export const pciAddressEl = (address: PciAddress): XmlNode => el('address', { type: 'pci', ...address });

/** Devices of an encrypted guest do their DMA through the IOMMU. */
export const iommuDriver = (iommu: boolean): XmlNode | undefined => (iommu ? el('driver', { iommu: 'on' }) : undefined);
