import { describe, expect, it } from 'vitest';
import { clusterConfigOf } from '../config/cluster-config.js';
import { parseDomainCapabilities, parseHostCapabilities, parseSupportedFeatures } from './capabilities.js';
import { type NodeFacts, nodeLabels, relabelled } from './labels.js';

const HOST_MODEL = `<mode name='host-model' supported='yes'><model fallback='forbid'>EPYC</model><vendor>AMD</vendor>
  <feature policy='require' name='x2apic'/><feature policy='disable' name='vmx'/></mode>`;
const CUSTOM = `<mode name='custom' supported='yes'><model usable='yes'>Penryn</model><model usable='no'>Haswell</model>
  <model usable='yes'>486-v1</model><model>unknown</model><model usable='yes'/></mode>`;
const domainXml = (cpu: string, features = ''): string => `<?xml version='1.0'?>
<domainCapabilities><cpu>${cpu}</cpu><features>${features}</features></domainCapabilities>`;
const domain = (cpu = HOST_MODEL + CUSTOM, features = '', arch = 'amd64') => parseDomainCapabilities(domainXml(cpu, features), arch);

const facts = (over: Partial<NodeFacts> = {}): NodeFacts => ({
  arch: 'amd64',
  domain: domain(),
  features: ['apic'],
  machines: ['q35'],
  hyperv: [],
  realtime: false,
  ...over,
});

describe('libvirt’s documents', () => {
  it('give CPU models, and the host’s own with the features it needs', () => {
    expect(domain()).toEqual({
      models: [
        { name: 'Penryn', usable: true },
        { name: 'Haswell', usable: false },
        { name: '486-v1', usable: true },
      ],
      hostModel: { name: 'EPYC', vendor: 'AMD', requiredFeatures: ['x2apic'] },
      sev: false,
      sevEs: false,
      sevSnp: false,
      securePv: false,
      tdx: false,
      hyperv: [],
    });
  });
  const hyperv = (supported: string): string =>
    `<hyperv supported='${supported}'><enum name='features'>${['relaxed', 'vpindex', 'synic', 'stimer', 'avic'].map((name) => `<value>${name}</value>`).join('')}</enum></hyperv>`;
  const launch = (type: string): string =>
    `<launchSecurity supported='yes'><enum name='sectype'><value>${type}</value></enum></launchSecurity>`;
  it.each([
    ['SEV', "<sev supported='yes'><maxESGuests>0</maxESGuests></sev>", { sev: true, sevEs: false, sevSnp: false }],
    ['SEV-ES', "<sev supported='yes'><maxESGuests>15</maxESGuests></sev>", { sev: true, sevEs: true, sevSnp: false }],
    ['SEV-SNP', `<sev supported='yes'><maxESGuests>9</maxESGuests></sev>${launch('sev-snp')}`, { sev: true, sevEs: true, sevSnp: true }],
    ['no SEV-SNP without SEV-ES', `<sev supported='yes'/>${launch('sev-snp')}`, { sev: true, sevEs: false, sevSnp: false }],
    ['no SEV-SNP without SEV', launch('sev-snp'), { sev: false, sevSnp: false }],
    ['enlightenments', hyperv('yes'), { hyperv: ['base', 'vpindex', 'synic', 'synic2', 'synictimer'] }],
    ['no enlightenments of a mere emulator', hyperv('no'), { hyperv: [] }],
    ['TDX', "<tdx supported='yes'/>", { tdx: true }],
    ['protected virtualization', "<s390-pv supported='yes'/>", { securePv: true }],
    ['nothing that is not supported', "<sev supported='no'/><tdx supported='no'/>", { sev: false, tdx: false }],
  ])('tell of %s', (_, features, expected) => expect(domain(HOST_MODEL, features)).toMatchObject(expected));

  it.each([
    ['a broken document', '<notxml', 'is no XML'],
    [
      'a host model without a name',
      domainXml("<mode name='host-model' supported='no'/>"),
      'host model mode is expected to contain a model',
    ],
  ])('are refused: %s', (_, xml, message) => expect(() => parseDomainCapabilities(xml, 'amd64')).toThrow(message));

  it('have no host model on arm64, whose guests see the host’s CPU', () => {
    expect(domain("<mode name='host-model' supported='no'/>", '', 'arm64').hostModel).toBeUndefined();
  });
  it.each([
    ['amd64', ['apic']],
    ['s390x', ['apic', 'aen']],
  ])('list supported features for %s', (arch, expected) => {
    expect(parseSupportedFeatures("<cpu><feature policy='require' name='apic'/><feature name='aen'/></cpu>", arch)).toEqual(expected);
  });
  it('list machine types of the node’s architecture and its time stamp counter', () => {
    const xml = `<capabilities><host><cpu><counter name='tsc' frequency='2111999000' scaling='yes'/></cpu></host>
      <guest><arch name='x86_64'><machine canonical='pc-q35-7.2'>q35</machine><machine>pc-q35-7.2</machine><domain type='kvm'><machine>q35</machine></domain></arch></guest>
      <guest><arch name='aarch64'><machine>virt</machine></arch></guest></capabilities>`;
    expect(parseHostCapabilities(xml, 'amd64')).toEqual({
      machines: ['q35', 'pc-q35-7.2'],
      tsc: { frequencyHz: 2111999000, scalable: true },
    });
  });
});

