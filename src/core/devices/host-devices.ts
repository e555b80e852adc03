// Which devices of the host go into the guest, and how: VMI host devices, GPUs and SR-IOV interfaces, matched with the addresses that
// device plugins, resource claims and the network status report. The converter renders the result.
import type { GPU, HostDevice, Interface, Network, VGPUDisplayOptions, VirtualMachineInstanceSpec } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { type Allocation, allocate, deviceVariable } from './device-env.js';
import { type PciAddress, pciAddressOf } from './pci-address.js';

export type PassedDevice =
  | (Passed & { readonly kind: 'pci'; readonly host: PciAddress; readonly guest?: PciAddress; readonly bootOrder?: number })
  | (Passed & { readonly kind: 'mdev'; readonly uuid: string; readonly model: string })
  | (Passed & { readonly kind: 'usb'; readonly bus: string; readonly device: string });

interface Passed {
  /** Without the prefix of user-defined aliases. */
  readonly alias: string;
  /** Show the device's own screen. */
  readonly display?: true;
  /** Boot screen until the guest's driver is up. */
  readonly ramFb?: true;
}

/** A device found through a resource claim's metadata. */
export interface ClaimAddresses {
  readonly claimName: string;
  readonly requestName: string;
  readonly pciBusId?: string;
  readonly mdevUuid?: string;
}

export interface DeviceSources {
  readonly env: Readonly<Record<string, string>>;
  /** Undefined while the claims' metadata has not been read: claimed devices are left out. */
  readonly claimedDevices?: readonly ClaimAddresses[];
}

type Requested = Pick<GPU, 'name' | 'deviceName' | 'claimName' | 'requestName' | 'virtualGPUOptions'>;

/** Asked for through a resource claim instead of a device plugin. */
export const isClaimed = (device: Requested): boolean =>
  !device.deviceName && (device.claimName !== undefined || device.requestName !== undefined);

const claimed = <T extends Requested>(devices: readonly T[], { claimedDevices }: DeviceSources): T[] =>
  claimedDevices ? devices.filter(isClaimed) : [];

export function passHostDevices(devices: readonly HostDevice[], sources: DeviceSources, architecture: string | undefined): PassedDevice[] {
  const plugged = [
    ...allocate(devices, sources.env, 'pci').map((found) => passPci(found, 'hostdevice-')),
    ...allocate(devices, sources.env, 'mdev').map((found) => passMdev(found, 'hostdevice-')),
    ...allocate(devices, sources.env, 'usb').map(passUsb),
  ];
  checkCount('HostDevice', devices, plugged.length);
  const model = architecture === 's390x' ? 'vfio-ap' : 'vfio-pci';
  return [...plugged, ...claimed(devices, sources).map((device) => passClaimed(device, sources, { alias: 'dra-hostdevice-', model }))];
}

export function passGpus(gpus: readonly GPU[], sources: DeviceSources): PassedDevice[] {
  const mdevs = allocate(gpus, sources.env, 'mdev').map((found) => withVgpuDisplay(passMdev(found, 'gpu-'), found.device));
  const plugged = [
    ...allocate(gpus, sources.env, 'pci').map((found) => withPciDisplay(passPci(found, 'gpu-'), found.device)),
    ...withDefaultDisplay(mdevs, gpus),
  ];
  checkCount('GPU', gpus, plugged.length);
  const claimedGpus = claimed(gpus, sources).map((gpu) => {
    const passed = passClaimed(gpu, sources, { alias: 'dra-gpu-', model: 'vfio-pci' });
    return passed.kind === 'mdev' ? withVgpuDisplay(passed, gpu) : passed;
  });
  return [...plugged, ...withDefaultDisplay(claimedGpus, gpus)];
}

/** `addresses`: interface name → PCI address. Interfaces that have none yet are plugged in later. */
export function passSriov(
  spec: VirtualMachineInstanceSpec,
  addresses: Readonly<Record<string, string>>,
  sources: DeviceSources,
): PassedDevice[] {
  const networks = new Map((spec.networks ?? []).map((network) => [network.name, network]));
  const sriov = (spec.domain.devices.interfaces ?? []).filter((iface) => iface.sriov !== undefined);
  const passed = (iface: Interface, address: string): PassedDevice => ({
    kind: 'pci',
    alias: `sriov-${iface.name}`,
    host: pciAddressOf(address, `hostdevice ${iface.name}`),
    ...(iface.pciAddress ? { guest: pciAddressOf(iface.pciAddress, `interface ${iface.name}`) } : {}),
    ...(iface.bootOrder === undefined ? {} : { bootOrder: iface.bootOrder }),
  });
  return [
    ...sriov.flatMap((iface) => {
      const address = addresses[iface.name];
      return address === undefined ? [] : [passed(iface, address)];
    }),
    ...sriov.flatMap((iface) => {
      const address = claimedNetworkAddress(networks.get(iface.name), sources);
      return address === undefined ? [] : [passed(iface, address)];
    }),
  ];
}

