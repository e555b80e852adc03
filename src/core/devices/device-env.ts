// The contract between device plugins and the launcher: for each resource a container got, an environment variable lists the addresses of the
// allocated devices. An address handed out once is never handed out again, even if another resource lists it too.

export type DeviceKind = 'pci' | 'mdev' | 'usb';

const PREFIXES: Readonly<Record<DeviceKind, string>> = { pci: 'PCI_RESOURCE', mdev: 'MDEV_PCI_RESOURCE', usb: 'USB_RESOURCE' };

/** vendor.com/gpu → PCI_RESOURCE_VENDOR_COM_GPU. */
export const deviceVariable = (kind: DeviceKind, resource: string): string =>
  `${PREFIXES[kind]}_${resource.toUpperCase().replace(/[/.]/g, '_')}`;

/** Addresses allocated for a resource, in the plugin's order; undefined when no plugin of this kind serves it. */
export function allocatedAddresses(
  env: Readonly<Record<string, string>>,
  kind: DeviceKind,
  resource: string,
): readonly string[] | undefined {
  const value = env[deviceVariable(kind, resource)];
  return value?.replace(/,$/, '').split(',').filter(Boolean);
}

export interface Allocation<T> {
  readonly device: T;
  readonly address: string;
}

/** Gives each device the next free address of its resource. Devices without one are left out: they may be of another kind. */
export function allocate<T extends { readonly deviceName?: string }>(
  devices: readonly T[],
  env: Readonly<Record<string, string>>,
  kind: DeviceKind,
): Allocation<T>[] {
  const taken = new Set<string>();
  return devices.flatMap((device) => {
    const address = allocatedAddresses(env, kind, device.deviceName ?? '')?.find((candidate) => !taken.has(candidate));
    if (address === undefined) return [];
    taken.add(address);
    return [{ device, address }];
  });
}
