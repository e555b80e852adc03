// Controllers that disks, consoles and USB devices need; PCI ports are libvirt's business unless hotplug asks for spare ones.
import { needsUsbBus } from '../../devices/index.js';
import type { DomainController } from '../domain-devices.js';
import { busOf, scsiThread } from '../io-threads.js';
import type { Scope } from '../scope.js';
import type { Fragment, Step } from '../step.js';
import { iommuDriver } from './device.js';

type Needs = 'vmi' | 'devices' | 'arch' | 'virtioModel' | 'iommu' | 'cpus' | 'ioThreads' | 'env';

export const controllers: Step<Needs> = {
  name: 'controllers',
  render: (scope): Fragment => ({
    devices: {
      controller: [
        { type: 'usb', index: 0, model: needsUsb(scope) ? 'qemu-xhci' : 'none' },
        ...scsi(scope),
        ...pcieRoot(scope),
        ...virtioSerial(scope),
      ],
    },
  }),
};

function needsUsb({ arch, devices, env }: Pick<Scope, Needs>): boolean {
  if (arch.usb !== 'asked') return arch.usb === 'always';
  return (
    devices.clientPassthrough !== undefined ||
    (devices.inputs ?? []).some(({ bus }) => !bus || bus === 'usb') ||
    (devices.disks ?? []).some((disk) => busOf(disk) === 'usb') ||
    needsUsbBus(devices.hostDevices ?? [], env)
  );
}

/** Also without SCSI disks: hotplugged ones attach to it. */
function scsi({ devices, arch, virtioModel, iommu, cpus, ioThreads }: Pick<Scope, Needs>): DomainController[] {
  const disks = devices.disks ?? [];
  if (devices.disableHotplug && !disks.some((disk) => busOf(disk) === 'scsi')) return [];
  const iothread = scsiThread(disks, ioThreads);
  const driver = iothread === undefined ? iommuDriver(iommu) : { iothread, queues: cpus.vcpus || 1, ...iommuDriver(iommu) };
  return [{ type: 'scsi', index: 0, model: arch.scsiModel(virtioModel), driver }];
}

/** Old guests cannot use the 64-bit window of PCI memory. */
function pcieRoot({ vmi, arch }: Pick<Scope, Needs>): DomainController[] {
  if (!arch.pciHole64 || vmi.metadata.annotations?.['kubevirt.io/disablePCIHole64']?.toLowerCase() !== 'true') return [];
  return [{ type: 'pci', index: 0, model: 'pcie-root', pcihole64: { unit: 'KiB', value: 0 } }];
}

function virtioSerial({ devices, virtioModel, iommu }: Pick<Scope, Needs>): DomainController[] {
  if (devices.autoattachSerialConsole === false) return [];
  return [{ type: 'virtio-serial', index: 0, model: virtioModel, driver: iommuDriver(iommu) }];
}
