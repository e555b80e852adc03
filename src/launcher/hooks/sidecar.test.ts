// Which version is spoken, who is called at which point and in which order, and what is said of those that are missing.
import { describe, expect, it } from 'vitest';
import { type Announcement, calledAt, missingError, type Sidecar, sidecarOf, titleOf } from './sidecar.js';

const announce = (patch: Partial<Announcement> = {}): Announcement => ({ name: 'a', versions: ['v1alpha1'], hookPoints: [], ...patch });
const point = (name: string, priority = 0) => ({ name, priority });
const ALL = [point('OnDefineDomain'), point('PreCloudInitIso'), point('Shutdown'), point('Other')];

describe('what a sidecar announces', () => {
  it.each<[string, readonly string[], string, string[]]>([
    ['the newest that both know', ['v1alpha1', 'v1alpha3', 'v1alpha2'], 'v1alpha3', ['OnDefineDomain', 'PreCloudInitIso', 'Shutdown']],
    ['one without a point for the end', ['v1alpha2', 'v2'], 'v1alpha2', ['OnDefineDomain', 'PreCloudInitIso']],
    ['the first one', ['v1alpha1'], 'v1alpha1', ['OnDefineDomain']],
  ])('%s', (_, versions, version, points) => {
    const sidecar = sidecarOf('hook-sidecar-0', '/s', announce({ versions, hookPoints: ALL }));
    expect([sidecar.version, [...sidecar.points.keys()]]).toEqual([version, points]);
  });

  it.each([
    [['v9'], 'hook sidecar hook-sidecar-0 speaks v9; virt-launcher speaks v1alpha3, v1alpha2 and v1alpha1'],
    [[], 'hook sidecar hook-sidecar-0 speaks no version; virt-launcher speaks v1alpha3, v1alpha2 and v1alpha1'],
  ])('refuses versions %j', (versions, message) => {
    expect(() => sidecarOf('hook-sidecar-0', '/s', announce({ versions }))).toThrow(message);
  });
});

const at = (container: string, name: string, priority?: number): Sidecar => {
  const hookPoints = priority === undefined ? [] : [point('OnDefineDomain', priority)];
  return sidecarOf(container, '/s', announce({ name, hookPoints }));
};

it.each<[string, Sidecar[], string[]]>([
  ['the higher priority first', [at('0', 'a', -1), at('1', 'b', 5)], ['1 (b)', '0 (a)']],
  ['then by name', [at('0', 'b', 1), at('1', 'a', 1)], ['1 (a)', '0 (b)']],
  ['then by container', [at('1', 'shim', 0), at('0', 'shim', 0)], ['0 (shim)', '1 (shim)']],
  ['only those that want to', [at('0', 'a'), at('1', '', 0)], ['1']],
])('calls %s', (_, sidecars, expected) => {
  expect(calledAt('OnDefineDomain', sidecars).map(titleOf)).toEqual(expected);
});

it.each<[string, number, number, [string, string][], string]>([
  ['one not started', 1, 0, [], '0 of 1 have announced themselves. 1 container has not started; see kubectl describe pod'],
  ['two not started', 3, 1, [], '1 of 3 have announced themselves. 2 containers have not started; see kubectl describe pod'],
  ['one silent', 1, 0, [['hook-sidecar-0', 'why']], '0 of 1 have announced themselves. hook-sidecar-0: why'],
])('tells what is missing: %s', (_, wanted, found, silent, message) => {
  const search = { wanted, found: Array.from({ length: found }, () => at('0', 'a')), silent: new Map(silent) };
  expect(missingError(search)).toMatchObject({ code: 'NotReady', message: `waiting for hook sidecars: ${message}` });
});
