import { describe, expect, it } from 'vitest';
import { launcherPod, NOW } from '../../../test/builders/objects.js';
import type { Pod } from '../../api/index.js';
import { mountPatienceMs, mountProblem } from './slow-mount.js';

const CONFIG_MAP = { name: 'conf', configMap: { name: 'settings' } };
const SECRET = { name: 'keys', secret: { secretName: 'keys' } };

function pod(startedAgoMs: number, volumes: readonly object[] = [CONFIG_MAP, SECRET], prepared = 'False'): Pod {
  const base = launcherPod({ node: 'n1', conditions: [{ type: 'PodReadyToStartContainers', status: prepared }] });
  const status = { ...base.status, startTime: new Date(NOW - startedAgoMs).toISOString() };
  return { ...base, spec: { ...base.spec, volumes: [...volumes] }, status } as Pod;
}

describe('mountProblem', () => {
  it('names what the pod mounts once that takes too long', () => {
    expect(mountProblem(pod(21_000), NOW)).toEqual({
      reason: 'ContainerCreating',
      message: expect.stringMatching(/virt-launcher-web-abcde.*ConfigMap settings, Secret keys.*kubectl describe pod/),
    });
  });

  it('names claims, and folders that must be on the node', () => {
    const volumes = [
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'host', hostPath: { path: '/disks', type: 'Directory' } },
      { name: 'made', hostPath: { path: '/made', type: 'DirectoryOrCreate' } },
    ];
    expect(mountProblem(pod(21_000, volumes), NOW)?.message).toContain('needs PersistentVolumeClaim data, directory /disks on node n1: ');
  });

  it.each<[string, Pod]>([
    ['one that was just placed', pod(5_000)],
    ['one that mounts none', pod(60_000, [])],
    ['one that does without', pod(60_000, [{ name: 'c', configMap: { name: 'settings', optional: true } }])],
    ['one whose images are being pulled', pod(60_000, [SECRET], 'True')],
    ['one that is not placed yet', launcherPod()],
  ])('says nothing of %s', (_title, given) => {
    expect(mountProblem(given, NOW)).toBeUndefined();
  });
});

describe('mountPatienceMs', () => {
  it.each<[string, Pod | undefined, number | undefined]>([
    ['the time that is left', pod(5_000), 15_000],
    ['none after it was said', pod(20_000), undefined],
    ['none for a pod that mounts none', pod(5_000, []), undefined],
    ['none without a pod', undefined, undefined],
  ])('%s', (_title, given, expected) => {
    expect(mountPatienceMs(given, NOW)).toBe(expected);
  });
});
