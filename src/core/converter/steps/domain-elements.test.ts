import { describe, expect, it } from 'vitest';
import { factsOf, type GuestParts, guest, rendered } from '../../../../test/builders/domain.js';
import type { DomainFacts } from '../facts.js';
import type { AnyStep } from '../order.js';
import { buildScope } from '../scope.js';
import { clock } from './clock.js';
import { iommufd, rebootPolicy } from './domain-options.js';
import { hypervisor } from './hypervisor.js';
import { launchSecurity } from './launch-security.js';
import { memory } from './memory.js';
import { memoryBacking } from './memory-backing.js';
import { metadata } from './metadata.js';
import { qemuArguments } from './qemu-arguments.js';
import { sysinfo } from './sysinfo.js';
import { tuning } from './tuning.js';

type Row = readonly [title: string, step: AnyStep, parts: GuestParts, facts: Partial<DomainFacts>, want: readonly string[]];

const memoryOf = (given: object): GuestParts => ({ domain: { memory: given } });
const SMBIOS = { manufacturer: 'Acme', product: 'P', family: 'F', sku: 'S', version: '1' };

const rows: readonly Row[] = [
  ['memory of the guest', memory, memoryOf({ guest: '1Gi' }), {}, ['<memory unit="b">1073741824</memory>']],
  [
    'memory of the request',
    memory,
    { domain: { memory: {}, resources: { requests: { memory: '64M' }, limits: { memory: '1Gi' } } } },
    {},
    ['<memory unit="b">64000000</memory>'],
  ],
  [
    'memory of the limit',
    memory,
    { domain: { memory: {}, resources: { limits: { memory: '1Gi' } } } },
    {},
    ['<memory unit="b">1073741824</memory>'],
  ],
  ['no part of a byte', memory, memoryOf({ guest: '1500m' }), {}, ['<memory unit="b">1</memory>']],
  [
    'memory that can grow',
    memory,
    memoryOf({ guest: '1Gi', maxGuest: '4Gi' }),
    {},
    ['<memory unit="b">1073741824</memory>', '<maxMemory unit="b" slots="0">4294967296</maxMemory>'],
  ],
  ['memory that is at its ceiling', memory, memoryOf({ guest: '1Gi', maxGuest: '1024Mi' }), {}, ['<memory unit="b">1073741824</memory>']],
  ['plain memory', memoryBacking, {}, {}, []],
  [
    'huge pages',
    memoryBacking,
    memoryOf({ guest: '1Gi', hugepages: { pageSize: '2Mi' } }),
    {},
    ['<memoryBacking><hugepages/><source type="memfd"/></memoryBacking>'],
  ],
  [
    'shared memory',
    memoryBacking,
    { devices: { filesystems: [{ name: 'fs', virtiofs: {} }] } },
    {},
    ['<memoryBacking><source type="memfd"/><access mode="shared"/></memoryBacking>'],
  ],
  [
    'shared memory without memfd',
    memoryBacking,
    { devices: { filesystems: [{ name: 'fs', virtiofs: {} }] } },
    { hostArch: 's390x' },
    ['<memoryBacking><access mode="shared"/></memoryBacking>'],
  ],
  ['metadata before the first start', metadata, {}, {}, ['<metadata><kubevirt xmlns="http://kubevirt.io"><uid/></kubevirt></metadata>']],
  [
    'metadata of the launcher',
    metadata,
    {},
    { metadata: { uid: 'u', gracePeriodSeconds: 30 } },
    [
      '<metadata><kubevirt xmlns="http://kubevirt.io"><uid>u</uid>' +
        '<graceperiod><deletionGracePeriodSeconds>30</deletionGracePeriodSeconds></graceperiod></kubevirt></metadata>',
    ],
  ],
  ['no clock', clock, {}, {}, []],
  ['utc', clock, { domain: { clock: { utc: {} } } }, {}, ['<clock offset="utc" adjustment="reset"/>']],
  ['utc with an offset', clock, { domain: { clock: { utc: { offsetSeconds: -3600 } } } }, {}, ['<clock offset="utc" adjustment="-3600"/>']],
  ['utc with no offset', clock, { domain: { clock: { utc: { offsetSeconds: 0 } } } }, {}, ['<clock offset="utc" adjustment="0"/>']],
  ['a timezone', clock, { domain: { clock: { timezone: 'Europe/Rome' } } }, {}, ['<clock offset="timezone" timezone="Europe/Rome"/>']],
  [
    'all timers',
    clock,
    {
      domain: {
        clock: {
          timer: {
            rtc: { tickPolicy: 'catchup', track: 'guest' },
            pit: { tickPolicy: 'delay', present: false },
            kvm: { present: true },
            hpet: {},
            hyperv: { present: false },
          },
        },
      },
    },
    {},
    [
      '<clock offset="utc"><timer name="rtc" tickpolicy="catchup" present="yes" track="guest"/><timer name="pit" tickpolicy="delay" present="no"/>' +
        '<timer name="kvmclock" present="yes"/><timer name="hpet" present="yes"/><timer name="hypervclock" present="no"/></clock>',
    ],
  ],
  [
    'the frequency of an invariant TSC',
    clock,
    { domain: { cpu: { features: [{ name: 'invtsc', policy: 'require' }] } }, status: { topologyHints: { tscFrequency: 2_000_000_000 } } },
    {},
    ['<clock offset="utc"><timer name="tsc" frequency="2000000000"/></clock>'],
  ],
  [
    'the frequency for reenlightenment',
    clock,
    { domain: { features: { hyperv: { reenlightenment: { enabled: true } } } }, status: { topologyHints: { tscFrequency: 5 } } },
    {},
    ['<clock offset="utc"><timer name="tsc" frequency="5"/></clock>'],
  ],
  [
    'no frequency unless it matters',
    clock,
    { domain: { cpu: { features: [{ name: 'invtsc', policy: 'optional' }] } }, status: { topologyHints: { tscFrequency: 5 } } },
    {},
    [],
  ],
  ['reboot as usual', rebootPolicy, {}, {}, []],
  ['reboot ends the guest', rebootPolicy, { domain: { rebootPolicy: 'Terminate' } }, {}, ['<on_reboot>destroy</on_reboot>']],
  ['reboot restarts', rebootPolicy, { domain: { rebootPolicy: 'Reboot' } }, {}, ['<on_reboot>restart</on_reboot>']],
  ['iommufd', iommufd, {}, { iommufd: true }, ['<iommufd enabled="yes" fdgroup="iommu"/>']],
  ['no iommufd', iommufd, {}, {}, []],
  [
    'cluster strings and chassis',
    sysinfo,
    { domain: { firmware: { uuid: 'u', serial: 's' }, chassis: { manufacturer: 'M', asset: 'A' } } },
    { smbios: SMBIOS },
    [
      '<sysinfo type="smbios"><system><entry name="uuid">u</entry><entry name="serial">s</entry>' +
        '<entry name="manufacturer">Acme</entry><entry name="family">F</entry><entry name="product">P</entry>' +
        '<entry name="sku">S</entry><entry name="version">1</entry></system>' +
        '<chassis><entry name="manufacturer">M</entry><entry name="version"/><entry name="serial"/><entry name="asset">A</entry>' +
        '<entry name="sku"/></chassis></sysinfo>',
    ],
  ],
  [
    'SEV',
    launchSecurity,
    { domain: { launchSecurity: { sev: {} } } },
    {},
    ['<launchSecurity type="sev"><policy>0x1</policy></launchSecurity>'],
  ],
  [
    'SEV-ES with a session',
    launchSecurity,
    { domain: { launchSecurity: { sev: { policy: { encryptedState: true }, session: 'S', dhCert: 'D' } } } },
    {},
    ['<launchSecurity type="sev"><dhCert>D</dhCert><session>S</session><policy>0x5</policy></launchSecurity>'],
  ],
  [
    'SEV-SNP',
    launchSecurity,
    { domain: { launchSecurity: { snp: {} } } },
    {},
    ['<launchSecurity type="sev-snp"><policy>0x30000</policy></launchSecurity>'],
  ],
  [
    'TDX',
    launchSecurity,
    { domain: { launchSecurity: { tdx: {} } }, annotations: { 'kubevirt.io/qgs-socket-path': '/qgs' } },
    {},
    ['<launchSecurity type="tdx"><quoteGenerationService path="/qgs"/></launchSecurity>'],
  ],
  [
    'Secure Execution needs nothing',
    launchSecurity,
    { domain: { launchSecurity: {} }, spec: { architecture: 's390x' } },
    { hostArch: 's390x' },
    [],
  ],
  [
    'ignition and the firmware log',
    qemuArguments,
    { annotations: { 'kubevirt.io/ignitiondata': '{"ignition": {}}' } },
    { firmwareLog: true },
    [
      '<qemu:commandline><qemu:arg value="-fw_cfg"/>' +
        '<qemu:arg value="name=opt/com.coreos/config,file=/var/run/kubevirt-ephemeral-disks/ignition-data/default/vm/data.ign"/>' +
        '<qemu:arg value="-chardev"/><qemu:arg value="file,id=firmwarelog,path=/var/run/kubevirt-private/QEMUSeaBiosDebugPipe"/>' +
        '<qemu:arg value="-device"/><qemu:arg value="isa-debugcon,iobase=0x402,chardev=firmwarelog"/></qemu:commandline>',
    ],
  ],
  ['no QEMU arguments', qemuArguments, { annotations: { 'kubevirt.io/ignitiondata': '{}' } }, { firmwareLog: true, hostArch: 'arm64' }, []],
  ['I/O threads', tuning, { domain: { ioThreadsPolicy: 'shared' } }, {}, ['<iothreads>1</iothreads>']],
  [
    'pins',
    tuning,
    { domain: { cpu: { cores: 2, dedicatedCpuPlacement: true, isolateEmulatorThread: true }, ioThreadsPolicy: 'auto' } },
    { cpuSet: [3, 4, 5], topology: { cells: [{ id: 0, cpus: [3, 4, 5].map((id) => ({ id, siblings: [] })), distances: [] }] } },
    [
      '<iothreads>1</iothreads>',
      '<cputune><vcpupin vcpu="0" cpuset="3"/><vcpupin vcpu="1" cpuset="4"/><emulatorpin cpuset="5"/>' +
        '<iothreadpin iothread="1" cpuset="5"/></cputune>',
    ],
  ],
];

