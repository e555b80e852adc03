// A guest with both families behind its pod's addresses: it finds its router, gets its address and name servers, and reaches pods and is
// reached by them, without a word of network configuration from the user.
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../src/api/index.js';
import { apply, Console, eventually, find, kubectl, NAMESPACE } from '../harness.js';
import { tinyVm, webPod } from '../manifests.js';
import { waitRunning } from '../vm-waits.js';

const NAME = 'both-families';
const PEER = 'peer-both-families';

type PodWithIps = KubeObject & { readonly status?: { readonly phase?: string; readonly podIPs?: readonly { readonly ip: string }[] } };

async function podIps(name: string): Promise<string[]> {
  return eventually(`addresses of pod ${name}`, async () => {
    const pod = await find<PodWithIps>('pod', name);
    return pod?.status?.phase === 'Running' ? pod.status.podIPs?.map(({ ip }) => ip) : undefined;
  });
}

export function ipv6(): void {
  it('has the addresses of its pod in both families', async () => {
    await apply(tinyVm(NAME, { node: 'node1' }), webPod(PEER, 'node2'));
    const vmi = await waitRunning(NAME);

    const [pod = ''] = Object.keys(vmi.status?.activePods ?? {});
    const names = await kubectl(
      'get',
      'pods',
      '-n',
      NAMESPACE,
      '-l',
      `vm=${NAME}`,
      '-o',
      'jsonpath={range .items[*]}{.metadata.uid}={.metadata.name} {end}',
    );
    const launcher =
      names
        .split(' ')
        .find((each) => each.startsWith(`${pod}=`))
        ?.split('=')[1] ?? '';
    const ips = await podIps(launcher);
    expect(ips.map((ip) => ip.includes(':'))).toEqual([false, true]);
    expect(vmi.status?.interfaces?.[0]).toMatchObject({ ipAddress: ips[0], ipAddresses: ips });
  });

  it('is told its router and its address, and reaches a pod on the other node', async () => {
    const [, peer] = await podIps(PEER);
    const console = await Console.open(NAME);
    await console.login();
    await eventually('the guest has its address', async () => (await console.run('ip -6 addr show dev eth0')).includes('fd10:0:2::2/128'));
    expect(await console.run('ip -6 route')).toMatch(/default via fe80::ff:fe00:0 dev eth0/);
    // For a second its own kernel looks for others that have the address.
    await eventually(`the guest reaches ${peer}`, async () =>
      (await console.run(`ping6 -c 1 -w 2 ${peer}`)).includes('1 packets received'),
    );
    expect(await console.run(`wget -qO- http://[${peer}]/`)).toContain(`hello from ${PEER}`);
    await console.close();
  });

  it('is reached by its pod’s address', async () => {
    const guest = (await waitRunning(NAME)).status?.interfaces?.[0]?.ipAddresses?.find((ip) => ip.includes(':'));
    const request = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${guest} 80`;
    await eventually(`pod ${PEER} reads the guest’s page at ${guest}`, async () =>
      (await kubectl('exec', '-n', NAMESPACE, PEER, '--', 'sh', '-c', request)).startsWith('HTTP/1'),
    );
  });

  it('asks its router again when its link comes back, and gets the same answer', async () => {
    const console = await Console.open(NAME);
    await console.login();
    await console.run('ip link set eth0 down; ip link set eth0 up');
    await eventually('the guest has its router', async () => (await console.run('ip -6 route')).includes('default via fe80::ff:fe00:0'));
    await console.close();
    await kubectl('delete', `vm/${NAME}`, `pod/${PEER}`, '-n', NAMESPACE, '--timeout=120s');
  });
}
