// What the guest reads in its SMBIOS tables: its identity, the cluster's manufacturer strings and the chassis.
import type { Chassis, Firmware } from '../../../api/index.js';
import type { Smbios } from '../facts.js';
import type { Step } from '../step.js';
import { el, textEl, type XmlNode } from '../xml.js';

export const sysinfo: Step<'domain' | 'smbios'> = {
  name: 'sysinfo',
  render: ({ domain, smbios }) => ({
    elements: [
      el('sysinfo', { type: 'smbios' }, [
        el('system', {}, [...identity(domain.firmware), ...strings(smbios)]),
        domain.chassis && el('chassis', {}, chassis(domain.chassis)),
      ]),
    ],
  }),
};

const entry = (name: string, value: string | undefined): XmlNode => textEl('entry', value, { name });

/** libvirt takes the domain's UUID from here. */
const identity = (firmware: Firmware | undefined): XmlNode[] =>
  firmware ? [entry('uuid', firmware.uuid), ...(firmware.serial ? [entry('serial', firmware.serial)] : [])] : [];

const strings = (smbios: Smbios | undefined): XmlNode[] =>
  smbios
    ? [
        entry('manufacturer', smbios.manufacturer),
        entry('family', smbios.family),
        entry('product', smbios.product),
        entry('sku', smbios.sku),
        entry('version', smbios.version),
      ]
    : [];

const chassis = ({ manufacturer, version, serial, asset, sku }: Chassis): XmlNode[] => [
  entry('manufacturer', manufacturer),
  entry('version', version),
  entry('serial', serial),
  entry('asset', asset),
  entry('sku', sku),
];
