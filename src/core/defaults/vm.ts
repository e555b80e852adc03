// Defaults of a VirtualMachine's template that must not change once it exists: architecture, machine type, and on creation the firmware's
// identity and the PCI layout. Used by the mutating webhook.
import type { VirtualMachine } from '../../api/index.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { machineTypeFor } from '../config/cluster-lookups.js';
import { hasPcieHotplug } from './architecture.js';
import { canonicalVmiSpec } from './canonical.js';
import { type DefaultsContext, PCI_TOPOLOGY_ANNOTATION, PCI_TOPOLOGY_VERSION } from './vmi.js';

export interface VmDefaultsContext extends DefaultsContext {
  readonly creating: boolean;
  /** What the boot source's label says, when the template names none. */
  readonly sourceArchitecture?: string;
}

/** A copy with the defaults; a VM without template is returned as it is, since validation refuses it. */
export function defaultVm(given: VirtualMachine, config: ClusterConfig, context: VmDefaultsContext): VirtualMachine {
  const vm = structuredClone(given);
  const spec = vm.spec.template?.spec;
  if (!spec) return vm;
  if (context.creating) {
    const firmware = spec.domain.firmware ?? {};
    spec.domain.firmware = firmware;
    firmware.uuid ||= context.randomUuid();
    firmware.serial ||= context.randomUuid();
  }
  spec.architecture ||= context.sourceArchitecture ?? config.defaultArchitecture;
  const machine = spec.domain.machine ?? {};
  spec.domain.machine = machine;
  machine.type ||= machineTypeFor(config, spec.architecture);
  vm.spec.template.spec = canonicalVmiSpec(spec);
  if (context.creating && hasPcieHotplug(spec)) {
    const metadata = vm.spec.template.metadata ?? {};
    vm.spec.template.metadata = metadata;
    metadata.annotations = { [PCI_TOPOLOGY_ANNOTATION]: PCI_TOPOLOGY_VERSION, ...metadata.annotations };
  }
  return vm;
}
