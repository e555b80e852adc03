// What a setting of the KubeVirt resource counts as: what it says, or the default where it says nothing or nonsense.
import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration } from '../../api/index.js';
import { clusterConfigOf } from './cluster-config.js';
import { emulatedMachinesFor, machineTypeFor, ovmfPathFor } from './cluster-lookups.js';

describe('clusterConfigOf', () => {
  it.each<[string, KubeVirtConfiguration, KubeVirtConfiguration]>([
    ['merges', { network: { permitBridgeInterfaceOnPodNetwork: false } }, { network: { defaultNetworkInterface: 'bridge' } }],
    ['keeps what is said', { developerConfiguration: { memoryOvercommit: 150 } }, { developerConfiguration: { memoryOvercommit: 150 } }],
    [
      'takes a zero that says something',
      { migrations: { progressTimeout: 0 }, memBalloonStatsPeriod: 0 },
      { migrations: { progressTimeout: 0 } },
    ],
    ['takes no other zero', { developerConfiguration: { cpuAllocationRatio: 0 } }, { developerConfiguration: { cpuAllocationRatio: 10 } }],
    [
      'takes no negative ratio',
      { developerConfiguration: { memoryOvercommit: -1 } },
      { developerConfiguration: { memoryOvercommit: 100 } },
    ],
    [
      'takes no share above all',
      { developerConfiguration: { pvcTolerateLessSpaceUpToPercent: 101 } },
      { developerConfiguration: { pvcTolerateLessSpaceUpToPercent: 10 } },
    ],
    ['takes no unknown binding', { network: { defaultNetworkInterface: 'sriov' } }, { network: { defaultNetworkInterface: 'bridge' } }],
    ['takes no unknown pull policy', { imagePullPolicy: 'Sometimes' }, { imagePullPolicy: 'IfNotPresent' }],
    ['takes no empty word', { smbios: { family: '', product: 'P' } }, { smbios: { family: 'KubeVirt', product: 'P' } }],
  ])('%s', (_, given, expected) => expect(clusterConfigOf(given).spec).toMatchObject(expected));

  it.each<[KubeVirtConfiguration, string, readonly string[], string]>([
    [{}, 'q35', ['q35*', 'pc-q35*'], '/usr/share/OVMF'],
    [
      { emulatedMachines: [], architectureConfiguration: { amd64: { machineType: '', emulatedMachines: [], ovmfPath: '' } } },
      'q35',
      ['q35*', 'pc-q35*'],
      '/usr/share/OVMF',
    ],
    [{ machineType: 'm', emulatedMachines: ['m*'], ovmfPath: '/o' }, 'm', ['m*'], '/o'],
  ])('looks up %j', (given, machine, globs, ovmf) => {
    const config = clusterConfigOf(given);
    expect([machineTypeFor(config, 'amd64'), emulatedMachinesFor(config, 'amd64'), ovmfPathFor(config, 'amd64')]).toEqual([
      machine,
      globs,
      ovmf,
    ]);
  });
});
