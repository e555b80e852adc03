// A guest as the launcher converts it: amd64, one container disk, one masquerade interface; and what one converter step makes of it.
import type {
  Devices,
  DomainSpec,
  VirtualMachineInstance,
  VirtualMachineInstanceSpec,
  VirtualMachineInstanceStatus,
} from '../../src/api/index.js';
import { type DomainFacts, type DomainModel, domainToXml, PLAIN_FACTS, renderXml } from '../../src/core/converter/index.js';
import type { AnyStep } from '../../src/core/converter/order.js';
import { buildScope } from '../../src/core/converter/scope.js';
import { frozen } from './objects.js';

export const GUEST_UID = '11111111-2222-3333-4444-555555555555';

export interface GuestParts {
  readonly spec?: Partial<VirtualMachineInstanceSpec>;
  readonly domain?: Partial<DomainSpec>;
  readonly devices?: Partial<Devices>;
  readonly status?: Partial<VirtualMachineInstanceStatus>;
  readonly annotations?: Record<string, string>;
}

export function guest({ spec, domain, devices, status, annotations }: GuestParts = {}): VirtualMachineInstance {
  return frozen({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'vm', namespace: 'default', uid: GUEST_UID, ...(annotations ? { annotations } : {}) },
    spec: {
      architecture: 'amd64',
      networks: [{ name: 'default', pod: {} }],
      volumes: [{ name: 'root', containerDisk: { image: 'registry.example/disk:v1' } }],
      ...spec,
      domain: {
        memory: { guest: '256Mi' },
        firmware: { uuid: '5d307ca9-b3ef-428c-8861-06e72d69f223' },
        ...domain,
        devices: {
          disks: [{ name: 'root', disk: { bus: 'virtio' } }],
          interfaces: [{ name: 'default', masquerade: {} }],
          ...devices,
        },
      },
    },
    status: { runtimeUser: 107, ...status },
  });
}

export const factsOf = (more: Partial<DomainFacts> = {}): DomainFacts => ({
  ...PLAIN_FACTS,
  interfaceAttachments: { default: 'tap' },
  containerDiskFormats: { root: 'qcow2' },
  ...more,
});

/** Without indentation, for tables. */
const compactNode = (node: ReturnType<typeof domainToXml>): string => renderXml(node).replace(/\n\s*/g, '');
export const compact = (domain: DomainModel): string => compactNode(domainToXml(domain));

/** Everything one step adds, one string an element. */
export function rendered(step: AnyStep, vmi: VirtualMachineInstance, facts: DomainFacts = factsOf()): string[] {
  const { children } = domainToXml(step.render(buildScope(vmi, facts)));
  return children.flatMap((node) => (node.tag === 'devices' ? node.children : [node])).map(compactNode);
}
