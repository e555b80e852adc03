// Values that the tests of this room share: the pod's NIC as a CNI plugin leaves it, and a request for one network. Tests only.
import type { Interface, Network } from '../../api/index.js';
import type { PodLink, PodNamespace } from './link-status.js';
import type { PodNetworkRequest } from './plan.js';

export const eth0: PodLink = {
  index: 3,
  name: 'eth0',
  mac: '12:34:56:78:90:ab',
  mtu: 1450,
  ipv4: [{ ip: '10.244.1.7', prefix: 24 }],
  ipv6: [],
};

export const net1: PodLink = { index: 5, name: 'net1', mac: '12:34:56:78:90:cd', mtu: 1480, ipv4: [], ipv6: [] };

export const podNet: Network = { name: 'default', pod: {} };
export const secondary: Network = { name: 'sec', multus: { networkName: 'nad' } };

export const withDefaultRoute = (...links: readonly PodLink[]): PodNamespace => ({
  links,
  routes: [
    { destination: '0.0.0.0/0', gateway: '10.244.1.1', link: 'eth0' },
    { destination: '10.244.1.0/24', link: 'eth0' },
  ],
});

export function request(interfaces: readonly Interface[], over: Partial<PodNetworkRequest> = {}): PodNetworkRequest {
  return {
    interfaces,
    networks: [podNet, secondary].filter(({ name }) => interfaces.some((iface) => iface.name === name)),
    now: withDefaultRoute(eth0),
    states: new Map(),
    ownerId: 107,
    queues: 0,
    nat: { istio: false, legacyMigrationPorts: false, portRangesGate: false },
    options: { dummySupported: true, unprivilegedDhcp: true },
    ...over,
  };
}
