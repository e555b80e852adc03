// What a plugin may say: which expressions are understood, and which not.

import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../../api/index.js';
import { typeOfExpression } from '../../../core/cel/check.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import { admitPluginCreate } from './admit.js';
import { domainEnvironment, nodeEnvironment } from './environments.js';

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
    ['[1, 2,].map(x, x * 2)', 'list'],
    ['{"a": 1, "b": 2}', 'map'],
    ['"a" in {"a": 1}', 'bool'],
    ['true ? 1 : 2', 'int'],
    ['size("a") == "a".size()', 'bool'],
    ['"A".lowerAscii()', 'string'],
    ['math.greatest(1, 2)', 'any'],
    ['vmi.spec.x', 'any'],
    ['int("1") == 1 && type(1) == int', 'bool'],
    ['null == vmi.spec.x', 'bool'],
  ])('%s is of type %s', (text, expected) => {
    expect(told(text)).toBe(expected);
  });

  it.each([
    ['', /ends where a name/],
    ['((', /column 3/],
    ['vmi.(', /column 5.*"\(" where a name/],
    ['a b', /column 3/],
    ['1 +', /ends/],
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
    ['[1].all(1, true)', /take a name/],
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
    ['a node hook with a bad condition', { nodeHooks: [{ condition: '((' }] }, ['spec.nodeHooks[0].condition']],
  ])('%s', (_title, spec, expected) => {
    expect(admit(spec)).toEqual(expected);
  });

  it('needs its gate', () => {
    expect(admitPluginCreate({ metadata: {}, spec: {} }, clusterConfigOf({}))).toMatchObject({ allowed: false, code: 400 });
  });
});
