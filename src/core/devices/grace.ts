// Which devices that a guest asks for are NVIDIA Grace GPUs, by the cluster's permitted devices. Asked by admission and by the node agent, which
// tells the launcher.
import type { VirtualMachineInstanceSpec } from '../../api/index.js';
import type { ClusterConfig } from '../config/cluster-config.js';

export interface GraceRequest {
  readonly list: 'gpus' | 'hostDevices';
  readonly index: number;
  /** Of the device in the VMI. */
  readonly name: string;
  readonly resource: string;
  /** 'ambiguous': a wildcard that Grace GPUs are among. */
  readonly kind: 'grace' | 'ambiguous';
}

const NVIDIA = '10DE';
const GRACE_DEVICES = ['2342', '2348', '2941'];
const PCI_ID = /^[0-9A-F]{4}$/;

const normal = (id: string): string => id.trim().toUpperCase().replace(/^0X/, '');

function kindOf(selector: string | undefined): GraceRequest['kind'] | undefined {
  const parts = (selector ?? '').split(':').map(normal);
  const [vendor = '', device = ''] = parts;
  if (parts.length !== 2 || vendor !== NVIDIA) return undefined;
  if (device === '*') return 'ambiguous';
  return PCI_ID.test(device) && GRACE_DEVICES.includes(device) ? 'grace' : undefined;
}

export function graceRequests(spec: VirtualMachineInstanceSpec, config: ClusterConfig): GraceRequest[] {
  const selectors = new Map((config.spec.permittedHostDevices?.pciHostDevices ?? []).map((d) => [d.resourceName, d.pciVendorSelector]));
  return (['gpus', 'hostDevices'] as const).flatMap((list) =>
    (spec.domain.devices[list] ?? []).flatMap(({ name, deviceName: resource }, index): GraceRequest[] => {
      const kind = resource ? kindOf(selectors.get(resource)) : undefined;
      return kind && resource ? [{ list, index, name, resource, kind }] : [];
    }),
  );
}
