// Hook sidecars of a launcher pod: what runs in them and what they see.
import { describe, expect, it } from 'vitest';
import type { Container, KubeVirtConfiguration, Pod } from '../../api/index.js';
import { annotated, context, demoVmi } from './fixtures.js';
import { renderLauncherPod } from './launcher.js';

const withHooks = (...hooks: object[]): Pod =>
  renderLauncherPod(annotated({ 'hooks.kubevirt.io/hookSidecars': JSON.stringify(hooks) }), context({ configMaps: new Set(['cm']) }));

function sidecar(pod: Pod, index = 0): Container {
  const found = pod.spec?.containers.find(({ name }) => name === `hook-sidecar-${index}`);
  if (!found) throw new Error(`there is no hook sidecar ${index}`);
  return found;
}

const SCRIPT = { configMap: { name: 'cm', key: 'script.sh', hookPath: '/usr/bin/onDefineDomain' } };

describe('what runs in a hook sidecar', () => {
  const launcher = withHooks().spec?.containers[0]?.image;
  it.each<[string, object, Partial<Container>]>([
    ['the image that the annotation names', { image: 'registry.example/hook:v1' }, { image: 'registry.example/hook:v1' }],
    ['its command', { image: 'i', command: ['/run'], args: ['-v'] }, { image: 'i', command: ['/run'], args: ['-v'] }],
    ['the shim for a script', SCRIPT, { image: launcher as string, command: ['/usr/bin/sidecar-shim'] }],
    [
      'the shim in the version that is wanted',
      { ...SCRIPT, args: ['--version', 'v1alpha2'] },
      { command: ['/usr/bin/sidecar-shim'], args: ['--version', 'v1alpha2'] },
    ],
    ['the shim where the image is empty', { image: '', ...SCRIPT }, { image: launcher as string, command: ['/usr/bin/sidecar-shim'] }],
  ])('%s', (_, hook, expected) => expect(sidecar(withHooks(hook))).toMatchObject(expected));

  it('tells the launcher how many there are', () => {
    expect(withHooks(SCRIPT, { image: 'i' }).spec?.containers[0]?.args?.join(' ')).toContain('--hook-sidecars 2');
  });
});

describe('what a hook sidecar sees', () => {
  it('its own directory for sockets, its script and its claim', () => {
    const pod = withHooks({ ...SCRIPT, pvc: { name: 'claim', volumePath: '/data', sharedComputePath: '/var/run/shared' } });
    expect(sidecar(pod).volumeMounts).toEqual([
      { name: 'hook-sidecar-sockets', mountPath: '/var/run/kubevirt-hooks', subPath: 'hook-sidecar-0' },
      { name: 'cm', mountPath: '/usr/bin/onDefineDomain', subPath: 'script.sh' },
      { name: 'claim', mountPath: '/data' },
    ]);
    expect(pod.spec?.containers[0]?.volumeMounts).toEqual(
      expect.arrayContaining([
        { name: 'hook-sidecar-sockets', mountPath: '/var/run/kubevirt-hooks' },
        { name: 'claim', mountPath: '/var/run/shared' },
      ]),
    );
  });

  it('the name of the binding plugin that brought it', () => {
    const config: KubeVirtConfiguration = { network: { binding: { p: { sidecarImage: 'registry.example/plug:v1' } } } };
    const vmi = demoVmi({}, { devices: { interfaces: [{ name: 'default', binding: { name: 'p' } }] } });
    expect(sidecar(renderLauncherPod(vmi, context({}, config))).env).toEqual(
      expect.arrayContaining([
        { name: 'CONTAINER_NAME', value: 'hook-sidecar-0' },
        { name: 'NETWORK_BINDING_PLUGIN_NAME', value: 'p' },
      ]),
    );
  });
});

it('refuses an annotation that is no list, and a script that is not there', () => {
  for (const text of ['[', '{}', '"x"']) {
    const broken = annotated({ 'hooks.kubevirt.io/hookSidecars': text });
    expect(() => renderLauncherPod(broken, context())).toThrow('is no JSON list');
  }
  expect(() => withHooks({ configMap: { name: 'gone', key: 'k', hookPath: '/usr/bin/onDefineDomain' } })).toThrow(
    'configmaps "gone" not found',
  );
});
