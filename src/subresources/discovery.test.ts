// The documents that other programs parse, word for word.
import { describe, expect, it } from 'vitest';
import { apiGroup, apiResourceList, rootPaths } from './discovery.js';
import { openapiV2, openapiV3, openapiV3Root } from './openapi.js';

describe('discovery', () => {
  it('lists the subresources by name only', () => {
    const { resources, ...rest } = apiResourceList('v1') as { resources: { name: string; namespaced: boolean }[] };
    expect(rest).toEqual({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'subresources.kubevirt.io/v1' });
    expect(resources.every((r) => r.namespaced)).toBe(true);
    const below = (resource: string, ...names: readonly string[]): string[] => names.map((n) => `${resource}/${n}`);
    expect(resources.map((r) => r.name).sort()).toEqual(
      [
        'expand-vm-spec',
        ...below('virtualmachines', 'start', 'stop', 'restart', 'migrate', 'expand-spec', 'objectgraph', 'evacuate/cancel'),
        ...below('virtualmachineinstances', 'vnc', 'vnc/screenshot', 'console', 'portforward', 'backup', 'redefine-checkpoint', 'pause'),
        ...below('virtualmachineinstances', 'unpause', 'freeze', 'unfreeze', 'reset', 'softreboot', 'guestosinfo', 'userlist'),
        ...below('virtualmachineinstances', 'filesystemlist', 'addvolume', 'removevolume', 'objectgraph', 'evacuate/cancel'),
        ...below('virtualmachineinstances/sev', 'fetchcertchain', 'querylaunchmeasurement', 'setupsession', 'injectlaunchsecret'),
      ].sort(),
    );
  });

  it('names the group as it has always been named', () => {
    expect(apiGroup()).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'subresource.kubevirt.io',
      versions: [
        { groupVersion: 'subresources.kubevirt.io/v1', version: 'v1' },
        { groupVersion: 'subresources.kubevirt.io/v1alpha3', version: 'v1alpha3' },
      ],
      preferredVersion: { groupVersion: 'subresources.kubevirt.io/v1', version: 'v1' },
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }],
    });
    expect(rootPaths()).toMatchObject({ paths: expect.arrayContaining(['/apis', '/openapi/v2', '/apis/subresources.kubevirt.io/v1']) });
  });
});

describe('OpenAPI', () => {
  it('gives every operation an id of its own', () => {
    for (const document of [openapiV2(), openapiV3('v1'), openapiV3('v1alpha3')] as {
      paths: Record<string, Record<string, { operationId: string }>>;
    }[]) {
      const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((o) => o.operationId));
      expect(ids.length).toBeGreaterThan(40);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('points to the documents of version 3', () => {
    expect(openapiV3Root()).toMatchObject({
      paths: {
        'apis/subresources.kubevirt.io/v1': {
          serverRelativeURL: expect.stringMatching(/^\/openapi\/v3\/apis\/.*\/v1\?hash=[0-9A-F]{64}$/),
        },
      },
    });
  });
});
