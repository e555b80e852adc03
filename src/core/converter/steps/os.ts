// How the guest boots: machine type, firmware, boot menu, a kernel from an image, ACPI tables.
import type { Firmware, Volume } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import { kernelBootFile, secretDir } from '../../storage/paths.js';
import type { Step } from '../step.js';
import { el, textEl, type XmlChild, type XmlNode } from '../xml.js';
import { efiFirmware, type FirmwareNeeds } from './firmware.js';

/** Long enough to attach a console to a guest that waits to be unpaused. */
const BOOT_MENU_MS = 10_000;

export const os: Step<FirmwareNeeds | 'arch'> = {
  name: 'os',
  render(scope) {
    const { vmi, domain, arch } = scope;
    const efi = efiFirmware(scope);
    const children = [
      textEl('type', 'hvm', { arch: arch.osArch, machine: domain.machine?.type || arch.defaultMachine }),
      ...efi.elements,
      acpiTables(domain.firmware, vmi.spec.volumes ?? []),
      arch.smbios && el('smbios', { mode: 'sysinfo' }),
      vmi.spec.startStrategy === 'Paused' && el('bootmenu', { enable: 'yes', timeout: BOOT_MENU_MS }),
      domain.firmware?.bootloader?.bios?.useSerial === true && el('bios', { useserial: 'yes' }),
      ...kernel(domain.firmware),
    ];
    return { elements: [el('os', efi.attrs, children)] };
  },
};

function kernel(firmware: Firmware | undefined): XmlChild[] {
  const { container, kernelArgs } = firmware?.kernelBoot ?? {};
  return [
    container?.kernelPath ? textEl('kernel', kernelBootFile(container.kernelPath)) : undefined,
    container?.initrdPath ? textEl('initrd', kernelBootFile(container.initrdPath)) : undefined,
    kernelArgs ? textEl('cmdline', kernelArgs) : undefined,
  ];
}

function acpiTables(firmware: Firmware | undefined, volumes: readonly Volume[]): XmlNode | undefined {
  if (!firmware?.acpi) return undefined;
  const { slicNameRef, msdmNameRef } = firmware.acpi;
  if (!slicNameRef && !msdmNameRef) {
    throw new KvError('Invalid', 'no ACPI tables were set, expecting at least one of firmware.acpi.slicNameRef and msdmNameRef');
  }
  return el('acpi', {}, [acpiTable('slic', slicNameRef, volumes), acpiTable('msdm', msdmNameRef, volumes)]);
}

function acpiTable(type: 'slic' | 'msdm', volumeName: string | undefined, volumes: readonly Volume[]): XmlNode | undefined {
  if (!volumeName) return undefined;
  const volume = volumes.find(({ name }) => name === volumeName);
  if (!volume) throw new KvError('Invalid', `firmware's volume for ${type} was not found: spec.volumes has no ${volumeName}`);
  if (!volume.secret) {
    throw new KvError('Invalid', `firmware's volume type is unsupported for ${type}: volume ${volumeName} must be a secret`);
  }
  return textEl('table', `${secretDir(volumeName)}/${type}.bin`, { type });
}
