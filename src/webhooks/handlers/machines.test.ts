// What the webhook of VMs adds beyond the defaults: the mark of the VM controller, at creation only.
import { describe, expect, it } from 'vitest';
import { vm } from '../../../test/builders/objects.js';
import { systemClock } from '../../base/clock.js';
import { silentLogger } from '../../base/logger.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import type { HttpRequest } from '../../http/index.js';
import type { KubeClient } from '../../runtime/types.js';
import { webhookRoutes } from '../server.js';

const PATH = '/virtualmachines-mutate';
const client = { find: async () => undefined, list: async () => ({ metadata: {}, items: [] }) } as unknown as KubeClient;

async function patchOf(request: object): Promise<{ path: string; value: Record<string, unknown> }[]> {
  const route = webhookRoutes({
    client,
    config: () => clusterConfigOf({}),
    installNamespace: 'kubevirt',
    clock: systemClock,
    log: silentLogger,
    randomUuid: () => '00000000-0000-4000-8000-000000000000',
  }).find((r) => r.path === PATH);
  const body = {
    request: {
      uid: 'u',
      resource: { group: 'kubevirt.io', version: 'v1', resource: 'virtualmachines' },
      userInfo: { username: 'someone' },
      ...request,
    },
  };
  const answer = await route?.handler({
    path: PATH,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  } as HttpRequest);
  const { response } = JSON.parse(String(answer?.body));
  return response.patch ? JSON.parse(Buffer.from(response.patch, 'base64').toString()) : [];
}

describe('the mark of the VM controller', () => {
  const FINALIZER = 'kubevirt.io/virtualMachineControllerFinalize';
  const given = vm({ metadata: { finalizers: ['example.com/mine'], annotations: { mine: 'yes' } } });

  it('is set when a VM is created, beside what the user wrote', async () => {
    const metadata = (await patchOf({ operation: 'CREATE', object: given })).find((o) => o.path === '/metadata')?.value;
    expect(metadata).toMatchObject({
      finalizers: ['example.com/mine', FINALIZER],
      annotations: {
        mine: 'yes',
        'kubevirt.io/latest-observed-api-version': 'v1',
        'kubevirt.io/storage-observed-api-version': 'v1',
      },
    });
  });

  it('is not put back on a VM that is updated: it may be on its way out', async () => {
    const patch = await patchOf({ operation: 'UPDATE', object: given, oldObject: given });
    expect(patch.find((o) => o.path === '/metadata')).toBeUndefined();
  });
});
