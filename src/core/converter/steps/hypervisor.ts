// Domain type and name: hardware virtualization, software emulation where it is allowed, or another architecture's emulator.
import { KvError } from '../../../base/errors.js';
import { archOf, traitsOf } from '../arch.js';
import type { Domain } from '../domain.js';
import type { Scope } from '../scope.js';
import type { Fragment, Step } from '../step.js';

type Needs = 'vmi' | 'hypervisor' | 'hypervisorDevicePresent' | 'allowEmulation' | 'crossArchEmulation' | 'hostArch' | 'emulators';

export const hypervisor: Step<Needs> = {
  name: 'hypervisor',
  render(scope): Fragment {
    const { namespace = '', name = '' } = scope.vmi.metadata;
    return {
      type: domainType(scope),
      'xmlns:qemu': 'http://libvirt.org/schemas/domain/qemu/1.0',
      name: `${namespace}_${name}`,
      devices: { emulator: emulator(scope) },
    };
  },
};

/** Throws when the guest cannot run on this node as configured. */
export function domainType(scope: Pick<Scope, Needs>): NonNullable<Domain['type']> {
  if (isForeign(scope)) return 'qemu';
  if (scope.hypervisorDevicePresent) return scope.hypervisor === 'kvm' ? 'kvm' : 'hyperv';
  if (scope.allowEmulation) return 'qemu';
  const what =
    scope.hypervisor === 'kvm' ? 'kvm not present and emulation is not allowed' : 'MSHV not present and emulation is not allowed';
  throw new KvError(
    'Invalid',
    `${what}: use a node with hardware virtualization, or set developerConfiguration.useEmulation in the KubeVirt CR`,
  );
}

function isForeign({ vmi, hypervisor, crossArchEmulation, hostArch }: Pick<Scope, Needs>): boolean {
  const guest = vmi.spec.architecture;
  return hypervisor === 'kvm' && crossArchEmulation && Boolean(guest) && guest !== hostArch;
}

function emulator(scope: Pick<Scope, Needs>): string | undefined {
  if (!isForeign(scope)) return undefined;
  const guest = scope.vmi.spec.architecture ?? '';
  const arch = archOf(guest);
  if (!arch) throw new KvError('Invalid', `unsupported guest architecture for cross-architecture emulation: spec.architecture is ${guest}`);
  const path = traitsOf(arch).emulator;
  if (!scope.emulators.has(path)) {
    throw new KvError(
      'Invalid',
      `required emulator binary not found: ${path}: the launcher image cannot emulate spec.architecture ${guest}`,
    );
  }
  return path;
}
