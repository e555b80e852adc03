import { describe, expect, it } from 'vitest';
import { launcherPod, vmi } from '../../../test/builders/objects.js';
import { type Pod, TOLD_TO_END } from '../../api/index.js';
import { launcherFailure, podLoss } from './pod-loss.js';

type Status = NonNullable<Pod['status']>;

const ended = (exitCode: number, message?: string, reason?: string) => ({
  terminated: { exitCode, ...(message ? { message } : {}), ...(reason ? { reason } : {}) },
});
const pod = (compute: ReturnType<typeof ended>, status: Status = {}, deleted = false): Pod => {
  const built = launcherPod({
    phase: 'Failed',
    node: 'n1',
    compute,
    ...(deleted ? { metadata: { deletionTimestamp: '2026-01-01T11:59:00Z' } } : {}),
  });
  return { ...built, status: { ...built.status, ...status } };
};
const guest = vmi({
  spec: {
    volumes: [
      { name: 'root', containerDisk: { image: 'i' } },
      { name: 'scratch', emptyDisk: { capacity: '2Gi' } },
      { name: 'copy', ephemeral: { persistentVolumeClaim: { claimName: 'c' } } },
      { name: 'data', persistentVolumeClaim: { claimName: 'd' } },
    ],
  },
});
const OVER_LIMIT = { reason: 'Evicted', message: 'Pod ephemeral local storage usage exceeds the total limit of containers 200M. ' };
const TOLD = 'VM web was told to end with its pod; of the pod’s storage its volumes took: scratch 260 MiB';

describe('podLoss', () => {
  it.each<[string, Pod, string | undefined, RegExp]>([
    [
      'names the volumes that can have grown, and what they took, when the pod’s storage was exceeded',
      pod(ended(TOLD_TO_END, `{"level":30}\n${TOLD}\n`), OVER_LIMIT),
      'Evicted',
      /^the kubelet evicted pod virt-launcher-web-abcde: Pod ephemeral local storage usage exceeds the total limit of containers 200M; VM web was told .*scratch 260 MiB; what the guest writes to root \(containerDisk\), scratch \(emptyDisk of 2Gi\), copy \(ephemeral\) lies in the pod: raise/,
    ],
    [
      'without the launcher’s words where it had no time for any',
      pod(ended(137, 'some line of a log'), {
        reason: 'Evicted',
        message: 'Usage of EmptyDir volume "ephemeral-disks" exceeds the limit "1Gi".',
      }),
      'Evicted',
      /^the kubelet evicted .*: Usage of EmptyDir volume "ephemeral-disks" exceeds the limit "1Gi"; what the guest writes to root/,
    ],
    [
      'without the kubelet’s words where it lost the launcher’s',
      pod(
        ended(
          TOLD_TO_END,
          'Error on reading termination message from logs: failed to try resolving symlinks in path "/var/log/pods/x/0.log"',
        ),
        OVER_LIMIT,
      ),
      'Evicted',
      /exceeds the total limit of containers 200M; what the guest writes to root/,
    ],
    [
      'blames no volume when the node was short of memory',
      pod(ended(137), { reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      'Evicted',
      /: The node was low on resource: memory$/,
    ],
    [
      'tells of a node that is shut down',
      pod(ended(TOLD_TO_END), { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' }),
      'Terminated',
      /^the kubelet ended pod virt-launcher-web-abcde: Pod was terminated in response to imminent node shutdown\.$/,
    ],
    [
      'tells of memory',
      pod(ended(137, 'a last line', 'OOMKilled')),
      'OOMKilled',
      /had reached its memory limit: a last line; raise spec\.domain\.resources\.limits\.memory/,
    ],
    ['says nothing of a launcher that ended by itself', pod(ended(1, 'no')), undefined, /^$/],
    ['says nothing of a pod that ended well', pod(ended(0), { phase: 'Succeeded' }), undefined, /^$/],
  ])('%s', (_title, lost, reason, message) => {
    const loss = podLoss(lost, guest);
    expect(loss?.reason).toBe(reason);
    expect(loss?.message ?? '').toMatch(message);
  });
});

describe('launcherFailure', () => {
  it.each<[string, Pod, string | undefined]>([
    ['an eviction', pod(ended(TOLD_TO_END), OVER_LIMIT), 'Evicted'],
    ['a crash', pod(ended(1, 'first\nlast')), 'LauncherFailed'],
    ['a launcher that was told to end, and nobody deleted its pod', pod(ended(TOLD_TO_END)), 'LauncherFailed'],
    ['a launcher whose pod was deleted', pod(ended(TOLD_TO_END), {}, true), undefined],
    ['a crash while its pod was deleted', pod(ended(1), {}, true), 'LauncherFailed'],
  ])('%s', (_title, lost, reason) => expect(launcherFailure(lost, guest)?.reason).toBe(reason));
});
