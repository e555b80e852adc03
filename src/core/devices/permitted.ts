// What permittedHostDevices of the KubeVirt CR means: which PCI ids, mediated types and USB devices belong to which resource, and what in it
// cannot be meant. Read by the node agent, which offers the devices, and by the admission of the CR, which warns. Knows no hardware.
import type { PermittedHostDevices, USBHostDevice } from '../../api/index.js';
import { DEVICE } from '../../api/labels.js';
import type { DeviceKind } from './device-env.js';

export interface UsbId {
  readonly vendor: number;
  readonly product: number;
}

/** Devices that only go to a guest together. */
export interface UsbSet {
  readonly resourceName: string;
  readonly members: readonly UsbId[];
}

export interface PermittedDevices {
  /** vendor:device in small letters → resource. */
  readonly pci: ReadonlyMap<string, string>;
  /** Name or id of a type, see mdevTypeName → resource. */
  readonly mdev: ReadonlyMap<string, string>;
  readonly usb: readonly UsbSet[];
  /** Each tells what is wrong, and what becomes of it. */
  readonly problems: readonly string[];
}

const PCI_ID = /^[0-9a-f]{4}:[0-9a-f]{4}$/;
const USB_NUMBER = /^(0x)?[0-9a-f]{1,4}$/i;
/** What the kubelet takes as an extended resource. */
const RESOURCE = /^(?!requests\.)[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const OF_KUBERNETES = /(^|\.)kubernetes\.io\//;
const OWN: ReadonlySet<string> = new Set(Object.values(DEVICE));

/** Types have names with blanks, as GRID T4-1Q; configuration writes them with or without. */
export const mdevTypeName = (given: string): string => given.trim().replaceAll(' ', '_');

interface Entry {
  readonly kind: DeviceKind;
  readonly field: string;
  readonly resourceName: string;
  /** PCI id or type. */
  readonly selector?: string;
  readonly usb?: USBHostDevice;
}

function entriesOf({ pciHostDevices = [], mediatedDevices = [], usb = [] }: PermittedHostDevices): Entry[] {
  return [
    ...pciHostDevices.map(
      (given, at) => ({ ...given, kind: 'pci', field: `pciHostDevices[${at}]`, selector: given.pciVendorSelector.toLowerCase() }) as const,
    ),
    ...mediatedDevices.map(
      (given, at) => ({ ...given, kind: 'mdev', field: `mediatedDevices[${at}]`, selector: mdevTypeName(given.mdevNameSelector) }) as const,
    ),
    ...usb.map((given, at) => ({ ...given, kind: 'usb', field: `usb[${at}]`, usb: given }) as const),
  ].filter(({ externalResourceProvider }) => externalResourceProvider !== true);
}

/** Entries that somebody else serves are left out. */
export function permittedDevices(given: PermittedHostDevices | undefined): PermittedDevices {
  const problems: string[] = [];
  const kinds = new Map<string, Entry>();
  const sound = entriesOf(given ?? {}).filter((entry) => {
    const first = kinds.get(entry.resourceName) ?? entry;
    const trouble = nameTrouble(entry) ?? kindTrouble(entry, first) ?? selectorTrouble(entry);
    if (trouble === undefined) kinds.set(entry.resourceName, first);
    else problems.push(`${entry.field} (${entry.resourceName}) is left out: ${trouble}`);
    return trouble === undefined;
  });
  return { pci: byId(sound, 'pci', problems), mdev: byId(sound, 'mdev', problems), usb: sound.flatMap(usbSet), problems };
}

function nameTrouble({ resourceName }: Entry): string | undefined {
  if (OWN.has(resourceName)) return "the resource is one of KubeVirt's own: choose another resourceName";
  if (RESOURCE.test(resourceName) && !OF_KUBERNETES.test(resourceName)) return undefined;
  return 'the kubelet takes no such resourceName: write DOMAIN/NAME, as in example.com/gpu';
}

/** One plugin serves a resource, and it tells the launcher the addresses of one kind. */
const kindTrouble = ({ kind }: Entry, first: Entry): string | undefined =>
  kind === first.kind ? undefined : `${first.field} has the same resourceName for devices of another kind: give each its own`;

function selectorTrouble({ kind, selector = '', usb }: Entry): string | undefined {
  if (kind === 'pci' && !PCI_ID.test(selector)) return `pciVendorSelector ${selector} is no VENDOR:DEVICE of four hexadecimal digits each`;
  if (kind === 'mdev' && selector === '') return 'mdevNameSelector is empty';
  if (kind !== 'usb') return undefined;
  const members = usb?.selectors ?? [];
  if (members.length === 0) return 'it selects no device: list vendor and product under selectors';
  const wrong = members.flatMap(({ vendor, product }) => [vendor, product]).find((number) => !USB_NUMBER.test(number));
  return wrong === undefined ? undefined : `${wrong} is no vendor or product: write up to four hexadecimal digits`;
}

/** A device has one resource: of two entries for it the later one counts. */
function byId(entries: readonly Entry[], kind: DeviceKind, problems: string[]): Map<string, string> {
  const found = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.kind !== kind || entry.selector === undefined) continue;
    const earlier = found.get(entry.selector);
    if (earlier && earlier.resourceName !== entry.resourceName) {
      problems.push(
        `${earlier.field} (${earlier.resourceName}) has no effect: ${entry.field} gives ${entry.selector} to ${entry.resourceName}`,
      );
    }
    found.set(entry.selector, entry);
  }
  return new Map([...found].map(([selector, { resourceName }]) => [selector, resourceName]));
}

function usbSet({ resourceName, usb }: Entry): UsbSet[] {
  if (!usb) return [];
  const members = (usb.selectors ?? []).map(({ vendor, product }) => ({ vendor: parseInt(vendor, 16), product: parseInt(product, 16) }));
  return [{ resourceName, members }];
}
