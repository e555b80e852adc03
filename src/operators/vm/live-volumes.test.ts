import { describe, expect, it } from 'vitest';
import { dumpVolume, patches, plug, type Scene, scene } from '../../../test/builders/live-vm.js';
import { remainingVolumeRequests } from './live-volumes.js';
import { DUMP_ANNOTATION, nextMemoryDump } from './memory-dump.js';
import { text } from './text.js';

describe('volume requests', () => {
  const configuration = { developerConfiguration: { featureGates: ['HotplugVolumes'] } };
  const add = {
    addVolumeOptions: {
      name: 'data',
      disk: { name: 'data', disk: { bus: 'scsi' } },
      volumeSource: { persistentVolumeClaim: { claimName: 'data' } },
    },
  };
  const remove = { removeVolumeOptions: { name: 'data' } };
  const plugged = ['replace /spec/volumes root+data', 'replace /spec/domain/devices/disks root+drive+data'];
  it.each<[string, Scene, string[]]>([
    [
      'add to both',
      { vmStatus: { volumeRequests: [add] } },
      [...plugged, ...plugged.map((line) => `vm ${line.replace('/spec/', '/spec/template/spec/')}`)],
    ],
    ['add to the guest alone', { now: [plug('data')], vmStatus: { volumeRequests: [add] } }, plugged],
    [
      'remove from the guest alone',
      { running: [plug('data')], vmStatus: { volumeRequests: [remove] } },
      ['replace /spec/volumes root', 'replace /spec/domain/devices/disks root+drive'],
    ],
    ['are done', { from: [plug('data')], vmStatus: { volumeRequests: [add] } }, []],
  ])('%s', (_title, parts, expected) => {
    expect(patches(scene({ ...parts, configuration }))).toEqual(expected);
  });
  it.each<[string, Scene, number]>([
    ['while the template lacks it', {}, 1],
    ['while the guest lacks it', { now: [plug('data')] }, 1],
    ['no more when both have it', { from: [plug('data')] }, 0],
    ['no more when nothing runs', { now: [plug('data')], phase: 'Succeeded' }, 0],
  ])('are kept %s', (_title, parts, expected) => {
    const { vm: machine, vmi: instance } = scene({ ...parts, vmStatus: { volumeRequests: [add] } });
    expect(remainingVolumeRequests(machine, instance)).toHaveLength(expected);
  });
});

describe('a memory dump', () => {
  const request = (phase: string, more: object = {}) => ({ memoryDumpRequest: { claimName: 'dump', phase, ...more } });
  const entry = (phase: string, memoryDumpVolume: object = {}) => ({
    volumeStatus: [{ name: 'dump', target: '', phase, message: 'why', hotplugVolume: {}, memoryDumpVolume }],
  });
  const written = { startTimestamp: 's', endTimestamp: 'e', targetFileName: 'f' };
  it.each<[string, Scene, object | undefined]>([
    ['waits for the template', { vmStatus: request('Associating') }, { phase: 'Associating' }],
    ['begins', { now: [dumpVolume], vmStatus: request('Associating') }, { phase: 'InProgress' }],
    [
      'waits until the one before has left',
      { now: [dumpVolume], vmStatus: request('Associating'), status: entry('MemoryDumpFailed') },
      { phase: 'Associating' },
    ],
    [
      'goes on',
      { vmStatus: request('InProgress'), status: entry('MemoryDumpInProgress', { startTimestamp: 's' }) },
      { phase: 'InProgress', startTimestamp: 's' },
    ],
    [
      'is written',
      { vmStatus: request('InProgress'), status: entry('MemoryDumpCompleted', written) },
      { phase: 'Unmounting', startTimestamp: 's', endTimestamp: 'e', fileName: 'f' },
    ],
    [
      'fails',
      { vmStatus: request('InProgress'), status: entry('MemoryDumpFailed', written) },
      { phase: 'Failed', startTimestamp: 's', endTimestamp: 'e', message: 'why' },
    ],
    ['fails with its guest', { vmStatus: request('InProgress'), phase: 'Succeeded' }, { phase: 'Failed', message: text.dumpInterrupted }],
    [
      'leaves',
      { vmStatus: request('Unmounting', { fileName: 'f' }), status: entry('MemoryDumpCompleted') },
      { phase: 'Unmounting', fileName: 'f' },
    ],
    ['has left', { vmStatus: request('Unmounting', { fileName: 'f' }) }, { phase: 'Completed', fileName: 'f' }],
    ['stays', { vmStatus: request('Completed') }, { phase: 'Completed' }],
    [
      'is taken from the VM',
      { now: [dumpVolume], vmStatus: request('Dissociating', { remove: true }) },
      { phase: 'Dissociating', remove: true },
    ],
    ['is forgotten', { vmStatus: request('Dissociating', { remove: true }) }, undefined],
    ['is none', {}, undefined],
  ])('%s', (_title, parts, expected) => {
    const { vm: machine, vmi: instance } = scene(parts);
    expect(nextMemoryDump(machine, instance)).toEqual(expected && { claimName: 'dump', ...expected });
  });
  it.each<[string, Scene, string[]]>([
    [
      'into template and guest',
      { vmStatus: request('Associating') },
      ['replace /spec/volumes root+dump', 'vm replace /spec/template/spec/volumes root+dump'],
    ],
    [
      'into the guest of a restarted controller',
      { now: [dumpVolume], vmStatus: request('InProgress') },
      ['replace /spec/volumes root+dump'],
    ],
    ['out of the guest', { from: [dumpVolume], vmStatus: request('Unmounting') }, ['replace /spec/volumes root']],
    ['nowhere when it is complete', { now: [dumpVolume], vmStatus: request('Completed') }, []],
    [
      'out of both',
      { from: [dumpVolume], vmStatus: request('Dissociating') },
      ['replace /spec/volumes root', 'vm replace /spec/template/spec/volumes root'],
    ],
  ])('moves the claim %s', (_title, parts, expected) => {
    expect(patches(scene(parts))).toEqual(expected);
  });
  it.each([
    ['the file', request('Unmounting', { fileName: 'f' }), undefined, ['note dump: f']],
    ['the failure', request('Failed'), 'f', ['note dump: Memory dump failed']],
    ['nothing twice', request('Completed', { fileName: 'f' }), 'f', []],
    ['nothing while it is taken', request('InProgress'), undefined, []],
  ])('notes on the claim: %s', (_title, vmStatus, noted, expected) => {
    const dumpClaim = { metadata: { name: 'dump', annotations: noted ? { [DUMP_ANNOTATION]: noted } : {} } };
    const seen = { ...scene({ vmStatus, phase: 'Succeeded' }), dumpClaim };
    expect(patches(seen)).toEqual(expected);
  });
});
