// What the target pod of a migration has from its source: images and names of links.
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/index.js';
import { context, demoVmi } from './fixtures.js';
import { renderMigrationTargetPod } from './launcher.js';

describe('a migration target', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  const image = (status: object, spec: object = {}): string | undefined => {
    const source = { metadata: { name: 'virt-launcher-demo-x' }, spec, status } as Pod;
    return renderMigrationTargetPod(demoVmi(), source, context()).spec?.volumes?.find(({ name }) => name === 'root')?.image?.reference;
  };
  it.each([
    [
      'of the side container',
      { containerStatuses: [{ name: 'volumeroot', imageID: `docker-pullable://registry.example/disk@${digest}` }] },
      `registry.example/disk@${digest}`,
    ],
    [
      'of the image volume',
      {
        containerStatuses: [
          { name: 'compute', volumeMounts: [{ name: 'root', volumeStatus: { image: { imageRef: `registry.example/disk@${digest}` } } }] },
        ],
      },
      `registry.example/disk@${digest}`,
    ],
    ['as named, where the source shows none', {}, 'registry.example/disk:v1'],
  ])('runs the image %s', (_, status, expected) => expect(image(status)).toBe(expected));
  it('runs the image of a source that was a target itself', () => {
    const volumes = [{ name: 'root', image: { reference: `registry.example/disk@${digest}` } }];
    expect(image({}, { volumes })).toBe(`registry.example/disk@${digest}`);
  });
  it('refuses an image that runs and shows no digest', () => {
    expect(() => image({ initContainerStatuses: [{ name: 'volumeroot', imageID: '' }] })).toThrow(
      'volumeroot of pod virt-launcher-demo-x shows no digest',
    );
    expect(image({ containerStatuses: [{ name: 'volumeother', imageID: '' }] })).toBe('registry.example/disk:v1');
  });
  it.each<[string, string[], string, string]>([
    ['renamed', [], 'net1', 'podadd93534eeb'],
    ['kept by position', ['PodSecondaryInterfaceNamingUpgrade'], 'net1', 'net1'],
    ['hashed as before', ['PodSecondaryInterfaceNamingUpgrade'], 'podadd93534eeb', 'podadd93534eeb'],
  ])('has its links %s', (_, disabledFeatureGates, before, after) => {
    const networks = [
      { name: 'default', pod: {} },
      { name: 'sec', multus: { networkName: 'nad' } },
    ];
    const vmi = demoVmi(
      { networks },
      {
        devices: {
          interfaces: [
            { name: 'default', masquerade: {} },
            { name: 'sec', bridge: {} },
          ],
        },
      },
    );
    const annotations = { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify([{ interface: 'eth0' }, { interface: before }]) };
    const target = renderMigrationTargetPod(
      vmi,
      { metadata: { annotations } } as Pod,
      context({}, { developerConfiguration: { disabledFeatureGates } }),
    );
    expect(target.metadata.annotations?.['k8s.v1.cni.cncf.io/networks']).toContain(`"interface":"${after}"`);
  });
});
