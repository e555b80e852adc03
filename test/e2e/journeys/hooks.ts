// What changes a guest before it starts: hook sidecars whose scripts come from a ConfigMap, and Ignition. The guest itself shows what came of it.
import { expect, it } from 'vitest';
import type { Pod, VirtualMachineInstance } from '../../../src/api/index.js';
import { withGates } from '../gates.js';
import { apply, Console, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { waitRunning } from '../vm-waits.js';

const NAME = 'hooked';
const CONFIG_MAP = 'my-config-map';
const HOOKS = 'hooks.kubevirt.io/hookSidecars';
const IGNITION = JSON.stringify({ ignition: { version: '3.4.0' } });

/** The user guide's example: as it is known from there, blanks and all. */
const DOMAIN_SCRIPT = `#!/bin/sh
tempFile=\`mktemp --dry-run\`
echo $4 > $tempFile
sed -i "s|<baseBoard></baseBoard>|<baseBoard><entry name='manufacturer'>Radical Edward</entry></baseBoard>|" $tempFile
cat $tempFile
`;
const CLOUD_INIT_SCRIPT = `#!/bin/sh
echo "changing the user data" >&2
printf '%s' "$4" | sed 's/written-by-user/written-by-hook/'
`;
const USER_DATA = '#!/bin/sh\necho written-by-user > /tmp/author\n';

const configMap = (domainScript: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: CONFIG_MAP, namespace: NAMESPACE },
  data: { 'my_script.sh': domainScript, 'cloud-init.sh': CLOUD_INIT_SCRIPT },
});

const script = (key: string, hook: string, version: string): object => ({
  args: ['--version', version],
  configMap: { name: CONFIG_MAP, key, hookPath: `/usr/bin/${hook}` },
});

function vm(hooks: readonly object[], annotations: Readonly<Record<string, string>> = {}): object {
  const made = tinyVm(NAME, { userData: USER_DATA }) as { spec: { template: { metadata: object } } };
  made.spec.template.metadata = { labels: { vm: NAME }, annotations: { [HOOKS]: JSON.stringify(hooks), ...annotations } };
  return made;
}

const removeVm = (): Promise<string> => kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--timeout=90s');
const pods = (): Promise<Pod[]> => list<Pod>('pods', '-n', NAMESPACE, '-l', `vm=${NAME}`);

async function whyNotSynchronized(pattern: RegExp): Promise<void> {
  await eventually(`the VMI says ${pattern}`, async () => {
    const vmi = await find<VirtualMachineInstance>('vmi', NAME);
    const condition = vmi?.status?.conditions?.find(({ type }) => type === 'Synchronized');
    return condition?.status === 'False' && pattern.test(condition.message ?? '');
  });
}

async function changedGuest(): Promise<void> {
  await apply(configMap(DOMAIN_SCRIPT));
  const hooks = [script('my_script.sh', 'onDefineDomain', 'v1alpha2'), script('cloud-init.sh', 'preCloudInitIso', 'v1alpha3')];
  await apply(vm(hooks, { 'kubevirt.io/ignitiondata': IGNITION }));
  await waitRunning(NAME);
  const [pod] = await pods();
  expect(pod?.spec?.containers.map(({ name }) => name)).toEqual(['compute', 'hook-sidecar-0', 'hook-sidecar-1']);
  const console = await Console.open(NAME);
  await console.login();
  expect(await console.run('cat /sys/devices/virtual/dmi/id/board_vendor')).toContain('Radical Edward');
  expect(await console.run('cat /sys/firmware/qemu_fw_cfg/by_name/opt/com.coreos/config/raw')).toContain(IGNITION);
  expect(await console.run('until cat /tmp/author 2>/dev/null; do sleep 1; done')).toContain('written-by-hook');
  await console.close();
  expect(await kubectl('logs', pod?.metadata.name ?? '', '-n', NAMESPACE, '-c', 'hook-sidecar-1')).toContain('changing the user data');
  await removeVm();
  await eventually('the pod is gone', async () => (await pods()).length === 0);
}

async function brokenScript(): Promise<void> {
  await kubectl('delete', 'configmap', CONFIG_MAP, '-n', NAMESPACE);
  await apply(vm([script('my_script.sh', 'onDefineDomain', 'v1alpha1')]));
  await whyNotSynchronized(/configmaps "my-config-map" not found: a hook sidecar needs it/);
  await apply(configMap('#!/bin/sh\necho "cannot do it" >&2\nexit 3\n'));
  await whyNotSynchronized(
    /hook sidecar hook-sidecar-0 \(shim\) failed at OnDefineDomain: .*onDefineDomain ended with exit code 3: cannot do it/,
  );
  await removeVm();
  await kubectl('delete', 'configmap', CONFIG_MAP, '-n', NAMESPACE);
}

export function hooks(): void {
  it('lets scripts change domain and cloud-init data, and gives the guest its Ignition data', () =>
    withGates({ on: ['Sidecar', 'ExperimentalIgnitionSupport'] }, changedGuest));

  it('says on the VMI what is wrong with a script', () => withGates({ on: ['Sidecar'] }, brokenScript));
}
