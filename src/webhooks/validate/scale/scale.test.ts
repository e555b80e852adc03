// Replica sets, pools and presets: what each refuses.

import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstanceReplicaSet, VirtualMachinePool } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import type { VirtualMachineInstancePreset } from '../../mutate/preset.js';
import type { Verdict } from '../../verdict.js';
import { admitPool } from './pool.js';
import { admitPreset } from './preset.js';
import { admitReplicaSet } from './replica-set.js';

const config = clusterConfigOf({});
const told = (verdict: Verdict): string[] =>
  verdict.allowed
    ? []
    : 'causes' in verdict
      ? verdict.causes.map((c) => `${c.type.replace('FieldValue', '')} ${c.field}`)
      : [verdict.error];
const domain = (devices: object = {}): object => ({ architecture: 'amd64', domain: { devices, memory: { guest: '1Gi' } } });
const labels = { metadata: { labels: { app: 'x' } } };
const selector = { matchLabels: { app: 'x' } };
const badDisk = { disks: [{ name: 'd', disk: { bus: 'ide' } }] };

describe('admitReplicaSet', () => {
  const set = (spec: object): VirtualMachineInstanceReplicaSet =>
    ({
      metadata: { name: 'rs' },
      spec: { selector, template: { ...labels, spec: domain() }, ...spec },
    }) as VirtualMachineInstanceReplicaSet;
  it.each<[string, object, string[]]>([
    ['sound', {}, []],
    ['no template', { template: {} }, ['Required spec.template']],
    ['selector of others', { selector: { matchLabels: { app: 'y' } } }, ['Invalid spec.selector']],
    ['empty selector', { selector: {} }, []],
    ['unsound selector', { selector: { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] } }, ['Invalid spec.selector']],
    ['template rules', { template: { ...labels, spec: { ...domain(), hostname: 'A' } } }, ['Invalid spec.template.spec.hostname']],
  ])('%s', (_title, spec, expected) => {
    expect(told(admitReplicaSet(set(spec), true, config))).toEqual(expected);
  });
});

describe('admitPool', () => {
  const pool = (spec: object = {}, vm: object = {}): VirtualMachinePool =>
    ({
      metadata: { name: 'p' },
      spec: {
        selector,
        virtualMachineTemplate: { ...labels, spec: { runStrategy: 'Always', template: { spec: domain() }, ...vm } },
        ...spec,
      },
    }) as VirtualMachinePool;
  it.each<[string, VirtualMachinePool, string[]]>([
    ['sound', pool(), []],
    ['no template', pool({ virtualMachineTemplate: {} }), ['Required spec.template']],
    ['VM rules', pool({}, { runStrategy: undefined }), ['Invalid spec.virtualMachineTemplate.spec.running']],
    ['selector of others', pool({ selector: { matchLabels: { app: 'y' } } }), ['Invalid spec.selector']],
    ['two ways to update', pool({ updateStrategy: { proactive: {}, unmanaged: {} } }), ['Invalid spec.updateStrategy']],
    ['two ways to scale in', pool({ scaleInStrategy: { proactive: {}, unmanaged: {} } }), ['Invalid spec.scaleInStrategy']],
    ['one way each', pool({ updateStrategy: { proactive: {} }, scaleInStrategy: { unmanaged: {} } }), []],
  ])('%s', (_title, given, expected) => {
    expect(told(admitPool({ pool: given, isOwnAccount: false }, config))).toEqual(expected);
  });

  it.each<[number | string, boolean]>([
    [1, true],
    [0, false],
    [-1, false],
    ['1%', true],
    ['100%', true],
    ['0%', false],
    ['101%', false],
    ['-5%', false],
    ['half%', false],
    ['%', false],
    ['5', false],
  ])('maxUnavailable %s', (maxUnavailable, isSound) => {
    const verdict = admitPool({ pool: pool({ maxUnavailable }), isOwnAccount: false }, config);
    expect(told(verdict)).toEqual(isSound ? [] : ['Invalid spec.maxUnavailable']);
  });

  it('keeps the selector', () => {
    const wider = pool({ selector: {} });
    expect(told(admitPool({ pool: wider, old: pool(), isOwnAccount: false }, config))).toEqual(['Invalid spec.selector']);
    expect(told(admitPool({ pool: pool({ replicas: 5 }), old: pool(), isOwnAccount: false }, config))).toEqual([]);
  });
});

describe('admitPreset', () => {
  it.each<[string, object, string[]]>([
    ['sound', { domain: { devices: {} } }, []],
    ['no domain', {}, ['Required spec.domain']],
    ['disk', { domain: { devices: badDisk } }, ['Invalid spec.domain.devices.disks[0].disk.bus']],
    ['firmware', { domain: { devices: {}, firmware: { bootloader: { bios: {}, efi: {} } } } }, ['Invalid spec.domain.firmware.bootloader']],
  ])('%s', (_title, spec, expected) => {
    const preset = { metadata: { name: 'ps' }, spec: { selector: {}, ...spec } } as unknown as VirtualMachineInstancePreset;
    expect(told(admitPreset(preset, config))).toEqual(expected);
  });
});
