// Which ports passt forwards into the guest: the listed ones, or all; never those of an Istio proxy in the same pod.
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import type { PortForward } from '../domain-devices.js';

type Range = NonNullable<PortForward['range']>[number];

/** Ports that the Envoy sidecar listens on. */
const ISTIO_PORTS = [15000, 15001, 15004, 15006, 15008, 15009, 15020, 15021, 15053, 15090];

export function passtForwards(iface: Interface, vmi: VirtualMachineInstance): PortForward[] {
  const istio = vmi.metadata.annotations?.['sidecar.istio.io/inject']?.toLowerCase() === 'true';
  const reserved = istio ? ISTIO_PORTS.map((start): Range => ({ start, exclude: true })) : [];
  const forwards: PortForward[] = [
    { proto: 'tcp', range: [...reserved, ...ranges(iface, 'tcp')] },
    { proto: 'udp', range: ranges(iface, 'udp') },
  ];
  const limited = forwards.filter(({ range = [] }) => range.length > 0);
  // Without a range it is all ports.
  return limited.length > 0 ? limited : forwards;
}

const ranges = (iface: Interface, protocol: 'tcp' | 'udp'): Range[] =>
  (iface.ports ?? [])
    .filter((port) => (port.protocol || 'tcp').toLowerCase() === protocol && port.port >= 0)
    .map((port): Range => ({ start: port.port }));
