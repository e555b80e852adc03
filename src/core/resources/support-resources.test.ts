import { describe, expect, it } from 'vitest';
import { clusterConfigOf } from '../config/cluster-config.js';
import { supportResources } from './support-resources.js';

const plain = { devices: {} };
const dedicated = { devices: {}, cpu: { dedicatedCpuPlacement: true } };
const configured = clusterConfigOf({
  supportContainerResources: [
    { type: 'virtiofs', resources: { limits: { cpu: '90m' } } },
    { type: 'sidecar', resources: { requests: { cpu: '9m' } } },
  ],
});

describe('containers beside compute', () => {
  it.each([
    ['virtiofs', clusterConfigOf(undefined), plain, { requests: { cpu: '10m', memory: '1M' }, limits: { cpu: '100m', memory: '80M' } }],
    ['virtiofs', configured, plain, { requests: { cpu: '10m', memory: '1M' }, limits: { cpu: '90m', memory: '80M' } }],
    ['virtiofs', configured, dedicated, { requests: { cpu: '90m', memory: '80M' }, limits: { cpu: '90m', memory: '80M' } }],
    ['sidecar', clusterConfigOf(undefined), plain, {}],
    ['sidecar', configured, plain, { requests: { cpu: '9m' } }],
    [
      'sidecar',
      clusterConfigOf(undefined),
      dedicated,
      { requests: { cpu: '200m', memory: '64M' }, limits: { cpu: '200m', memory: '64M' } },
    ],
  ] as const)('%s #%#', (type, config, domain, expected) => expect(supportResources(type, config, domain)).toEqual(expected));
});
