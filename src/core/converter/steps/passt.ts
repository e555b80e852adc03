// Which ports passt forwards into the guest: the listed ones, or all; never those of an Istio proxy in the same pod.
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import { el, type XmlNode } from '../xml.js';

/** Ports that the Envoy sidecar listens on. */
const ISTIO_PORTS = [15000, 15001, 15004, 15006, 15008, 15009, 15020, 15021, 15053, 15090];

export function passtForwards(iface: Interface, vmi: VirtualMachineInstance): XmlNode[] {
  const istio = vmi.metadata.annotations?.['sidecar.istio.io/inject']?.toLowerCase() === 'true';
  const reserved = (istio ? ISTIO_PORTS : []).map((start) => el('range', { start, exclude: 'yes' }));
  const tcp = [...reserved, ...ranges(iface, 'tcp')];
  const udp = ranges(iface, 'udp');
  if (tcp.length + udp.length === 0) return [el('portForward', { proto: 'tcp' }), el('portForward', { proto: 'udp' })];
  return [
    ...(tcp.length > 0 ? [el('portForward', { proto: 'tcp' }, tcp)] : []),
    ...(udp.length > 0 ? [el('portForward', { proto: 'udp' }, udp)] : []),
  ];
}

const ranges = (iface: Interface, protocol: 'tcp' | 'udp'): XmlNode[] =>
  (iface.ports ?? [])
    .filter((port) => (port.protocol || 'tcp').toLowerCase() === protocol && port.port >= 0)
    .map((port) => el('range', { start: port.port }));
