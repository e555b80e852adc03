import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstanceSpec } from '../../api/index.js';
import { isGuaranteed, tapQueues, vcpuCount } from './vcpu.js';

type Domain = VirtualMachineInstanceSpec['domain'];
const domain = (over: Partial<Domain> = {}): Domain => ({ devices: {}, ...over });

describe('vCPUs', () => {
  it.each([
    ['one without anything', domain(), 1],
    ['the topology', domain({ cpu: { cores: 2, sockets: 3, threads: 2 } }), 12],
    ['counts left out as one', domain({ cpu: { cores: 4 } }), 4],
    ['a topology before limits', domain({ cpu: { model: 'host-model' }, resources: { limits: { cpu: 4 } } }), 1],
    ['the limit, rounded up', domain({ resources: { limits: { cpu: '2500m' }, requests: { cpu: 1 } } }), 3],
    ['else the request', domain({ resources: { requests: { cpu: '2' } } }), 2],
  ])('%s', (_, of, expected) => expect(vcpuCount(of)).toBe(expected));

  it.each([
    ['no multi-queue', domain({ cpu: { cores: 4 } }), 0],
    ['multi-queue', domain({ cpu: { cores: 4 }, devices: { networkInterfaceMultiqueue: true } }), 4],
    ['more vCPUs than a tap has queues', domain({ cpu: { cores: 300 }, devices: { networkInterfaceMultiqueue: true } }), 256],
  ])('queues with %s', (_, of, expected) => expect(tapQueues(of)).toBe(expected));
});

describe('guaranteed quality of service', () => {
  it.each([
    ['equal requests and limits', { requests: { cpu: 1, memory: '1Gi' }, limits: { cpu: '1000m', memory: '1024Mi' } }, true],
    ['a different limit', { requests: { cpu: 1, memory: '1Gi' }, limits: { cpu: 2, memory: '1Gi' } }, false],
    ['no CPU', { requests: { memory: '1Gi' }, limits: { memory: '1Gi' } }, false],
    ['nothing', {}, false],
  ])('%s: %s', (_, resources, expected) => expect(isGuaranteed(domain({ resources }))).toBe(expected));
  it('comes with dedicated CPUs', () => expect(isGuaranteed(domain({ cpu: { dedicatedCpuPlacement: true } }))).toBe(true));
});
