// Encrypted guests: one technology, its gate, and what it cannot be combined with. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { LaunchSecurity, VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { type Causes, forbidden, invalid, type Rule } from '../rule.js';
import { isSmmOn } from './machine.js';

type Technology = 'SEV' | 'SNP' | 'TDX';

const technologiesOf = ({ sev, snp, tdx }: LaunchSecurity): readonly Technology[] => [
  ...(sev ? (['SEV'] as const) : []),
  ...(snp ? (['SNP'] as const) : []),
  ...(tdx ? (['TDX'] as const) : []),
];

function* firmwareCauses(spec: VirtualMachineInstanceSpec, technology: Technology, path: FieldPath): Causes {
  if (technology === 'TDX' && isSmmOn(spec)) yield invalid(path, 'TDX does not work along with SMM');
  const efi = spec.domain.firmware?.bootloader?.efi;
  if (!efi) {
    yield invalid(path, `${technology} requires OVMF (UEFI)`);
    return;
  }
  if (technology !== 'TDX' && efi.secureBoot !== false) yield invalid(path, `${technology} does not work along with SecureBoot`);
  if (technology !== 'SEV' && efi.persistent) yield invalid(path, `${technology} does not work along with Persistent EFI variables`);
}

function* amd64Causes(spec: VirtualMachineInstanceSpec, security: LaunchSecurity, path: FieldPath, config: ClusterConfig): Causes {
  const [technology, ...others] = technologiesOf(security);
  if (!technology || others.length > 0) {
    yield forbidden(path, 'One and only one launchSecurity type can be set');
    return;
  }
  const gate = technology === 'TDX' ? 'WorkloadEncryptionTDX' : 'WorkloadEncryptionSEV';
  if (!config.isEnabled(gate)) {
    yield invalid(path, `${gate} feature gate is not enabled in kubevirt-config`);
    return;
  }
  yield* firmwareCauses(spec, technology, path);
  if (security.sev?.attestation && spec.startStrategy !== 'Paused') {
    yield invalid(path, "SEV attestation requires VMI StartStrategy 'Paused'");
  }
  for (const { name, bootOrder } of spec.domain.devices.interfaces ?? []) {
    if (bootOrder !== undefined) yield invalid(path, `${technology} does not work with bootable NICs: ${name}`);
  }
}

export const launchSecurity: Rule<VirtualMachineInstanceSpec> = function* (spec, at, config) {
  const security = spec.domain.launchSecurity;
  if (!security || spec.architecture === 's390x') return;
  if (spec.architecture === 'amd64') yield* amd64Causes(spec, security, field(at, 'launchSecurity'), config);
  else yield invalid(field(at, 'architecture'), `No launchSecurity support for architecture: ${spec.architecture ?? ''}`);
};
