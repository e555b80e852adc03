// From libvirt's XML of a running domain and the wanted one to what has to change.
import { describe, expect, it } from 'vitest';
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import { readDomain } from '../domain-xml.js';
import { type DeviceChange, planDeviceChanges, planHostDevices } from './device-changes.js';
import { describeLive } from './live-domain.js';
import { planMemory } from './memory-device.js';

const HP = '/var/run/kubevirt/hotplug-disks';
const domain = (devices: string, more = ''): string => `<?xml version='1.0'?>
<domain type='qemu' id='1' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <!-- written by libvirt -->
  <memory unit='KiB'>1048576</memory>
  <currentMemory unit='KiB'>1048576</currentMemory>
  <vcpu placement='static' current='2'>4</vcpu>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>${more}
  <devices>${devices}</devices>
</domain>`;

const disk = (name: string, source: string, more = "device='disk'", bus = 'virtio'): string => `<disk type='file' ${more}>
  <driver name='qemu' type='raw'/>${source}<target dev='${name}x' bus='${bus}'/><alias name='ua-${name}'/>
  <address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/></disk>`;
const file = (path: string): string => `<source file='${path}' index='1'/><backingStore/>`;
const nic = (name: string, link = ''): string =>
  `<interface type='ethernet'><mac address='02:00:00:00:00:01'/><target dev='tap0' managed='no'/>${link}<alias name='ua-${name}'/></interface>`;

const vmiWith = (interfaces: Interface[] = []): VirtualMachineInstance => ({
  metadata: { name: 'vm1' },
  spec: { domain: { devices: { interfaces } } },
});
const short = ({ kind, what, name, path }: DeviceChange): string => [kind, what, name, ...(path ? [path] : [])].join(' ');

describe('describeLive', () => {
  it('tells disks with media, interfaces, sizes and the agent', () => {
    const agent = "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' state='connected'/></channel>";
    const xml = domain(disk('root', file('/a')) + disk('cd', '', "device='cdrom'", 'sata') + nic('default') + agent);
    expect(describeLive(readDomain(xml))).toEqual({
      machineType: 'pc-q35-7.2',
      memoryBytes: 1024 ** 3,
      vcpus: 2,
      disks: [{ name: 'root', target: 'rootx' }],
      interfaces: [{ name: 'default', mac: '02:00:00:00:00:01' }],
      taps: new Map([['tap0', 'default']]),
      isAgentConnected: true,
    });
  });
});

