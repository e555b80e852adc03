// Which guests lock their memory, and how much that is.
import { describe, expect, it } from 'vitest';
import type { DomainSpec, VirtualMachineInstance } from '../../api/index.js';
import { amountValue } from '../../api/quantity.js';
import { clusterConfig } from '../config/cluster-config.js';
import { lockedMemoryBytes } from './locked-memory.js';
import { overheadOf } from './memory-overhead.js';

const GIB = 1024n ** 3n;
const config = clusterConfig(undefined);
const vmi = (domain: Partial<DomainSpec>): VirtualMachineInstance => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name: 'vm' },
  spec: { domain: { devices: {}, memory: { guest: '1Gi' }, ...domain } },
});

describe('lockedMemoryBytes', () => {
  it.each<[string, Partial<DomainSpec>]>([
    ['a device of the host', { devices: { hostDevices: [{ name: 'd', deviceName: 'vendor.com/d' }] } }],
    ['a function of a network card', { devices: { interfaces: [{ name: 'n', sriov: {} }] } }],
    ['encrypted memory', { launchSecurity: { sev: {} } }],
    ['a realtime guest', { cpu: { realtime: {} } }],
    ['a wish of its own', { memory: { guest: '1Gi', reservedOverhead: { memLock: 'Required' } } }],
    ['a request in place of a size', { cpu: { realtime: {} }, memory: {}, resources: { requests: { memory: '1Gi' } } }],
  ])('%s locks everything', (_, domain) => {
    const given = vmi(domain);
    expect(lockedMemoryBytes(given, config)).toBe(GIB + amountValue(overheadOf(given, config)));
  });

  it('an ordinary guest locks nothing', () => {
    expect(lockedMemoryBytes(vmi({}), config)).toBeUndefined();
  });
});
