// Instance types and preferences: what each refuses, and what it warns of.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec } from '../../../api/index.js';
import type { Verdict } from '../../verdict.js';
import { admitInstancetype } from './instancetype.js';
import { admitPreference } from './preference.js';

const told = (verdict: Verdict): string[] => {
  if (verdict.allowed) return verdict.warnings.map((w) => `warning: ${w.split(' ')[0]}`);
  return 'causes' in verdict ? verdict.causes.map((c) => c.field) : [verdict.error];
};
const AT = 'spec.memory.overcommitPercent';

describe('admitInstancetype', () => {
  it.each<[string, object, object, string[]]>([
    ['sound', { overcommitPercent: 100 }, {}, []],
    ['too much', { overcommitPercent: 101 }, {}, [AT]],
    ['negative', { overcommitPercent: -1 }, {}, [AT]],
    ['of huge pages', { overcommitPercent: 10, hugepages: { pageSize: '2Mi' } }, {}, [AT]],
    ['launch security', {}, { launchSecurity: {} }, ['warning: launchSecurity']],
  ])('%s', (_title, memory, rest, expected) => {
    const spec = { cpu: { guest: 1 }, memory: { guest: '1Gi', ...memory }, ...rest } as VirtualMachineInstancetypeSpec;
    expect(told(admitInstancetype(spec))).toEqual(expected);
  });

  it('bears one without memory, which the schema refuses', () => {
    expect(told(admitInstancetype({} as VirtualMachineInstancetypeSpec))).toEqual([]);
  });
});

describe('admitPreference', () => {
  const spread = (spreadOptions: object): VirtualMachinePreferenceSpec => ({ cpu: { preferredCPUTopology: 'spread', spreadOptions } });
  it.each<[string, VirtualMachinePreferenceSpec, string[]]>([
    ['empty', {}, []],
    ['known', { cpu: { preferredCPUTopology: 'any' } }, []],
    ['old spelling', { cpu: { preferredCPUTopology: 'preferCores' } }, ['warning: PreferredCPUTopology']],
    ['unknown', { cpu: { preferredCPUTopology: 'bogus' } }, ['spec.cpu.preferredCPUTopology']],
    ['spread', spread({ across: 'SocketsCores', ratio: 4 }), []],
    ['spread over threads', spread({ across: 'CoresThreads', ratio: 4 }), ['spec.cpu.spreadOptions.ratio']],
    ['spread over nothing known', spread({ across: 'x' }), ['spec.cpu.spreadOptions.across']],
    ['options that do not apply', { cpu: { preferredCPUTopology: 'cores', spreadOptions: { across: 'x' } } }, []],
  ])('%s', (_title, spec, expected) => {
    expect(told(admitPreference(spec))).toEqual(expected);
  });
});
