// Hook sidecars of a launcher pod: what runs in them and what they see.
import { describe, expect, it } from 'vitest';
import type { Container, KubeVirtConfiguration, Pod } from '../../api/index.js';
import { annotated, context, demoVmi } from './fixtures.js';
import { renderLauncherPod } from './launcher.js';

const withHooks = (...hooks: object[]): Pod =>
  renderLauncherPod(
    annotated({ 'hooks.kubevirt.io/hookSidecars': JSON.stringify(hooks) }),
    context({
      configMaps: new Map([
        ['cm', new Set(['script.sh'])],
        ['my.scripts', new Set(['a'])],
      ]),
    }),
  );

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

describe('volumes of hook sidecars', () => {
  const claim = { image: 'i', pvc: { name: 'root', volumePath: '/data', sharedComputePath: '/shared' } };
  const volumeOf = (pod: Pod, path: string): object | undefined => {
    const name = sidecar(pod).volumeMounts?.find(({ mountPath }) => mountPath === path)?.name;
    return pod.spec?.volumes?.find((volume) => volume.name === name);
  };

  it('are there once, however many hooks use them', () => {
    const pod = withHooks(SCRIPT, { ...SCRIPT, configMap: { ...SCRIPT.configMap, hookPath: '/usr/bin/preCloudInitIso' } });
    expect(pod.spec?.volumes?.filter(({ name }) => name === 'cm')).toHaveLength(1);
  });

  it('do not take the place of a volume of the VMI that is called the same', () => {
    const hooks = { 'hooks.kubevirt.io/hookSidecars': JSON.stringify([claim]) };
    const render = (source: object): Pod =>
      renderLauncherPod(annotated(hooks, demoVmi({ volumes: [{ name: 'root', ...source }] })), context());
    const other = render({ emptyDisk: { capacity: '1Gi' } });
    expect(volumeOf(other, '/data')).toMatchObject({
      name: expect.stringMatching(/^hook-pvc-[0-9a-f]{10}$/),
      persistentVolumeClaim: { claimName: 'root' },
    });
    expect(new Set(other.spec?.volumes?.map(({ name }) => name)).size).toBe(other.spec?.volumes?.length);
  });

  it.each([
    ['my.scripts', 'a', /^hook-configmap-[0-9a-f]{10}$/],
    ['cm', 'script.sh', /^cm$/],
  ])('of ConfigMap %s have a name that a pod allows', (name, key, expected) => {
    const pod = withHooks({ configMap: { name, key, hookPath: '/usr/bin/onDefineDomain' } });
    expect(volumeOf(pod, '/usr/bin/onDefineDomain')).toMatchObject({ name: expect.stringMatching(expected), configMap: { name } });
  });
});

describe('an entry of the annotation', () => {
  it.each<[string, unknown, string]>([
    ['that is no object', 'x', 'entry 0: is no object'],
    ['that is nothing', null, 'entry 0: is no object'],
    ['with an image that is no text', { image: 5 }, 'entry 0: image must be a text'],
    ['with a command in one text', { image: 'i', command: '/run -v' }, 'entry 0: command must be a list of texts'],
    ['with numbers among its arguments', { args: ['--version', 1] }, 'entry 0: args must be a list of texts'],
    [
      'with half a script',
      { configMap: { name: 'cm', key: 'script.sh' } },
      'entry 0: configMap must be an object with name, key and hookPath',
    ],
    ['with half a claim', { pvc: { name: 'c' } }, 'entry 0: pvc must be an object with name and volumePath'],
  ])('%s is refused', (_, entry, message) => {
    const broken = annotated({ 'hooks.kubevirt.io/hookSidecars': JSON.stringify([entry]) });
    expect(() => renderLauncherPod(broken, context())).toThrow(message);
  });

  it('says nothing about what only binding plugins may', () => {
    expect(sidecar(withHooks({ image: 'i', downwardAPI: 'device-info', plugin: 'p' }))).toMatchObject({
      env: expect.not.arrayContaining([expect.objectContaining({ name: 'NETWORK_BINDING_PLUGIN_NAME' })]),
      volumeMounts: [{ name: 'hook-sidecar-sockets' }],
    });
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
  expect(() => withHooks({ configMap: { name: 'cm', key: 'other.sh', hookPath: '/usr/bin/onDefineDomain' } })).toThrow(
    'configmap cm has no key other.sh: a hook sidecar needs it',
  );
});
