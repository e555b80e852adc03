// What a plugin may say: which expressions are understood, and which not.

import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../../api/index.js';
import { typeOfExpression } from '../../../core/cel/check.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import { domainEnvironment, nodeEnvironment } from '../../../core/plugins/environments.js';
import { admitPluginCreate } from './admit.js';

const told = (text: string, environment = nodeEnvironment): string => {
  const result = typeOfExpression(text, environment);
  return result.ok ? result.value : `fault: ${result.error}`;
};

describe('CEL', () => {
  it.each([
    ['true', 'bool'],
    ['1 + 2 * 3', 'int'],
    ['1.5 / 2.0', 'double'],
    ['"a" + \'b\'', 'string'],
    ['r"\\d" + """x\n"y" """', 'string'],
    ['b"x"', 'bytes'],
    ['-1 < 2u // a comment', 'bool'],
    ['vmi.metadata.name == "x"', 'bool'],
    ['vmi.metadata.labels["a/b"] == "x" && !(has(vmi.spec.domain))', 'bool'],
    ['vmi.spec.volumes.exists(v, v.name == "x" && v.name.startsWith("y"))', 'bool'],
    ['[1, 2,].map(x, x * 2)', 'list<int>'],
    ['{"a": 1, "b": 2}', 'map<int>'],
    ['[1, "a"]', 'list'],
    ['"a" in {"a": 1}', 'bool'],
    ['true ? 1 : 2', 'int'],
    ['size("a") == "a".size()', 'bool'],
    ['"A".lowerAscii()', 'string'],
    ['math.greatest(1, 2)', 'int'],
    ['vmi.metadata.labels', 'map<string>'],
    ['vmi.spec.domain.cpu.cores', 'whole'],
    ['vmi.spec.domain.cpu.cores > 2 && vmi.spec.domain.cpu.cores < 3u', 'bool'],
    ['vmi.spec.domain.devices.disks.map(d, d.name)', 'list<string>'],
    ['vmi.spec.domain.devices.disks[0].disk.bus', 'string'],
    ['"%s".format([vmi.metadata.name])', 'string'],
    ['timestamp("2024-01-01T00:00:00Z") - timestamp(0)', 'duration'],
    ['timestamp(0) + duration("1s") > timestamp(1)', 'bool'],
    ['timestamp(0).getFullYear("Europe/Berlin")', 'int'],
    ['int("1") == 1 && type(1) == int', 'bool'],
    ['null == vmi.spec.domain.cpu', 'bool'],
  ])('%s is of type %s', (text, expected) => {
    expect(told(text)).toBe(expected);
  });

  it.each([
    ['', /ends where a name/],
    ['((', /column 3/],
    ['vmi.(', /column 5.*"\(" where a name/],
    ['a b', /column 3/],
    ['1 +', /ends/],
    ['constructor', /constructor is not declared/],
    ['constructor("x")', /there is no function constructor/],
    ['"x".toString()', /there is no function toString/],
    ['vmi.constructor', /has no field constructor/],
    ['constructor{}', /there is no type constructor/],
    ['[1 2]', /"," or "\]"/],
    ['{1: 2', /","/],
    ['true ? 1', /":"/],
    ['"open', /starts nothing/],
    ['#', /starts nothing/],
    ['nope', /nope is not declared/],
    ['v.all(x, x)', /no function v.all/],
    ['vmi.nothing', /no field nothing/],
    ['1.size()', /size\(\) cannot be used with int/],
    ['"a".b', /has no fields/],
    ['nope(1)', /no function nope/],
    ['1 && true', /operator &&/],
    ['1 == "a"', /operator ==/],
    ['1 + "a"', /operator \+/],
    ['!1', /operator !/],
    ['1[0]', /operator \[\]/],
    ['1 ? 2 : 3', /operator \?/],
    ['true ? 1 : "a"', /operator :/],
    ['"a" in 1', /operator in/],
    ['has(vmi)', /takes one field/],
    ['[1].all(1, true)', /takes a name/],
    ['[1].all(x, x)', /true or false, not a int|not an int/],
    ['vmi.spec.x', /spec has no field x/],
    ['vmi.spec.domain.cpu.cores == "4"', /operator ==/],
    ['vmi.spec.volumes.exists(v, v.nam == "x")', /volumes\[\] has no field nam/],
    ['"a".contains()', /contains\(\) cannot be used with string/],
    ['"a".substring("b")', /substring\(\)/],
    ['timestamp(0) + timestamp(0)', /operator \+/],
    ['duration("1s") < timestamp(0)', /operator </],
    ['Nothing{}', /no type Nothing/],
    [`${'('.repeat(300)}1${')'.repeat(300)}`, /nested too deeply/],
  ])('%s is refused', (text, expected) => {
    expect(told(text)).toMatch(expected);
    expect(told(text)).toMatch(/^fault/);
  });

  it.each([
    ['Domain{Title: "x"}', 'Domain'],
    ['libvirtxml.Domain{Memory: DomainMemory{Value: 1u}}', 'Domain'],
    ['domainSpec', 'Domain'],
    ['vmi.Name == "x"', 'bool'],
    ['Domainn{}', 'fault: there is no type Domainn'],
    ['Domain{title: "x"}', 'fault: Domain has no field title'],
    ['Domain{Title: 1}', 'fault: Domain.Title is a string, not an int'],
    ['Domain{Memory: DomainMemory{Value: 1}}', 'fault: DomainMemory.Value is a uint, not an int'],
    ['Domain{Memory: null}', 'Domain'],
    ['Domain{Devices: DomainDeviceList{Watchdogs: [DomainWatchdog{Model: "i6300esb", Action: "none"}]}}', 'Domain'],
    [
      'Domain{Devices: DomainDeviceList{Watchdogs: [DomainSound{Model: "ich6"}]}}',
      'fault: DomainDeviceList.Watchdogs is a list<DomainWatchdog>, not a list<DomainSound>',
    ],
    ['Domain{Devices: DomainDeviceList{Disks: domainSpec.Devices.Disks.filter(d, d.Target.Bus == "virtio")}}', 'Domain'],
    ['domainSpec.Devices.Disks[0].Source.File.File', 'string'],
    ['domainSpec.Memory.Value > 1', 'fault: operator > cannot be used with uint and int'],
    ['domainSpec.Memory.Value > 1u && has(domainSpec.CPU)', 'bool'],
    ['vmi.Spec.Domain.CPU.Cores > 2u', 'bool'],
    ['vmi.Spec.Domain.Devices.Disks[0].DiskDevice.Disk.Bus == vmi.Spec.Domain.Devices.Disks[0].Disk.Bus', 'bool'],
    ['vmi.ObjectMeta.Name + vmi.Namespace', 'string'],
    ['vmi.Spec.Domain.Clock.Timer.HPET.Enabled', 'bool'],
    ['vmi.Spec.Domain.CPU.Corez', 'fault: VirtualMachineInstance.spec.domain.cpu has no field Corez'],
    ['"a".lowerAscii()', 'fault: there is no function lowerAscii'],
    ['vmi.metadata', 'fault: VirtualMachineInstance has no field metadata'],
  ])('about the domain: %s → %s', (text, expected) => {
    expect(told(text, domainEnvironment)).toBe(expected);
  });
});

