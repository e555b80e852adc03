// What the guest reads in its SMBIOS tables: its identity, the cluster's manufacturer strings and the chassis.
import type { Chassis, Firmware } from '../../../api/index.js';
import type { SmbiosTable } from '../domain.js';
import type { Smbios } from '../facts.js';
import type { Fragment, Step } from '../step.js';

export const sysinfo: Step<'domain' | 'smbios'> = {
  name: 'sysinfo',
  render: ({ domain, smbios }): Fragment => ({
    sysinfo: {
      type: 'smbios',
      system: { entry: [...identity(domain.firmware), ...strings(smbios)] },
      chassis: domain.chassis && { entry: chassis(domain.chassis) },
    },
  }),
};

type Entry = NonNullable<SmbiosTable['entry']>[number];

const entry = (name: string, value: string | undefined): Entry => ({ name, value });

/** libvirt takes the domain's UUID from here. */
const identity = (firmware: Firmware | undefined): Entry[] =>
  firmware ? [entry('uuid', firmware.uuid), ...(firmware.serial ? [entry('serial', firmware.serial)] : [])] : [];

const strings = (smbios: Smbios | undefined): Entry[] =>
  smbios
    ? [
        entry('manufacturer', smbios.manufacturer),
        entry('family', smbios.family),
        entry('product', smbios.product),
        entry('sku', smbios.sku),
        entry('version', smbios.version),
      ]
    : [];

const chassis = ({ manufacturer, version, serial, asset, sku }: Chassis): Entry[] => [
  entry('manufacturer', manufacturer),
  entry('version', version),
  entry('serial', serial),
  entry('asset', asset),
  entry('sku', sku),
];