describe('planDeviceChanges', () => {
  const root = disk('root', file('/a'));
  it.each<[string, string, string, Interface[], string[]]>([
    ['nothing', root + nic('default'), root + nic('default'), [], []],
    ['a hotplugged disk comes', root, root + disk('data', file(`${HP}/data.img`)), [], [`attach disk data ${HP}/data.img`]],
    ['a hotplugged disk goes', root + disk('data', file(`${HP}/data.img`)), root, [], ['detach disk data']],
    ['a disk that was there from the start stays', root, '', [], []],
    ['a disk on a bus without hotplug stays', disk('d', file(`${HP}/d.img`), "device='disk'", 'sata'), '', [], []],
    [
      'a medium is inserted',
      disk('cd', '', "device='cdrom'", 'sata'),
      disk('cd', file(`${HP}/cd.img`), "device='cdrom'", 'sata'),
      [],
      [`update disk cd ${HP}/cd.img`],
    ],
    [
      'a medium is ejected',
      disk('cd', file(`${HP}/cd.img`), "device='cdrom'", 'sata'),
      disk('cd', '', "device='cdrom'", 'sata'),
      [],
      ['update disk cd'],
    ],
    [
      'a drive with a fixed medium keeps it',
      disk('cd', file('/iso'), "device='cdrom'", 'sata'),
      disk('cd', '', "device='cdrom'", 'sata'),
      [],
      [],
    ],
    ['an interface comes', nic('default'), nic('default') + nic('blue'), [], ['attach interface blue']],
    [
      'an interface is absent',
      nic('default') + nic('blue'),
      nic('default'),
      [{ name: 'blue', state: 'absent' }],
      ['detach interface blue'],
    ],
    ['a cable is pulled', nic('default'), nic('default', "<link state='down'/>"), [], ['update interface default']],
    ['a cable is plugged', nic('default', "<link state='down'/>"), nic('default'), [], ['update interface default']],
    [
      'an absent SR-IOV function goes',
      "<hostdev type='pci'><alias name='ua-sriov-fast'/></hostdev>",
      '',
      [{ name: 'fast', sriov: {}, state: 'absent' }],
      ['detach host device sriov-fast'],
    ],
  ])('%s', (_, live, wanted, interfaces, expected) => {
    expect(planDeviceChanges(vmiWith(interfaces), readDomain(domain(wanted)), readDomain(domain(live))).map(short)).toEqual(expected);
  });

  it('keeps the drive and its address when a medium is exchanged, and empties it fully', () => {
    const [empty, full] = [disk('cd', '', "device='cdrom'", 'sata'), disk('cd', file(`${HP}/cd.img`), "device='cdrom'", 'sata')].map(
      (xml) => readDomain(domain(xml)),
    );
    if (!empty || !full) throw new Error('no domains');
    const [insert] = planDeviceChanges(vmiWith(), full, empty);
    expect(insert?.xml).toMatch(/<disk type="file" device="cdrom">[\s\S]*<address type="pci"[\s\S]*<source file="[^"]*cd.img"/);
    const [eject] = planDeviceChanges(vmiWith(), empty, full);
    expect(eject?.xml).toMatch(/<disk type="block" device="cdrom">/);
    expect(eject?.xml).not.toMatch(/<source|backingStore/);
  });

  it('hands back what is not known of a device, but for what only libvirt can have written', () => {
    const later = "<later a='1'/><iotune><read_bytes_sec>1</read_bytes_sec></iotune>";
    const plugged = disk('data', `${file(`${HP}/data.img`)}${later}<privateData><nodenames/></privateData>`, "device='disk' snapshot='no'");
    const [detach] = planDeviceChanges(vmiWith(), readDomain(domain('')), readDomain(domain(plugged)));
    expect(detach?.xml).toMatch(/<disk type="file" device="disk" snapshot="no">[\s\S]*<later a="1"\/>[\s\S]*<read_bytes_sec>1</);
    expect(detach?.xml).not.toMatch(/backingStore|privateData/);
  });

  it('plugs SR-IOV functions on their own', () => {
    const wanted = readDomain(
      domain("<hostdev type='pci'><alias name='ua-sriov-a'/></hostdev><hostdev type='pci'><alias name='ua-gpu'/></hostdev>"),
    );
    expect(planHostDevices(wanted, readDomain(domain(''))).map(short)).toEqual(['attach host device sriov-a']);
    expect(planHostDevices(wanted, wanted)).toEqual([]);
  });
});

describe('planMemory', () => {
  const vmi = (guest: string, maxGuest = '4Gi'): VirtualMachineInstance => ({
    metadata: { name: 'vm1' },
    spec: { domain: { devices: {}, memory: { guest, maxGuest } } },
    status: { memory: { guestAtBoot: '1Gi' } },
  });
  const device = (
    requested: number,
  ): string => `<memory model='virtio-mem' access='shared'><target><size unit='KiB'>3145728</size><node>0</node>
    <block unit='KiB'>2048</block><requested unit='KiB'>${requested}</requested><current unit='KiB'>0</current></target><alias name='virtiomem0'/></memory>`;

  it('plugs one device for everything above what the guest booted with', () => {
    const change = planMemory(vmi('2Gi'), readDomain(domain('')));
    expect(change).toMatchObject({ kind: 'attach', requestedBytes: 1024n ** 3n });
    expect(change?.xml.replace(/\s*\n\s*/g, '')).toBe(
      '<memory model="virtio-mem"><target><size unit="b">3221225472</size><node>0</node><block unit="b">2097152</block><requested unit="b">1073741824</requested></target></memory>',
    );
  });

  it('changes what is requested of it', () => {
    expect(planMemory(vmi('3Gi'), readDomain(domain(device(1048576))))).toMatchObject({ kind: 'update', requestedBytes: 2n * 1024n ** 3n });
    expect(planMemory(vmi('1Gi'), readDomain(domain(device(1048576))))?.xml).toMatch(/<requested unit="b">0<\/requested>[\s\S]*virtiomem0/);
  });

  it.each([
    ['asked for already', vmi('2Gi'), device(1048576)],
    ['nothing beyond the boot', vmi('1Gi'), ''],
  ])('leaves it alone: %s', (_, guest, devices) => expect(planMemory(guest, readDomain(domain(devices)))).toBeUndefined());

  it('refuses less than the guest booted with, and a VM that cannot grow', () => {
    expect(() => planMemory(vmi('512Mi'), readDomain(domain('')))).toThrow('less than the VM was started with');
    expect(() => planMemory(vmiWith(), readDomain(domain('')))).toThrow('memory.maxGuest');
  });
});