describe('admitPlugin', () => {
  const config = clusterConfigOf({ developerConfiguration: { featureGates: ['Plugins'] } });
  const admit = (spec: object): string[] => {
    const verdict = admitPluginCreate({ metadata: { name: 'p' }, spec } as Plugin, config);
    return verdict.allowed ? [] : 'causes' in verdict ? verdict.causes.map((c) => c.field) : [verdict.error];
  };
  it.each<[string, object, string[]]>([
    ['nothing', {}, []],
    ['a condition', { condition: 'vmi.Name == "a"' }, []],
    ['a condition that is no bool', { condition: '"a"' }, ['spec.condition']],
    ['a mutation', { domainHooks: [{ cel: { expression: 'Domain{Title: "x"}' } }] }, []],
    ['a mutation to something else', { domainHooks: [{ cel: { expression: '"x"' } }] }, ['spec.domainHooks[0].cel.expression']],
    ['a hook with a bad condition', { domainHooks: [{ condition: 'vmi.(' }] }, ['spec.domainHooks[0].condition']],
    ['a socket', { domainHooks: [{ sidecar: { socketPath: '/var/run/a.sock' } }] }, []],
    ['a winding socket', { domainHooks: [{ sidecar: { socketPath: '/var//a.sock' } }] }, ['spec.domainHooks[0].sidecar.socketPath']],
    ['a node hook', { nodeHooks: [{ condition: 'vmi.metadata.name == "x"', socket: '/a', permittedHooks: [] }] }, []],
    ['a timeout', { domainHooks: [{ timeout: '1m30s' }], nodeHooks: [{ socket: '/a', permittedHooks: [], timeout: '0' }] }, []],
    [
      'no timeout',
      { domainHooks: [{ timeout: '5' }], nodeHooks: [{ socket: '/a', permittedHooks: [], timeout: '-1s' }] },
      ['spec.domainHooks[0].timeout', 'spec.nodeHooks[0].timeout'],
    ],
    ['a node hook with a bad condition', { nodeHooks: [{ condition: '((' }] }, ['spec.nodeHooks[0].condition']],
  ])('%s', (_title, spec, expected) => {
    expect(admit(spec)).toEqual(expected);
  });

  it('needs its gate', () => {
    expect(admitPluginCreate({ metadata: {}, spec: {} }, clusterConfigOf({}))).toMatchObject({ allowed: false, code: 400 });
  });
});
