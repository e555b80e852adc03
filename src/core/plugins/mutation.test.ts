// Domains as expressions of plugins read and change them.
import { describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import { typeOfExpression } from '../cel/check.js';
import { evaluate } from '../cel/evaluate.js';
import { type CelValue, Uint } from '../cel/values.js';
import { parseXml, renderXml, type XmlNode } from '../converter/index.js';
import { placesOf } from './domain-schema.js';
import { domainEnvironment } from './environments.js';
import { domainVariables, mutated } from './mutation.js';

const DOMAIN = parseXml(`<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>ns_vm</name>
  <memory unit='KiB'>1024</memory>
  <vcpu placement='static'>2</vcpu>
  <sysinfo type='smbios'><system><entry name='uuid'>u</entry></system></sysinfo>
  <os><type arch='x86_64' machine='q35'>hvm</type><loader readonly='yes'>/code.fd</loader></os>
  <features><acpi/><hyperv><spinlocks state='on' retries='8191'/></hyperv></features>
  <cpu mode='host-model'><topology sockets='1' cores='2' threads='1'/></cpu>
  <devices>
    <disk type='file' device='disk'><source file='/a.img'/><target dev='vda' bus='virtio'/><alias name='ua-root'/></disk>
    <disk type='block' device='disk'><source dev='/dev/b'/><target dev='vdb' bus='sata'/></disk>
    <controller type='pci' index='0' model='pcie-root'><target chassis='3'/></controller>
    <interface type='ethernet'><mac address='02:00:00:00:00:01'/><source/><unknown/></interface>
    <channel type='unix'><source mode='bind' path='/run/c'/><target type='virtio' name='agent'/></channel>
    <hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' bus='0x65' slot='0x00' function='0x1'/></source></hostdev>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
    <memballoon model='virtio'><stats period='10'/></memballoon>
  </devices>
  <qemu:commandline><qemu:arg value='-x'/></qemu:commandline>
</domain>`);
const vmi = guest({ domain: { cpu: { cores: 2 } } });
const variables = domainVariables(vmi, DOMAIN);

const read = (text: string): CelValue | string => {
  const result = evaluate(text, variables);
  return result.ok ? result.value : `fault: ${result.error}`;
};
const change = (text: string): XmlNode => mutated(text, DOMAIN, variables);
/** What is new and what is gone, line by line. */
function difference(text: string): string[] {
  const [before, after] = [renderXml(DOMAIN), renderXml(change(text))].map((xml) => xml.split('\n').map((line) => line.trim()));
  const gone = (before ?? []).filter((line) => !after?.includes(line));
  const added = (after ?? []).filter((line) => !before?.includes(line));
  return [...gone.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
}

describe('reading', () => {
  it.each<[string, CelValue]>([
    ['domainSpec.Type', 'kvm'],
    ['domainSpec.Memory.Value', new Uint(1024n)],
    ['domainSpec.Memory.Unit + domainSpec.Title', 'KiB'],
    ['domainSpec.OS.Type.Arch + domainSpec.OS.Type.Type', 'x86_64hvm'],
    ['has(domainSpec.Features.ACPI) && !has(domainSpec.Features.APIC)', true],
    ['domainSpec.Features.HyperV.Spinlocks.Retries == 8191u', true],
    ['has(domainSpec.CPU.Topology) && !has(domainSpec.CPU.Cache)', true],
    ['domainSpec.CPU.Cache.Level == 0u', true],
    ['domainSpec.Devices.Disks.map(d, d.Target.Dev)', ['vda', 'vdb']],
    ['domainSpec.Devices.Disks.filter(d, has(d.Source.File))[0].Source.File.File', '/a.img'],
    ['domainSpec.Devices.Disks[1].Source.Block.Dev', '/dev/b'],
    ['has(domainSpec.Devices.Disks[1].Source.File)', false],
    ['domainSpec.Devices.Controllers[0].PCI.Target.Chassis', new Uint(3n)],
    ['has(domainSpec.Devices.Controllers[0].USB)', false],
    ['has(domainSpec.Devices.Interfaces[0].Source.Ethernet)', true],
    ['domainSpec.Devices.Channels[0].Source.UNIX.Path + domainSpec.Devices.Channels[0].Target.VirtIO.Name', '/run/cagent'],
    ['domainSpec.Devices.Hostdevs[0].SubsysPCI.Source.Address.Bus == 101u', true],
    ['domainSpec.Devices.RNGs[0].Backend.Random.Device', '/dev/urandom'],
    ['domainSpec.QEMUCommandline.Args[0].Value', '-x'],
    ['domainSpec.SysInfo[0].SMBIOS.System.Entry[0].Name', 'uuid'],
    ['domainSpec.VCPU.Value == vmi.Spec.Domain.CPU.Cores', true],
    ['size(domainSpec.Devices.Watchdogs)', 0n],
    ['domainSpec.Devices.Disks[0] == domainSpec.Devices.Disks[0] && domainSpec.Devices.Disks[0] != domainSpec.Devices.Disks[1]', true],
  ])('%s', (text, expected) => expect(read(text)).toEqual(expected));
});

describe('changing', () => {
  it.each<[string, string, string[]]>([
    ['nothing', 'Domain{}', []],
    ['a text', 'Domain{Title: "a < b"}', ['+ <title>a &lt; b</title>']],
    [
      'an attribute',
      'Domain{Type: "qemu"}',
      [
        '- <domain type="kvm" xmlns:qemu="http://libvirt.org/schemas/domain/qemu/1.0">',
        '+ <domain type="qemu" xmlns:qemu="http://libvirt.org/schemas/domain/qemu/1.0">',
      ],
    ],
    [
      'a number, and the unit beside it stays',
      'Domain{Memory: DomainMemory{Value: domainSpec.Memory.Value * 2u}}',
      ['- <memory unit="KiB">1024</memory>', '+ <memory unit="KiB">2048</memory>'],
    ],
    ['what is not there yet', 'Domain{Clock: DomainClock{Offset: "utc"}}', ['+ <clock offset="utc"/>']],
    ['a mere element', 'Domain{Features: DomainFeatureList{PAE: DomainFeature{}}}', ['+ <pae/>']],
    [
      'by taking it away',
      'Domain{CPU: null}',
      ['- <cpu mode="host-model">', '- <topology sockets="1" cores="2" threads="1"/>', '- </cpu>'],
    ],
    [
      'a part of a part',
      'Domain{CPU: DomainCPU{Topology: DomainCPUTopology{Threads: 2}}}',
      ['- <topology sockets="1" cores="2" threads="1"/>', '+ <topology sockets="1" cores="2" threads="2"/>'],
    ],
    [
      'a list as a whole, keeping what is taken over as it was',
      'Domain{Devices: DomainDeviceList{Disks: domainSpec.Devices.Disks.filter(d, d.Target.Bus == "virtio") + [DomainDisk{Device: "cdrom", Source: DomainDiskSource{File: DomainDiskSourceFile{File: "/c.iso"}}, Target: DomainDiskTarget{Dev: "sdc", Bus: "sata"}}]}}',
      [
        '- <disk type="block" device="disk">',
        '- <source dev="/dev/b"/>',
        '- <target dev="vdb" bus="sata"/>',
        '+ <disk device="cdrom" type="file">',
        '+ <source file="/c.iso"/>',
        '+ <target dev="sdc" bus="sata"/>',
      ],
    ],
    [
      'a list to nothing',
      'Domain{Devices: DomainDeviceList{Interfaces: []}}',
      ['- <interface type="ethernet">', '- <mac address="02:00:00:00:00:01"/>', '- <source/>', '- <unknown/>', '- </interface>'],
    ],
    [
      'a new device with an address in hexadecimal',
      'Domain{Devices: DomainDeviceList{Watchdogs: [DomainWatchdog{Model: "i6300esb", Action: "none", Address: DomainAddress{PCI: DomainAddressPCI{Bus: 16u, Slot: 1u}}}]}}',
      ['+ <watchdog model="i6300esb" action="none">', '+ <address type="pci" bus="0x10" slot="0x01"/>', '+ </watchdog>'],
    ],
    [
      'the command line of QEMU',
      'Domain{QEMUCommandline: DomainQEMUCommandline{Args: [DomainQEMUCommandlineArg{Value: "-y"}]}}',
      ['- <qemu:arg value="-x"/>', '+ <qemu:arg value="-y"/>'],
    ],
    [
      'the tables of the firmware',
      'Domain{SysInfo: [DomainSysInfo{SMBIOS: DomainSysInfoSMBIOS{BIOS: DomainSysInfoBIOS{Entry: [DomainSysInfoEntry{Name: "vendor", Value: "v"}]}}}]}',
      ['- <system>', '- <entry name="uuid">u</entry>', '- </system>', '+ <bios>', '+ <entry name="vendor">v</entry>', '+ </bios>'],
    ],
    [
      'by a name with its package',
      'libvirtxml.Domain{Memory: libvirtxml.DomainMemory{Unit: "MiB"}}',
      ['- <memory unit="KiB">1024</memory>', '+ <memory unit="MiB">1024</memory>'],
    ],
    [
      'only under a condition',
      'vmi.Spec.Domain.CPU.Cores > 1u ? Domain{OnCrash: "preserve"} : Domain{}',
      ['+ <on_crash>preserve</on_crash>'],
    ],
  ])('%s', (_, text, expected) => {
    expect(typeOfExpression(text, domainEnvironment)).toEqual({ ok: true, value: 'Domain' });
    expect(difference(text)).toEqual(expected);
  });

  it('declares the name space of QEMU where it is new', () => {
    const plain = parseXml('<domain><name>x</name></domain>');
    const text = 'Domain{QEMUCommandline: DomainQEMUCommandline{Args: [DomainQEMUCommandlineArg{Value: "-y"}]}}';
    expect(mutated(text, plain, domainVariables(vmi, plain)).attrs).toEqual({ 'xmlns:qemu': 'http://libvirt.org/schemas/domain/qemu/1.0' });
  });

  it('leaves the domain that it was given alone', () => {
    const before = renderXml(DOMAIN);
    change('Domain{Devices: DomainDeviceList{Disks: []}, Title: "x"}');
    expect(renderXml(DOMAIN)).toBe(before);
  });

  it.each([
    ['Domain{Titel: "x"}', 'Domain has no field Titel'],
    ['Domain{Title: 1}', 'Domain.Title takes a string'],
    ['Domain{Memory: DomainMemory{Value: -1}}', 'DomainMemory.Value cannot be below zero'],
    ['Domain{Memory: "x"}', 'Domain.Memory takes a DomainMemory, not a plain value'],
    ['Domain{Memory: DomainVCPU{}}', 'Domain.Memory takes a DomainMemory, not another object'],
    ['Domain{SecLabel: DomainSecLabel{}}', 'Domain.SecLabel takes a list'],
    ['DomainMemory{}', 'results in no Domain'],
    ['Domain{Title: vmi.Labels["x"]}', 'there is no entry x'],
  ])('%s → %s', (text, message) => expect(() => change(text)).toThrow(message));
});

describe('the table of types', () => {
  const types = (from: string, seen = new Set<string>()): Set<string> => {
    if (seen.has(from)) return seen;
    seen.add(from);
    for (const { kind, type } of placesOf(from)?.values() ?? []) if (['element', 'elements', 'variant'].includes(kind)) types(type, seen);
    return seen;
  };

  it('is whole: every type that a field has is there', () => {
    const all = [...types('Domain')];
    expect(all.length).toBeGreaterThan(450);
    expect(all.filter((type) => placesOf(type) === undefined)).toEqual([]);
  });
});