describe('domain elements', () => {
  it.each(rows)('%s', (_title, step, parts, facts, want) => {
    expect(rendered(step, guest(parts), factsOf(facts))).toEqual(want);
  });
});

describe('NUMA passthrough in the domain', () => {
  const vmi = guest({
    domain: {
      cpu: { cores: 2, dedicatedCpuPlacement: true, numa: { guestMappingPassthrough: {} }, realtime: {} },
      memory: { guest: '4Mi', hugepages: { pageSize: '2Mi' } },
    },
  });
  const cell = (id: number) => ({ id, cpus: [{ id: id + 10, siblings: [] }], distances: [] });
  const facts = factsOf({ cpuSet: [10, 11], topology: { cells: [cell(0), cell(1)] } });

  it('binds memory to the cells of the vCPUs', () => {
    expect(rendered(tuning, vmi, facts).at(-1)).toBe(
      '<numatune><memory mode="strict" nodeset="0,1"/><memnode cellid="0" mode="strict" nodeset="0"/>' +
        '<memnode cellid="1" mode="strict" nodeset="1"/></numatune>',
    );
    expect(rendered(memoryBacking, vmi, facts)).toEqual([
      '<memoryBacking><hugepages><page size="2097152" unit="b" nodeset="0"/><page size="2097152" unit="b" nodeset="1"/></hugepages>' +
        '<source type="memfd"/><allocation mode="immediate"/><nosharepages/></memoryBacking>',
    ]);
  });
});

