// What of a domain differs on the node that its guest moves to.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../../api/index.js';
import type { Domain } from '../domain.js';
import { readDomain, renderDomain } from '../domain-xml.js';
import { destinationDomain, disksToCopy } from './destination.js';

const alias = (name: string): string => `<alias name="ua-${name}"/>`;
const DISKS = [
  `<disk type="file" device="disk"><source file="/d/root.qcow2"/><target dev="vda"/>${alias('root')}</disk>`,
  `<disk type="file" device="disk"><source file="/d/claim.img"/><target dev="vdb"/>${alias('claim')}</disk>`,
  `<disk type="block" device="lun"><source dev="/dev/moving"/><target dev="sda"/>${alias('moving')}</disk>`,
  `<disk type="file" device="cdrom"><source file="/d/cd.iso"/><target dev="sdb"/><readonly/>${alias('cd')}</disk>`,
  `<disk type="file" device="disk"><source file="/d/conf.iso"/><target dev="vdc"/><readonly/>${alias('conf')}</disk>`,
  `<disk type="file" device="cdrom"><target dev="sdc"/><readonly/>${alias('empty')}</disk>`,
].join('');
const domain = (devices: string, rest = ''): Domain =>
  readDomain(`<domain><name>n</name>${rest}<devices>${devices}<emulator>qemu</emulator></devices></domain>`);

const vmi = (status: object = {}, cpu: object = {}): VirtualMachineInstance => ({
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    domain: { devices: {}, cpu },
    volumes: [
      { name: 'root', containerDisk: { image: 'x' } },
      { name: 'claim', persistentVolumeClaim: { claimName: 'c' } },
      { name: 'moving', persistentVolumeClaim: { claimName: 'm' } },
    ],
  },
  status,
});
const moving = (from: string, to: string): object => ({
  migratedVolumes: [{ volumeName: 'moving', sourcePVCInfo: { volumeMode: from }, destinationPVCInfo: { volumeMode: to } }],
});

describe('disksToCopy', () => {
  it.each<[string, VirtualMachineInstance, string[]]>([
    ['those that are not shared and can be written', vmi(), ['vda']],
    ['and volumes that move to another claim', vmi(moving('Block', 'Block')), ['vda', 'sda']],
  ])('are %s', (_title, given, expected) => {
    expect(disksToCopy(domain(DISKS), given).map(({ target }) => target)).toEqual(expected);
  });
});

const disk = (attrs: string, source: string): string => `<disk ${attrs}>${source}<target dev="sda"/>${alias('moving')}</disk>`;
const SLICE = '<slices><slice type="storage" offset="0" size="1048576"/></slices>';
const sizes = new Map([['moving', 1_048_576n]]);

describe('destinationDomain', () => {
  it.each<[string, string, VirtualMachineInstance, string]>([
    ['stays as it is without moving volumes', DISKS, vmi(), DISKS],
    [
      'keeps the size of a volume that moves',
      disk('type="file"', '<source file="/x/disk.img"/>'),
      vmi(moving('Filesystem', 'Filesystem')),
      disk('type="file"', `<source file="/x/disk.img">${SLICE}</source>`),
    ],
    [
      'goes from a file to a device',
      disk('type="file"', '<source file="/x/disk.img" index="1"/>'),
      vmi(moving('Filesystem', 'Block')),
      disk('type="block"', `<source dev="/dev/moving" index="1">${SLICE}</source>`),
    ],
    [
      'goes from a plugged device to a file',
      disk('type="block"', '<source dev="/var/run/kubevirt/hotplug-disks/moving"/>'),
      vmi(moving('Block', 'Filesystem')),
      disk('type="file"', `<source file="/var/run/kubevirt/hotplug-disks/moving.img">${SLICE}</source>`),
    ],
    [
      'moves the data behind an overlay',
      disk(
        'type="file"',
        '<source file="/cbt.qcow2"><dataStore type="block"><format type="raw"/><source dev="/dev/moving"/></dataStore></source>',
      ),
      vmi(moving('Block', 'Filesystem')),
      disk(
        'type="file"',
        `<source file="/cbt.qcow2"><dataStore type="file"><format type="raw"/><source file="/var/run/kubevirt-private/vmi-disks/moving/disk.img">${SLICE}</source></dataStore></source>`,
      ),
    ],
  ])('%s', (_title, devices, given, expected) => {
    expect(renderDomain(destinationDomain(domain(devices), given, { sizes }))).toBe(renderDomain(domain(expected)));
  });

  it('pins dedicated CPUs to those of the target', () => {
    const pins = (pinned: readonly number[]): string =>
      `<cputune>${pinned.map((cpu, i) => `<vcpupin vcpu="${i}" cpuset="${cpu}"/>`).join('')}</cputune>`;
    const cpus = [5, 7].map((id) => ({ id, siblings: [] }));
    const topology = { cells: [{ id: 0, cpus, distances: [] }] };
    const given = vmi({}, { cores: 2, dedicatedCpuPlacement: true });
    const there = destinationDomain(domain('', pins([1, 2])), given, { sizes, cpuSet: [5, 7], topology });
    expect(renderDomain(there)).toBe(renderDomain(domain('', pins([5, 7]))));
    expect(renderDomain(destinationDomain(domain('', pins([1, 2])), vmi(), { sizes, cpuSet: [5, 7] }))).toBe(
      renderDomain(domain('', pins([1, 2]))),
    );
  });
});
