import { describe, expect, it } from 'vitest';
import { nodeVmi } from '../../../test/builders/node-vm.js';
import type { KubeVirt, Plugin } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { STUCK } from '../../base/steps.js';
import { clusterConfig } from '../../core/config/cluster-config.js';
import { failureOf, fatalPhase } from './failure.js';
import { syncOptions } from './sync-options.js';

const shown = nodeVmi({ status: { conditions: [{ type: 'Synchronized', status: 'False', reason: 'Old', message: 'old' }] } });
const notReady = new KvError('NotReady', 'no disk', { reason: 'ContainerDiskNotReady', retry: { afterMs: 1000 } });

describe('failureOf', () => {
  it.each([
    ['nothing failed', undefined, nodeVmi(), 0, undefined],
    [
      'an error with a reason',
      new KvError('NotReady', 'no KVM', { reason: 'NoKvm' }),
      nodeVmi(),
      0,
      { reason: 'NoKvm', message: 'no KVM' },
    ],
    ['an error without', new Error('broken'), nodeVmi(), 0, { reason: 'Synchronizing with the Domain failed.', message: 'broken' }],
    [
      'what is another at every try is left out',
      new Error("QEMU said: 2026-11-30T10:05:59.938366Z qemu: locked, open '/proc/self/fd/142/disk.img'"),
      nodeVmi(),
      0,
      { reason: 'Synchronizing with the Domain failed.', message: "QEMU said: qemu: locked, open '/disk.img'" },
    ],
    ['a silent launcher is no news', new KvError('LauncherUnreachable', 'x'), nodeVmi(), 0, undefined],
    ['a slow one neither', new KvError('Timeout', 'no answer'), nodeVmi(), 0, undefined],
    [
      'but where it is stuck is',
      new KvError('Timeout', 'Sync was not done; it was at: start domain x', { reason: STUCK }),
      nodeVmi(),
      0,
      { reason: STUCK, message: 'Sync was not done; it was at: start domain x' },
    ],
    [
      'words without end are cut',
      new KvError('Libvirt', 'x'.repeat(10_000_000)),
      nodeVmi(),
      0,
      { reason: 'Synchronizing with the Domain failed.', message: 'x'.repeat(4096) },
    ],
    ['a lost race keeps what was shown', new KvError('Conflict', 'x'), shown, 0, { reason: 'Old', message: 'old' }],
    ['a side container may be late', notReady, nodeVmi(), 59_000, undefined],
    ['but not for ever', notReady, nodeVmi(), 61_000, { reason: 'ContainerDiskNotReady', message: 'no disk' }],
  ])('%s', (_title, err, vmi, ageMs, expected) => {
    expect(failureOf(err, vmi, ageMs)).toEqual(expected);
  });
});

describe('fatalPhase', () => {
  it.each([
    ['half-done networks', new KvError('CriticalNetwork', 'x', { reason: 'NetworkSetupFailed' }), 'NetworkSetupFailed'],
    ['missing firmware', new KvError('Invalid', 'EFI OVMF rom missing: OVMF_CODE.fd'), 'Synchronizing with the Domain failed.'],
    ['anything else', new KvError('Libvirt', 'x'), undefined],
    ['no error', undefined, undefined],
  ])('%s', (_title, err, reason) => {
    expect(fatalPhase(err)?.failure?.reason).toBe(reason);
  });
});

describe('syncOptions', () => {
  it('tells the launcher what it cannot read itself', () => {
    const config = clusterConfig({
      metadata: { name: 'kubevirt' },
      spec: { configuration: { virtualMachineOptions: { disableSerialConsoleLog: {} }, memBalloonStatsPeriod: 5 } },
    } as KubeVirt);
    expect(syncOptions(nodeVmi(), config)).toMatchObject({
      MemBalloonStatsPeriod: 5,
      VirtualMachineSMBios: { manufacturer: 'KubeVirt' },
      clusterConfig: { SerialConsoleLogDisabled: true, FreePageReportingDisabled: false, BochsDisplayForEFIGuests: true },
      interfaceDomainAttachment: { default: 'tap' },
    });
  });

  it.each([
    ['with the gate', ['GraceIOVirtualization'], ['gpu-g', 'hostdevice-h']],
    ['without it', [], undefined],
  ])('names the Grace GPUs of a guest %s', (_, featureGates, aliases) => {
    const pciHostDevices = [
      { pciVendorSelector: '0x10de:2342', resourceName: 'nvidia.com/grace' },
      { pciVendorSelector: '8086:1234', resourceName: 'intel.com/nic' },
    ];
    const configuration = { developerConfiguration: { featureGates }, permittedHostDevices: { pciHostDevices } };
    const config = clusterConfig({ metadata: { name: 'kubevirt' }, spec: { configuration } } as KubeVirt);
    const vmi = nodeVmi();
    vmi.spec.domain.devices.gpus = [{ name: 'g', deviceName: 'nvidia.com/grace' }];
    vmi.spec.domain.devices.hostDevices = [
      { name: 'n', deviceName: 'intel.com/nic' },
      { name: 'h', deviceName: 'nvidia.com/grace' },
    ];
    expect(syncOptions(vmi, config).GraceHostDeviceAliases).toEqual(aliases);
  });

  it('sends the plugins along where there are any', () => {
    const plugins: Plugin[] = [{ metadata: { name: 'p' }, spec: {} }];
    const sent = (given?: Plugin[]): string | undefined => syncOptions(nodeVmi(), clusterConfig(), given).pluginsJson?.toString();
    expect(sent(plugins)).toBe(JSON.stringify(plugins));
    expect([sent(), sent([])]).toEqual([undefined, undefined]);
  });
});
