import { describe, expect, it } from 'vitest';
import { factsOf, type GuestParts, guest, rendered } from '../../../../test/builders/domain.js';
import type { DomainFacts } from '../facts.js';
import { cpu } from './cpu.js';

const EMULATED: Partial<DomainFacts> = { hypervisorDevicePresent: false, allowEmulation: true };
const ONE = '<topology sockets="1" cores="1" threads="1"/>';

const first = (parts: GuestParts, facts: Partial<DomainFacts> = {}): string | undefined => rendered(cpu, guest(parts), factsOf(facts))[0];

describe('model', () => {
  it.each([
    ['nothing asked', {}, {}, `<cpu mode="host-model">${ONE}</cpu>`],
    ['host-passthrough', { model: 'host-passthrough' }, {}, `<cpu mode="host-passthrough">${ONE}</cpu>`],
    [
      'a named model without mpx',
      { model: 'Haswell' },
      {},
      `<cpu mode="custom"><model>Haswell</model><feature name="mpx" policy="disable"/>${ONE}</cpu>`,
    ],
    [
      'a named model with mpx',
      { model: 'Haswell', features: [{ name: 'mpx', policy: 'require' }] },
      {},
      `<cpu mode="custom"><model>Haswell</model><feature name="mpx" policy="require"/>${ONE}</cpu>`,
    ],
    [
      'features without a model',
      { features: [{ name: 'pcid' }] },
      {},
      `<cpu mode="host-model"><feature name="pcid" policy="require"/><feature name="mpx" policy="disable"/>${ONE}</cpu>`,
    ],
    ['no mpx on arm64', { model: 'cortex-a57' }, { hostArch: 'arm64' }, `<cpu mode="custom"><model>cortex-a57</model>${ONE}</cpu>`],
    ['another architecture', { model: 'host-model' }, { crossArchEmulation: true }, `<cpu mode="custom"><model>max</model>${ONE}</cpu>`],
    ['emulated as asked', { model: 'host-passthrough' }, EMULATED, `<cpu mode="host-passthrough">${ONE}</cpu>`],
    ['emulated, adapted', { model: 'host-passthrough' }, { ...EMULATED, adaptCpuToEmulation: true }, `<cpu mode="maximum">${ONE}</cpu>`],
    [
      'emulated host-model stays on amd64',
      { model: 'host-model' },
      { ...EMULATED, adaptCpuToEmulation: true },
      `<cpu mode="host-model">${ONE}</cpu>`,
    ],
    [
      'emulated host-model elsewhere',
      { model: 'host-model' },
      { ...EMULATED, adaptCpuToEmulation: true, hostArch: 'arm64' },
      `<cpu mode="maximum">${ONE}</cpu>`,
    ],
    [
      'adapted only when emulated',
      { model: 'host-passthrough' },
      { adaptCpuToEmulation: true },
      `<cpu mode="host-passthrough">${ONE}</cpu>`,
    ],
  ] as const)('%s', (_title, given, facts, want) => {
    expect(first(Object.keys(given).length > 0 ? { domain: { cpu: structuredClone(given) as object } } : {}, facts)).toBe(want);
  });
});

describe('topology', () => {
  it.each([
    ['counts', { domain: { cpu: { sockets: 2, cores: 3, threads: 2 } } }, ['sockets="2" cores="3" threads="2"', '>12</vcpu>']],
    [
      'the CPU limit in whole sockets',
      { domain: { resources: { limits: { cpu: '2500m' }, requests: { cpu: '1' } } } },
      ['sockets="3"', '>3</vcpu>'],
    ],
    ['the CPU request', { domain: { resources: { requests: { cpu: 2 } } } }, ['sockets="2"', '>2</vcpu>']],
    ['counts before resources', { domain: { cpu: { cores: 1 }, resources: { limits: { cpu: '4' } } } }, ['sockets="1"', '>1</vcpu>']],
  ])('%s', (_title, parts: GuestParts, wants) => {
    const xml = rendered(cpu, guest(parts)).join('');
    for (const want of wants) expect(xml).toContain(want);
  });

  it('lists vCPUs when sockets can be plugged in', () => {
    expect(rendered(cpu, guest({ domain: { cpu: { cores: 1, threads: 2, sockets: 2, maxSockets: 3 } } }))).toEqual([
      '<cpu mode="host-model"><feature name="mpx" policy="disable"/><topology sockets="3" cores="1" threads="2"/></cpu>',
      '<vcpu placement="static">6</vcpu>',
      '<vcpus>' +
        '<vcpu id="0" enabled="yes" hotpluggable="no"/><vcpu id="1" enabled="yes" hotpluggable="no"/>' +
        '<vcpu id="2" enabled="yes" hotpluggable="yes"/><vcpu id="3" enabled="yes" hotpluggable="yes"/>' +
        '<vcpu id="4" enabled="no" hotpluggable="yes"/><vcpu id="5" enabled="no" hotpluggable="yes"/>' +
        '</vcpus>',
    ]);
  });

  it('has no vCPU list on arm64', () => {
    const parts = { domain: { cpu: { model: 'host-passthrough', maxSockets: 4 } } };
    expect(rendered(cpu, guest(parts), factsOf({ hostArch: 'arm64' }))).toEqual([
      `<cpu mode="host-passthrough">${ONE}</cpu>`,
      '<vcpu placement="static">1</vcpu>',
    ]);
  });
});

describe('guest NUMA', () => {
  const CELL = '<numa><cell id="0" cpus="0-1" memory="262144" unit="KiB"/></numa>';
  const two = { cores: 2, model: 'host-model' };

  it.each([
    ['one cell for huge pages', { domain: { cpu: two, memory: { guest: '256Mi', hugepages: { pageSize: '2Mi' } } } }, true],
    ['one cell for shared directories', { domain: { cpu: two }, devices: { filesystems: [{ name: 'fs', virtiofs: {} }] } }, true],
    ['one cell for passt', { domain: { cpu: two }, devices: { interfaces: [{ name: 'default', passtBinding: {} }] } }, true],
    [
      'none where the annotation forbids a memfd',
      { domain: { cpu: two, memory: { guest: '256Mi', hugepages: { pageSize: '2Mi' } } }, annotations: { 'kubevirt.io/memfd': 'false' } },
      false,
    ],
    ['none for plain memory', { domain: { cpu: two } }, false],
  ])('%s', (_title, parts: GuestParts, want) => {
    expect(first(parts)?.includes(CELL)).toBe(want);
  });
});
