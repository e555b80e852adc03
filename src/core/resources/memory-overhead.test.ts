import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../api/index.js';
import { formatQuantity } from '../../api/quantity.js';
import { memoryOverhead, type OverheadOptions } from './memory-overhead.js';

type Domain = VirtualMachineInstanceSpec['domain'];
const vmi = (domain: Partial<Domain> = {}, spec: Partial<VirtualMachineInstanceSpec> = {}): VirtualMachineInstance => ({
  metadata: { name: 'vm' },
  spec: { domain: { devices: {}, ...domain }, ...spec },
});
const overhead = (of: VirtualMachineInstance, options: Partial<OverheadOptions> = {}): string =>
  formatQuantity(memoryOverhead(of, { arch: 'amd64', ...options }));

const exec = { exec: { command: ['true'] } };

describe('the memory that a launcher needs beside its guest', () => {
  it.each([
    ['the smallest', vmi(), '288Mi'],
    ['four vCPUs', vmi({ cpu: { cores: 2, sockets: 2, threads: 1 } }), '312Mi'],
    ['vCPUs by limit', vmi({ resources: { limits: { cpu: '1500m' } } }), '296Mi'],
    ['no graphics', vmi({ devices: { autoattachGraphicsDevice: false } }), '256Mi'],
    [
      'a passed-through device, once',
      vmi({ devices: { gpus: [{ name: 'g', deviceName: 'd' }], hostDevices: [{ name: 'h', deviceName: 'd' }] } }),
      '1312Mi',
    ],
    ['a TPM', vmi({ devices: { tpm: {} } }), '341Mi'],
    ['a TPM that is switched off', vmi({ devices: { tpm: { enabled: false } } }), '288Mi'],
    ['encrypted memory', vmi({ launchSecurity: { sev: {} } }), '544Mi'],
    ['dedicated CPUs', vmi({ cpu: { cores: 1, dedicatedCpuPlacement: true } }), '388Mi'],
    [
      'guaranteed quality of service',
      vmi({ resources: { requests: { cpu: 1, memory: '0.5Mi' }, limits: { cpu: '1000m', memory: '512Ki' } } }),
      '406848513',
    ],
    ['one exec probe', vmi({}, { readinessProbe: exec }), '398Mi'],
    ['two exec probes', vmi({}, { readinessProbe: exec, livenessProbe: exec }), '408Mi'],
    ['downward metrics', vmi({}, { volumes: [{ name: 'm', downwardMetrics: {} }] }), '289Mi'],
    ['what the user reserves', vmi({ memory: { reservedOverhead: { addedOverhead: '12Mi' } } }), '300Mi'],
    ['passt', vmi({ devices: { interfaces: [{ name: 'default', passtBinding: {} }] } }), '538Mi'],
    ['page tables of the requested memory, in decimal', vmi({ resources: { requests: { memory: '512Mi' } } }), '303038464'],
  ])('%s', (_, of, expected) => expect(overhead(of)).toBe(expected));

  it('adds the flash of arm64', () => expect(overhead(vmi(), { arch: 'arm64' })).toBe('416Mi'));
  it.each([
    ['1.5', '452984888'],
    ['2', '603979888'],
    ['1', '288Mi'],
    ['much', '288Mi'],
  ])('stretches everything by %s', (ratio, expected) => expect(overhead(vmi(), { ratio })).toBe(expected));
  it('adds what a binding plugin asks for, once a plugin and after the ratio', () => {
    const bindings = { p: { computeResourceOverhead: { requests: { memory: '10Mi' } } }, free: {} };
    const interfaces = [
      { name: 'a', binding: { name: 'p' } },
      { name: 'b', binding: { name: 'p' } },
      { name: 'c', binding: { name: 'free' } },
    ];
    expect(overhead(vmi({ devices: { interfaces } }), { bindings })).toBe('298Mi');
  });
});