function claimedNetworkAddress(network: Network | undefined, sources: DeviceSources): string | undefined {
  const claim = network?.resourceClaim;
  if (!claim || !sources.claimedDevices) return undefined;
  const address = sources.claimedDevices.find(matches(claim))?.pciBusId;
  if (address !== undefined) return address;
  throw new KvError('NotReady', `${describeClaim(claim)} of network ${network.name} names no PCI address: check the claim's allocation`);
}

const matches = (claim: { claimName?: string; requestName?: string }) => (device: ClaimAddresses) =>
  device.claimName === claim.claimName && device.requestName === claim.requestName;

const describeClaim = (claim: { claimName?: string; requestName?: string }): string =>
  `request ${claim.requestName ?? '(none)'} of resource claim ${claim.claimName ?? '(none)'}`;

function checkCount(kind: 'GPU' | 'HostDevice', wanted: readonly Requested[], found: number): void {
  const plugged = wanted.filter((device) => !isClaimed(device));
  if (plugged.length === 0 || plugged.length === found) return;
  const names = plugged.map(({ name, deviceName }) => `${name} (${deviceName ?? 'no deviceName'})`).join(', ');
  throw new KvError(
    'Invalid',
    `the number of device plugin ${kind}/s do not match the number of devices: ${found} allocated in this pod for ${names}; ` +
      'permit the devices in the KubeVirt CR and check that the pod was given their resources',
  );
}

const passPci = ({ device, address }: Allocation<Requested>, prefix: string): PassedDevice & { kind: 'pci' } => ({
  kind: 'pci',
  alias: `${prefix}${device.name}`,
  host: pciAddressOf(address, `hostdevice ${device.name}`),
});

const passMdev = ({ device, address }: Allocation<Requested>, prefix: string): PassedDevice & { kind: 'mdev' } => ({
  kind: 'mdev',
  alias: `${prefix}${device.name}`,
  uuid: address,
  model: 'vfio-pci',
});

function passUsb({ device, address }: Allocation<Requested>): PassedDevice {
  const [bus, number, ...rest] = address.split(':');
  if (!bus || !number || rest.length > 0) {
    throw new KvError('Invalid', `failed to create hostdevice for ${device.name}: ${address} is no USB address of the form bus:device`);
  }
  return { kind: 'usb', alias: `usb-host-${device.name}`, bus, device: number };
}

function passClaimed(device: Requested, sources: DeviceSources, { alias, model }: { alias: string; model: string }): PassedDevice {
  const found = sources.claimedDevices?.find(matches(device));
  if (found?.mdevUuid) return { kind: 'mdev', alias: `${alias}${device.name}`, uuid: found.mdevUuid, model };
  if (found?.pciBusId) return passPci({ device, address: found.pciBusId }, alias);
  throw new KvError('NotReady', `${describeClaim(device)} of device ${device.name} names neither a mediated device nor a PCI address`);
}

const showsRamFb = (display: VGPUDisplayOptions): boolean => display.ramFB?.enabled !== false;

/** A mediated GPU shows its screen unless told otherwise, once any display option is given. */
function withVgpuDisplay(passed: PassedDevice, { virtualGPUOptions }: Requested): PassedDevice {
  const display = virtualGPUOptions?.display;
  if (!display || display.enabled === false) return passed;
  return { ...passed, display: true, ...(showsRamFb(display) ? { ramFb: true as const } : {}) };
}

/** A whole GPU shows its screen only on request. */
function withPciDisplay(passed: PassedDevice, { virtualGPUOptions }: Requested): PassedDevice {
  return virtualGPUOptions?.display?.enabled === true ? withVgpuDisplay(passed, { name: '', virtualGPUOptions }) : passed;
}

/** Where no GPU mentions its display, the first mediated one gets it. */
function withDefaultDisplay(passed: readonly PassedDevice[], gpus: readonly GPU[]): PassedDevice[] {
  const first = gpus.some((gpu) => gpu.virtualGPUOptions?.display) ? undefined : passed.find(({ kind }) => kind === 'mdev');
  return passed.map((device) => (device === first ? { ...device, display: true, ramFb: true } : device));
}

/** A plugin serves one of the devices as USB device, so the guest needs a USB bus. */
export const needsUsbBus = (devices: readonly HostDevice[], env: Readonly<Record<string, string>>): boolean =>
  devices.some(({ deviceName = '' }) => deviceVariable('usb', deviceName) in env);
