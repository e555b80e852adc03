// Where a gate is switched on depends on what it is without anybody's doing.
import { expect, it } from 'vitest';
import { gateOff } from './gate-off.js';

it.each([
  ['HostDisk', /^a disk needs the feature gate HostDisk, which is off: add it to featureGates under .* of the KubeVirt resource$/],
  ['Snapshot', /: take it out of disabledFeatureGates under /],
])('%s', (gate, expected) => {
  expect(gateOff(gate, 'a disk')).toMatch(expected);
});
