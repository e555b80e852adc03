import { expect, it } from 'vitest';
import { servesImageVolumes } from './image-volumes.js';

it.each([
  ['everything new enough', true, 'v1.36.3', ['containerd://2.2.9', 'cri-o://1.33.0'], true],
  ['the gate is off', false, 'v1.36.3', ['containerd://2.2.9'], false],
  ['an old API server', true, 'v1.34.4', ['containerd://2.2.9'], false],
  ['one old node', true, 'v1.36.3', ['containerd://2.2.9', 'containerd://1.7.20'], false],
  ['a distribution suffix', true, 'v1.35.0+k3s1', ['containerd://2.1.0-k3s1'], true],
  ['a runtime that nobody knows', true, 'v1.36.3', ['docker://28.0.0'], false],
  ['no node yet', true, 'v1.36.3', [], false],
  ['a version that is none', true, '', ['containerd://2.2.9'], false],
])('%s', (_title, isGateOn, kubernetesVersion, runtimes, expected) => {
  expect(servesImageVolumes({ isGateOn, kubernetesVersion, runtimes })).toBe(expected);
});
