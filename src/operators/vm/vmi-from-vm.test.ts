import { describe, expect, it } from 'vitest';
import { vm } from '../../../test/builders/objects.js';
import type { VirtualMachine, VirtualMachineStatus } from '../../api/index.js';
import { vmiFromVm } from './vmi-from-vm.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const DUMP = { name: 'dump', memoryDump: { claimName: 'dump', hotpluggable: true } };
const ROOT = { name: 'root', emptyDisk: { capacity: '1Gi' } };

function machine(spec: object, status: VirtualMachineStatus = {}): VirtualMachine {
  const { metadata, ...rest } = vm();
  return { ...rest, metadata, spec: { ...rest.spec, template: { metadata: {}, spec: { domain: { devices: {} }, ...spec } } }, status };
}

describe('vmiFromVm', () => {
  it.each([
    ['waits when its start shall be paused', { stateChangeRequests: [{ action: 'Start', data: { paused: 'true' } }] }, 'Paused'],
    ['does not wait when its stop was asked for', { stateChangeRequests: [{ action: 'Stop', data: { paused: 'true' } }] }, undefined],
    ['does not wait at another start', { stateChangeRequests: [{ action: 'Start' }] }, undefined],
  ])('%s', (_, status, expected) => {
    expect(vmiFromVm(machine({}, status as VirtualMachineStatus)).spec.startStrategy).toBe(expected);
  });

  it.each([
    ['leaves the claim of a memory dump out that was taken', 'Completed', ['root']],
    ['keeps the claim of one that is still to be taken', 'Associating', ['root', 'dump']],
  ])('%s', (_, phase, expected) => {
    const made = vmiFromVm(machine({ volumes: [ROOT, DUMP] }, { memoryDumpRequest: { claimName: 'dump', phase } } as VirtualMachineStatus));
    expect(made.spec.volumes?.map(({ name }) => name)).toEqual(expected);
    expect(made.spec.domain.devices.disks).toEqual([{ name: 'root' }]);
  });

  it.each([
    ['none', {}],
    ['an empty one', { uuid: '' }],
  ])('gives the guest a firmware UUID where the VM has %s', (_, firmware) => {
    expect(vmiFromVm(machine({ domain: { devices: {}, firmware } })).spec.domain.firmware?.uuid).toMatch(UUID);
  });
});
