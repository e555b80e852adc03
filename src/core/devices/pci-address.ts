// PCI addresses as people and device plugins write them: domain:bus:slot.function in hexadecimal.
import { KvError } from '../../base/errors.js';

export interface PciAddress {
  readonly domain: string;
  readonly bus: string;
  readonly slot: string;
  readonly function: string;
}

const SHAPE = /^([\da-fA-F]{4}):([\da-fA-F]{2}):([\da-fA-F]{2})\.([0-7])$/;

/** Undefined for anything but a full address. */
export function parsePciAddress(text: string): PciAddress | undefined {
  const match = SHAPE.exec(text);
  const [, domain, bus, slot, fn] = match ?? [];
  return domain && bus && slot && fn ? { domain: `0x${domain}`, bus: `0x${bus}`, slot: `0x${slot}`, function: `0x${fn}` } : undefined;
}

/** `owner` names the device in the error. */
export function pciAddressOf(text: string, owner: string): PciAddress {
  const address = parsePciAddress(text);
  if (!address) {
    throw new KvError('Invalid', `failed to configure ${owner}: failed to parse pci address ${text}: write it as 0000:81:01.0`);
  }
  return address;
}