describe('node labels', () => {
  const labels = (over: Partial<NodeFacts> = {}, config = {}): string[] =>
    Object.keys(nodeLabels(facts(over), clusterConfigOf(config))).sort();
  const base = [
    'cpu-feature.node.kubevirt.io/apic',
    'cpu-model-migration.node.kubevirt.io/Haswell',
    'cpu-model-migration.node.kubevirt.io/Penryn',
    'cpu-model.node.kubevirt.io/Penryn',
    'cpu-vendor.node.kubevirt.io/AMD',
    'host-model-cpu.node.kubevirt.io/EPYC',
    'host-model-required-features.node.kubevirt.io/x2apic',
    'machine-type.node.kubevirt.io/q35',
  ];
  const obsolete = (...models: string[]) => ({ obsoleteCPUModels: Object.fromEntries(models.map((model) => [model, true])) });

  it('name what a guest may ask for, old models left out', () => expect(labels()).toEqual(base));
  it.each([
    [
      'the cluster’s list of old models',
      {},
      obsolete('Penryn'),
      ['cpu-model.node.kubevirt.io/486-v1'],
      ['cpu-model.node.kubevirt.io/Penryn'],
    ],
    ['an empty list as none', {}, { obsoleteCPUModels: {} }, [], ['cpu-model.node.kubevirt.io/486-v1']],
    ['a host model that is old', {}, obsolete('EPYC'), ['node-labeller.kubevirt.io/obsolete-host-model'], []],
    [
      'an old host model as good enough unless the cluster says otherwise',
      { domain: domain(HOST_MODEL.replace('EPYC', 'Conroe')) },
      {},
      ['host-model-cpu.node.kubevirt.io/Conroe'],
      ['node-labeller.kubevirt.io/obsolete-host-model'],
    ],
    [
      'a host model that the cluster calls current',
      {},
      { obsoleteCPUModels: { EPYC: false } },
      [],
      ['node-labeller.kubevirt.io/obsolete-host-model'],
    ],
    ['no CPU on arm64', { arch: 'arm64' }, {}, ['machine-type.node.kubevirt.io/q35'], ['cpu-feature.node.kubevirt.io/apic']],
    ['enlightenments', { hyperv: ['vpindex'] }, {}, ['hyperv.node.kubevirt.io/vpindex'], []],
    ['real time', { realtime: true }, {}, ['kubevirt.io/realtime'], []],
    [
      'the architecture where others are emulated',
      {},
      { developerConfiguration: { featureGates: ['CrossArchitectureVirtualization'] } },
      ['kubevirt.io/vm-arch-amd64'],
      ['kubevirt.io/vm-arch-arm64'],
    ],
    [
      'the architectures that are emulated',
      { emulated: ['arm64'] },
      { developerConfiguration: { featureGates: ['CrossArchitectureVirtualization'] } },
      ['kubevirt.io/vm-arch-amd64', 'kubevirt.io/vm-arch-arm64'],
      [],
    ],
    ['no emulated architecture without the gate', { emulated: ['arm64'] }, {}, [], ['kubevirt.io/vm-arch-arm64']],
    [
      'nothing of an unknown host model',
      { domain: domain(CUSTOM) },
      {},
      ['cpu-model.node.kubevirt.io/Penryn'],
      ['host-model-cpu.node.kubevirt.io/EPYC'],
    ],
  ])('know %s', (_, over, config, present, absent) => {
    const got = labels(over, config);
    expect([present.filter((label) => !got.includes(label)), absent.filter((label) => got.includes(label))]).toEqual([[], []]);
  });
  it('carry the time stamp counter’s rate as values', () => {
    const { 'cpu-timer.node.kubevirt.io/tsc-frequency': hz, 'cpu-timer.node.kubevirt.io/tsc-scalable': scalable } = nodeLabels(
      facts({ tsc: { frequencyHz: 4008012000, scalable: false } }),
      clusterConfigOf(undefined),
    );
    expect([hz, scalable]).toEqual(['4008012000', 'false']);
  });
  it('replace our own and leave those of others', () => {
    const current = {
      'kubernetes.io/hostname': 'n',
      'kubevirt.io/schedulable': 'true',
      'kubevirt.io/sev': 'true',
      'cpu-model.node.kubevirt.io/Penryn': 'true',
      'scheduling.node.kubevirt.io/tsc-frequency-1': 'true',
    };
    expect(relabelled(current, { 'cpu-model.node.kubevirt.io/EPYC': 'true' })).toEqual({
      'kubernetes.io/hostname': 'n',
      'kubevirt.io/schedulable': 'true',
      'scheduling.node.kubevirt.io/tsc-frequency-1': 'true',
      'cpu-model.node.kubevirt.io/EPYC': 'true',
    });
  });
});
