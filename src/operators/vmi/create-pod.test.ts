import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { TimedExpectations } from '../../runtime/expectations.js';
import { manualClock } from '../../runtime/manual-clock.fixture.js';
import type { KubeClient, Store } from '../../runtime/types.js';
import { createPodOnce } from './create-pod.js';

const pod: Pod = { metadata: { name: 'virt-launcher-web-abcde', namespace: 'shop' }, spec: { containers: [] } };

describe('a pod that was created before', () => {
  it.each([
    ['is waited for while the cache does not show it', undefined, 1],
    ['is not waited for when the cache has shown it already', pod, 0],
  ])('%s', async (_title, cached, pending) => {
    const expectations = new TimedExpectations(manualClock());
    const client = {
      create: async () => {
        throw new KvError('AlreadyExists', 'it exists');
      },
      find: async () => pod,
    } as unknown as KubeClient;
    const pods = { get: () => cached } as unknown as Store<Pod>;
    expect(await createPodOnce({ client, expectations, pods }, 'shop/web', pod, () => true)).toEqual({ pod, isNew: false });
    expect(expectations.pendingCreations('shop/web')).toBe(pending);
  });
});