describe('domain type', () => {
  const type = (parts: GuestParts, facts: Partial<DomainFacts>): string | undefined =>
    hypervisor.render(buildScope(guest(parts), factsOf(facts))).type;
  const none = { hypervisorDevicePresent: false };
  const foreign: Partial<DomainFacts> = { crossArchEmulation: true, emulators: new Set(['/usr/bin/qemu-system-aarch64']) };

  it.each([
    ['hardware', {}, {}, 'kvm'],
    ['emulation', {}, { ...none, allowEmulation: true }, 'qemu'],
    ['hardware although emulation is allowed', {}, { allowEmulation: true }, 'kvm'],
    ['Hyper-V', {}, { hypervisor: 'hyperv-direct' }, 'hyperv'],
    ['Hyper-V emulated', {}, { hypervisor: 'hyperv-direct', ...none, allowEmulation: true }, 'qemu'],
    ['another architecture', { spec: { architecture: 'arm64' } }, foreign, 'qemu'],
    ['another architecture, its gate off', { spec: { architecture: 'arm64' } }, {}, 'kvm'],
  ] as const)('%s', (_title, parts, facts, want) => {
    expect(type(structuredClone(parts) as GuestParts, facts)).toBe(want);
  });

  it.each([
    ['no hardware', {}, none, 'kvm not present and emulation is not allowed'],
    ['no Hyper-V', {}, { ...none, hypervisor: 'hyperv-direct' }, 'MSHV not present'],
    ['no emulator', { spec: { architecture: 's390x' } }, foreign, 'required emulator binary not found: /usr/bin/qemu-system-s390x'],
    [
      'unknown guest',
      { spec: { architecture: 'riscv64' } },
      foreign,
      'unsupported guest architecture for cross-architecture emulation: spec.architecture is riscv64',
    ],
  ] as const)('refuses: %s', (_title, parts, facts, message) => {
    expect(() => type(structuredClone(parts) as GuestParts, facts)).toThrow(message);
  });

  it('names the domain and another architecture’s emulator', () => {
    expect(rendered(hypervisor, guest({ spec: { architecture: 'arm64' } }), factsOf(foreign))).toEqual([
      '<name>default_vm</name>',
      '<emulator>/usr/bin/qemu-system-aarch64</emulator>',
    ]);
  });
});

describe('memory that cannot be', () => {
  it('is refused', () => {
    expect(() => rendered(memory, guest(memoryOf({ guest: '-1Gi' })))).toThrow('guest memory is -1Gi: a memory size cannot be negative');
  });
});
