// How the guest boots: machine type, firmware, boot menu, a kernel from an image, ACPI tables.
import type { Firmware, Volume } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import { kernelBootFile, secretDir } from '../../storage/paths.js';
import type { AcpiTables, DomainOs } from '../domain.js';
import type { Fragment, Step } from '../step.js';
import { efiFirmware, type FirmwareNeeds } from './firmware.js';

/** Long enough to attach a console to a guest that waits to be unpaused. */
const BOOT_MENU_MS = 10_000;

export const os: Step<FirmwareNeeds | 'arch'> = {
  name: 'os',
  render(scope): Fragment {
    const { vmi, domain, arch } = scope;
    return {
      os: {
        type: { arch: arch.osArch, machine: domain.machine?.type || arch.defaultMachine, value: 'hvm' },
        ...efiFirmware(scope),
        acpi: acpiTables(domain.firmware, vmi.spec.volumes ?? []),
        smbios: arch.smbios ? { mode: 'sysinfo' } : undefined,
        bootmenu: vmi.spec.startStrategy === 'Paused' ? { enable: true, timeout: BOOT_MENU_MS } : undefined,
        bios: domain.firmware?.bootloader?.bios?.useSerial === true ? { useserial: true } : undefined,
        ...kernel(domain.firmware),
      },
    };
  },
};

function kernel(firmware: Firmware | undefined): Pick<DomainOs, 'kernel' | 'initrd' | 'cmdline'> {
  const { container, kernelArgs } = firmware?.kernelBoot ?? {};
  return {
    kernel: container?.kernelPath ? kernelBootFile(container.kernelPath) : undefined,
    initrd: container?.initrdPath ? kernelBootFile(container.initrdPath) : undefined,
    cmdline: kernelArgs || undefined,
  };
}

function acpiTables(firmware: Firmware | undefined, volumes: readonly Volume[]): AcpiTables | undefined {
  if (!firmware?.acpi) return undefined;
  const { slicNameRef, msdmNameRef } = firmware.acpi;
  if (!slicNameRef && !msdmNameRef) {
    throw new KvError('Invalid', 'no ACPI tables were set, expecting at least one of firmware.acpi.slicNameRef and msdmNameRef');
  }
  return { table: [...acpiTable('slic', slicNameRef, volumes), ...acpiTable('msdm', msdmNameRef, volumes)] };
}

function acpiTable(type: 'slic' | 'msdm', volumeName: string | undefined, volumes: readonly Volume[]): NonNullable<AcpiTables['table']> {
  if (!volumeName) return [];
  const volume = volumes.find(({ name }) => name === volumeName);
  if (!volume) throw new KvError('Invalid', `firmware's volume for ${type} was not found: spec.volumes has no ${volumeName}`);
  if (!volume.secret) {
    throw new KvError('Invalid', `firmware's volume type is unsupported for ${type}: volume ${volumeName} must be a secret`);
  }
  return [{ type, value: `${secretDir(volumeName)}/${type}.bin` }];
}
