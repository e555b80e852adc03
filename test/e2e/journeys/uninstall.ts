// Deleting the KubeVirt CR removes everything again, guests first.
import { expect, it } from 'vitest';
import type { KubeVirt } from '../../../src/api/index.js';
import { apply, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { waitRunning } from '../vm-waits.js';

export function uninstall(): void {
  it('drains the guests, removes what it installed and lets the CR go', async () => {
    await apply(tinyVm('last'));
    await waitRunning('last');
    await kubectl('delete', 'kubevirt', 'kubevirt', '-n', 'kubevirt', '--timeout=180s');
    expect(await find<KubeVirt>('kubevirt', 'kubevirt', 'kubevirt')).toBeUndefined();
    expect((await list('deployments', '-n', 'kubevirt')).map((d) => d.metadata.name)).toEqual(['virt-operator']);
    expect(await list('daemonsets', '-n', 'kubevirt')).toEqual([]);
    expect(await list('apiservices', '-l', 'kubevirt.io=virt-api-aggregator')).toEqual([]);
    expect(await kubectl('get', 'validatingwebhookconfigurations', '-o', 'name')).not.toContain('virt-api');
    await eventually(
      'no launcher pod left',
      async () => (await list('pods', '-n', NAMESPACE, '-l', 'kubevirt.io=virt-launcher')).length === 0,
    );
  });
}
