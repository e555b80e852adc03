// Gathers what core/network's plan must be told about a VMI: its interfaces, the journal, the cluster's settings. Pure, called by setup.ts.
import type { VirtualMachineInstance } from '../../api/index.js';
import type { RegisteredBindings } from '../../core/network/bindings/index.js';
import type { NetworkState, PodInterfaceCache } from '../../core/network/caches.js';
import type { Family } from '../../core/network/ip.js';
import type { PodNamespace } from '../../core/network/link-status.js';
import { isPrimary } from '../../core/network/names.js';
import type { PodNetworkRequest } from '../../core/network/plan.js';

export interface NetworkSettings {
  readonly bindings?: RegisteredBindings;
  readonly portRangesGate: boolean;
  /** Family of the node agent's own pod address, which is the cluster's primary one. */
  readonly preferredFamily: Family;
}

const ISTIO_INJECT = 'sidecar.istio.io/inject';
const MAX_QUEUES = 256;

export function networkRequest(
  vmi: VirtualMachineInstance,
  now: PodNamespace,
  entries: ReadonlyMap<string, PodInterfaceCache>,
  settings: NetworkSettings & { readonly ownerId: number },
): PodNetworkRequest {
  const primaryName = primaryPodInterface(vmi);
  return {
    interfaces: vmi.spec.domain.devices.interfaces ?? [],
    networks: vmi.spec.networks ?? [],
    now,
    states: new Map<string, NetworkState>([...entries].map(([network, entry]) => [network, entry.networkState])),
    statusMacs: statusMacs(vmi),
    ownerId: settings.ownerId,
    queues: queuesOf(vmi),
    preferredFamily: settings.preferredFamily,
    nat: {
      istio: vmi.metadata.annotations?.[ISTIO_INJECT]?.toLowerCase() === 'true',
      legacyMigrationPorts: vmi.status?.migrationTransport !== 'Unix',
      portRangesGate: settings.portRangesGate,
    },
    // One holder on every kernel: a bridge without ports exists wherever bridges do, the type dummy does not.
    options: { dummySupported: false, unprivilegedDhcp: true },
    ...(settings.bindings === undefined ? {} : { bindings: settings.bindings }),
    ...(primaryName === undefined ? {} : { primaryName }),
  };
}

function primaryPodInterface(vmi: VirtualMachineInstance): string | undefined {
  const primary = vmi.spec.networks?.find(isPrimary)?.name;
  return vmi.status?.interfaces?.find((iface) => iface.name === primary)?.podInterfaceName;
}

function statusMacs(vmi: VirtualMachineInstance): Map<string, string> {
  return new Map((vmi.status?.interfaces ?? []).flatMap(({ name, mac }) => (name && mac ? [[name, mac] as const] : [])));
}

/** Queues of a tap: one a vCPU, when the VMI asks for more than one. */
export function queuesOf(vmi: VirtualMachineInstance): number {
  if (vmi.spec.domain.devices.networkInterfaceMultiqueue !== true) return 0;
  const { cores = 1, sockets = 1, threads = 1 } = vmi.spec.domain.cpu ?? {};
  return Math.min(MAX_QUEUES, (cores || 1) * (sockets || 1) * (threads || 1));
}
