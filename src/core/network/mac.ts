// MAC addresses: what a VMI may ask for, and their bytes. Used by admission, the network plans and the DHCP codecs.

/** The bridge of every masquerade binding has this MAC, so that a guest's ARP entry survives migration; no guest may use it. */
export const BRIDGE_MAC = '02:00:00:00:00:00';

const SEPARATED = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)$/i;
const DOTTED = /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i;
const LENGTH = 6;

/** The six bytes of xx:xx:xx:xx:xx:xx, xx-xx-… or xxxx.xxxx.xxxx; undefined for anything else. */
export function parseMac(text: string): Uint8Array | undefined {
  if (!SEPARATED.test(text) && !DOTTED.test(text)) return undefined;
  const hex = text.replace(/[:.-]/g, '');
  return hex.length === 2 * LENGTH
    ? Uint8Array.from({ length: LENGTH }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16))
    : undefined;
}

export const formatMac = (bytes: Uint8Array): string => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(':');

/** Empty means "choose one" and is fine. */
export const isValidMac = (text: string): boolean => text === '' || parseMac(text) !== undefined;

export const isReservedMac = (text: string): boolean => text === BRIDGE_MAC;
