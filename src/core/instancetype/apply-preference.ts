// Fills what a VMI template leaves open with the values of a preference. A preference never overrides what the template says; the two
// exceptions (ACPI and disabled hot-plug) are fields whose absence cannot be told from their default. Changes the given template in place.
import type { Disk, Interface, VirtualMachineInstanceSpec, VirtualMachinePreferenceSpec } from '../../api/index.js';
import type { Template } from './apply-instancetype.js';

type Node = Record<string, unknown>;

const isOpen = (value: unknown): boolean => value === undefined || value === null || value === '';

/** Sets each named field of `target` that is still open and has a value to take. */
function fill(target: object, values: Readonly<Record<string, unknown>>): void {
  const node = target as Node;
  for (const [key, value] of Object.entries(values)) {
    if (!isOpen(value) && isOpen(node[key])) node[key] = structuredClone(value);
  }
}

type Step = (preference: VirtualMachinePreferenceSpec, spec: VirtualMachineInstanceSpec) => void;

const cpuFeatures: Step = ({ cpu }, { domain }) => {
  const own = new Set(domain.cpu?.features?.map((f) => f.name));
  const wanted = (cpu?.preferredCPUFeatures ?? []).filter((f) => !own.has(f.name));
  if (wanted.length > 0) domain.cpu = { ...domain.cpu, features: [...(domain.cpu?.features ?? []), ...structuredClone(wanted)] };
};

/** Whether devices are there by default. Also asked alone, before those devices are added to a VMI. */
export function applyAutoattach(
  { devices: wanted }: VirtualMachinePreferenceSpec,
  { domain: { devices } }: VirtualMachineInstanceSpec,
): void {
  fill(devices, {
    autoattachGraphicsDevice: wanted?.preferredAutoattachGraphicsDevice,
    autoattachMemBalloon: wanted?.preferredAutoattachMemBalloon,
    autoattachPodInterface: wanted?.preferredAutoattachPodInterface,
    autoattachSerialConsole: wanted?.preferredAutoattachSerialConsole,
    autoattachInputDevice: wanted?.preferredAutoattachInputDevice,
  });
}

const deviceSwitches: Step = (preference, spec) => {
  const { devices: wanted } = preference;
  const { devices } = spec.domain;
  if (!wanted) return;
  applyAutoattach(preference, spec);
  fill(devices, {
    useVirtioTransitional: wanted.preferredUseVirtioTransitional,
    blockMultiQueue: wanted.preferredBlockMultiQueue,
    networkInterfaceMultiqueue: wanted.preferredNetworkInterfaceMultiQueue,
    rng: wanted.preferredRng,
    tpm: wanted.preferredTPM,
  });
  if (wanted.preferredDisableHotplug !== undefined) devices.disableHotplug = wanted.preferredDisableHotplug;
  if (devices.sound) fill(devices.sound, { model: wanted.preferredSoundModel });
  if (wanted.preferredVideoType !== undefined) {
    devices.video ??= {};
    fill(devices.video, { type: wanted.preferredVideoType });
  }
};

type Devices = NonNullable<VirtualMachinePreferenceSpec['devices']>;

function fillDisk(disk: Disk, wanted: Devices): void {
  if (!disk.cdrom && !disk.lun) disk.disk ??= {};
  if (disk.disk) {
    fill(disk.disk, { bus: wanted.preferredDiskBus });
    const dedicatedIOThread = disk.disk.bus === 'virtio' ? wanted.preferredDiskDedicatedIoThread : undefined;
    fill(disk, {
      blockSize: wanted.preferredDiskBlockSize,
      cache: wanted.preferredDiskCache,
      io: wanted.preferredDiskIO,
      dedicatedIOThread,
    });
  } else if (disk.cdrom) fill(disk.cdrom, { bus: wanted.preferredCdromBus });
  else if (disk.lun) fill(disk.lun, { bus: wanted.preferredLunBus });
}

const disks: Step = ({ devices: wanted }, { domain }) => {
  if (wanted) for (const disk of domain.devices.disks ?? []) fillDisk(disk, wanted);
};

