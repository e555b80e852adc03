// What expressions about a VMI result in.
import { describe, expect, it } from 'vitest';
import { evaluate, evaluateCondition } from './evaluate.js';
import { type CelValue, JsonObject } from './values.js';

const vmi = new JsonObject(
  {
    metadata: { name: 'vm', namespace: 'ns', labels: { app: 'web', 'a/b': 'c' } },
    spec: {
      hostname: 'h1',
      domain: { cpu: { cores: 4 }, devices: { disks: [{ name: 'root', bootOrder: 1 }, { name: 'data' }] }, memory: { guest: '1Gi' } },
    },
  },
  { hasMetadata: true },
);
const value = (text: string): unknown => {
  const result = evaluate(text, { vmi });
  return result.ok ? result.value : `fault: ${result.error}`;
};

describe('a VMI', () => {
  it.each<[string, CelValue]>([
    ['vmi.Name == "vm" && vmi.Namespace != "other"', true],
    ['vmi.Labels["app"] == "web"', true],
    ['vmi.ObjectMeta.Name == "vm"', true],
    ['"a/b" in vmi.Labels', true],
    ['"none" in vmi.Labels', false],
    ['"none" in vmi.Annotations', false],
    ['size(vmi.Labels)', 2n],
    ['vmi.Spec.Domain.CPU.Cores > 2', true],
    ['vmi.Spec.Domain.CPU.Sockets == 0', true],
    ['has(vmi.Spec.Domain.CPU)', true],
    ['has(vmi.Spec.Domain.CPU.Sockets)', false],
    ['vmi.Spec.Hostname.startsWith("h") || vmi.Spec.Nothing.Deeper == 3', true],
    ['vmi.Spec.Subdomain.contains("x")', false],
    ['vmi.Spec.Domain.Devices.Disks.exists(d, d.Name == "data")', true],
    ['vmi.Spec.Domain.Devices.Disks.all(d, d.BootOrder == 1)', false],
    ['vmi.Spec.Domain.Devices.Disks.exists_one(d, d.BootOrder == 1)', true],
    ['vmi.Spec.Domain.Devices.Interfaces.all(i, i.Name == "x")', true],
    ['vmi.Spec.Domain.Devices.Disks[1].Name', 'data'],
    ['vmi.Spec.Volumes.size()', 0n],
  ])('%s', (text, expected) => expect(value(text)).toEqual(expected));
});

describe('the language', () => {
  it.each<[string, unknown]>([
    ['1 + 2 * 3 - 0x10 % 7', 5n],
    ['7 / 2', 3n],
    ['-1.5 * 2.0', -3],
    ['1 == 1.0 && 2u > 1', true],
    ['"a" + r"\\n" + \'\\u00e9\\t\' + """b"""', 'a\\né\tb'],
    ['[1, 2] + [3] == [1, 2, 3]', true],
    ['[1, 2, 3].filter(x, x > 1).map(x, x * 2)', [4n, 6n]],
    ['[1, 2, 3].map(x, x > 2, string(x))', ['3']],
    ['true ? "yes" : "no"', 'yes'],
    ['!false', true],
    ['false && 1 / 0 == 1', false],
    ['1 / 0 == 1 || true', true],
    ['int("12") + int(1.9)', 13n],
    ['double("1.5")', 1.5],
    ['bool("true")', true],
    ['"abc".matches("^a.c$")', true],
    ['"größe".size()', 5n],
    ['null == vmi.Spec.Nothing', true],
    ['"a" < "b"', true],
  ])('%s', (text, expected) => expect(value(text)).toEqual(expected));

  it.each([
    ['vmi.Labels["none"] == "x"', 'there is no entry none'],
    ['[1][3]', 'there is no entry 3'],
    ['1 / 0', 'operator / does not fit'],
    ['"a" < 1', 'operator < does not fit'],
    ['!1', 'something else than true or false'],
    ['-"a"', 'only numbers can be negated'],
    ['"a".Name', 'no field Name'],
    ['"x" in "xyz"', 'only lists and maps'],
    ['domainSpec.Name == "x"', 'domainSpec is not known here'],
    ['{"a": 1, "a": 2}', 'the same key twice'],
    ['"x".matches("(")', 'no regular expression'],
    ['"x".constructor("y")', 'cannot be evaluated'],
    ['duration("1")', 'cannot be evaluated'],
    ['1.all(x, true)', 'take a list'],
    ['[1].all(x)', 'take a list'],
    ['has(1)', 'has() takes one field'],
    ['1 +', 'ends'],
  ])('%s → %s', (text, fault) =>
    expect(value(text)).toMatch(new RegExp(`^fault: .*${fault.replaceAll('(', '\\(').replaceAll(')', '\\)')}`)),
  );

  it('is cut off when it takes too long', () => {
    const digits = '[0,1,2,3,4,5,6,7,8,9]';
    const nested = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].reduce((inner, name) => `${digits}.all(${name}, ${inner})`, 'true');
    expect(value(nested)).toMatch(/takes more than/);
  });

  it('says yes or no where a condition is wanted', () => {
    expect(evaluateCondition('vmi.Name == "vm"', { vmi })).toEqual({ ok: true, value: true });
    expect(evaluateCondition('vmi.Name', { vmi })).toMatchObject({ ok: false });
  });
});
