import { describe, expect, it } from 'vitest';
import { parseLauncherOptions } from './options.js';

const IDENTITY = ['--name', 'vm1', '--uid', 'u1', '--namespace', 'ns'];

describe('parseLauncherOptions', () => {
  it('has the reference’s defaults', () => {
    expect(parseLauncherOptions(IDENTITY)).toEqual({
      ok: true,
      value: {
        name: 'vm1',
        uid: 'u1',
        namespace: 'ns',
        qemuTimeoutMs: 180_000,
        gracePeriodSeconds: 30,
        allowEmulation: false,
        allowCrossArchEmulation: false,
        imageVolume: false,
        runAsNonroot: false,
        firmwareAutoSelection: false,
        vmStatsCollector: false,
        simulateCrash: false,
        ovmfPath: '/usr/share/OVMF',
        hookSidecars: 0,
        hypervisor: 'kvm',
        libvirtLogFilters: undefined,
        agentIntervals: { sysMs: 120_000, fileMs: 300_000, userMs: 10_000, versionMs: 300_000, fsFreezeMs: 5_000 },
      },
    });
  });

  it('reads every flag our pods pass', () => {
    const result = parseLauncherOptions([
      ...IDENTITY,
      '--grace-period-seconds',
      '45',
      '--allow-emulation',
      '--image-volume=true',
      '--run-as-nonroot=false',
    ]);
    expect(result).toMatchObject({
      ok: true,
      value: { gracePeriodSeconds: 45, allowEmulation: true, imageVolume: true, runAsNonroot: false },
    });
  });

  it.each([
    ['an unknown flag', ['--nope'], '--nope'],
    ['a missing name', [], '--name is required'],
    ['a bad duration', [...IDENTITY, '--qemu-timeout', 'soon'], '--qemu-timeout: "soon" is no duration'],
    ['a bad grace period', [...IDENTITY, '--grace-period-seconds', '-1x'], 'grace-period-seconds'],
    ['hook sidecars', [...IDENTITY, '--hook-sidecars', 'some'], 'no whole number'],
    ['another hypervisor', [...IDENTITY, '--hypervisor', 'xen'], '"xen" is not known'],
    ['a stray word', [...IDENTITY, 'word'], 'word'],
  ])('refuses %s', (_, argv, text) => {
    expect(parseLauncherOptions(argv)).toEqual({ ok: false, error: expect.stringContaining(text) });
  });
});