const BINDINGS = ['bridge', 'masquerade', 'sriov', 'slirp', 'macvtap', 'passt', 'passtBinding', 'binding'] as const;
const isUnbound = (iface: Interface): boolean => BINDINGS.every((b) => isOpen(iface[b]));

const interfaces: Step = ({ devices: wanted }, { domain, networks = [] }) => {
  if (!wanted) return;
  for (const iface of domain.devices.interfaces ?? []) {
    fill(iface, { model: wanted.preferredInterfaceModel });
    const onPodNetwork = networks.find((n) => n.name === iface.name)?.pod !== undefined;
    if (onPodNetwork && isUnbound(iface)) fill(iface, { masquerade: wanted.preferredInterfaceMasquerade });
  }
};

const inputs: Step = ({ devices: wanted }, { domain }) => {
  for (const input of domain.devices.inputs ?? []) fill(input, { bus: wanted?.preferredInputBus, type: wanted?.preferredInputType });
};

const panicDevices: Step = ({ devices: wanted }, { domain: { devices } }) => {
  const model = wanted?.preferredPanicDeviceModel;
  if (model === undefined) return;
  if (!devices.panicDevices?.length) devices.panicDevices = [{ model }];
  else for (const device of devices.panicDevices) fill(device, { model });
};

const features: Step = ({ features: wanted }, { domain }) => {
  if (!wanted) return;
  domain.features ??= {};
  if (wanted.preferredAcpi) domain.features.acpi = structuredClone(wanted.preferredAcpi);
  if (wanted.preferredHyperv) {
    domain.features.hyperv ??= {};
    fill(domain.features.hyperv, { ...wanted.preferredHyperv });
  }
  fill(domain.features, {
    apic: wanted.preferredApic,
    kvm: wanted.preferredKvm,
    pvspinlock: wanted.preferredPvspinlock,
    smm: wanted.preferredSmm,
  });
};

/** The newer `preferredEfi` decides alone; the older switches count only without it. */
const firmware: Step = ({ firmware: wanted }, { domain }) => {
  if (!wanted) return;
  const own = domain.firmware ?? {};
  domain.firmware = own;
  const loader = own.bootloader ?? {};
  own.bootloader = loader;
  const isUndecided = (): boolean => !loader.bios && !loader.efi;
  if (wanted.preferredUseBios && isUndecided()) loader.bios = {};
  if (loader.bios) fill(loader.bios, { useSerial: wanted.preferredUseBiosSerial });
  if (wanted.preferredEfi && isUndecided()) {
    loader.efi = structuredClone(wanted.preferredEfi);
    return;
  }
  if (wanted.preferredUseEfi && isUndecided()) loader.efi = {};
  if (loader.efi) fill(loader.efi, { secureBoot: wanted.preferredUseSecureBoot });
};

const machine: Step = ({ machine: wanted }, { domain }) => {
  if (!wanted?.preferredMachineType) return;
  domain.machine ??= {};
  fill(domain.machine, { type: wanted.preferredMachineType });
};

const clock: Step = ({ clock: wanted }, { domain }) => {
  if (!wanted) return;
  const own = domain.clock ?? {};
  domain.clock = own;
  if (wanted.preferredClockOffset && own.utc === undefined && own.timezone === undefined) {
    Object.assign(own, structuredClone(wanted.preferredClockOffset));
  }
  fill(own, { timer: wanted.preferredTimer });
};

const scalars: Step = (wanted, spec) => {
  fill(spec, {
    subdomain: wanted.preferredSubdomain,
    terminationGracePeriodSeconds: wanted.preferredTerminationGracePeriodSeconds,
    architecture: wanted.preferredArchitecture,
  });
  fill(spec.domain, { launchSecurity: wanted.preferredLaunchSecurity });
};

const STEPS: readonly Step[] = [
  cpuFeatures,
  deviceSwitches,
  disks,
  interfaces,
  inputs,
  panicDevices,
  features,
  firmware,
  machine,
  clock,
  scalars,
];

export function applyPreference(preference: VirtualMachinePreferenceSpec, { spec, metadata }: Template): void {
  for (const step of STEPS) step(preference, spec);
  if (preference.annotations) metadata.annotations = { ...preference.annotations, ...metadata.annotations };
}
