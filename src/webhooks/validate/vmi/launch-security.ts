// Encrypted guests: one technology, its gate, and what it cannot be combined with. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { LaunchSecurity, VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { type Causes, forbidden, invalid, type Rule } from '../rule.js';
import { isSmmOn } from './machine.js';

type Technology = 'SEV' | 'SNP' | 'TDX';

const technologiesOf = ({ sev, snp, tdx }: LaunchSecurity): readonly Technology[] => [
  ...(sev ? (['SEV'] as const) : []),
  ...(snp ? (['SNP'] as const) : []),
  ...(tdx ? (['TDX'] as const) : []),
];

function* firmwareCauses(spec: VirtualMachineInstanceSpec, technology: Technology, path: FieldPath): Causes {
  if (technology === 'TDX' && isSmmOn(spec)) yield invalid(path, 'TDX has no system management mode: leave features.smm out');
  const efi = spec.domain.firmware?.bootloader?.efi;
  if (!efi) {
    yield invalid(path, `${technology} needs UEFI firmware: set domain.firmware.bootloader.efi`);
    return;
  }
  if (technology !== 'TDX' && efi.secureBoot !== false)
    yield invalid(path, `${technology} firmware has no secure boot: set bootloader.efi.secureBoot to false`);
  if (technology !== 'SEV' && efi.persistent)
    yield invalid(path, `${technology} firmware keeps no variables: leave bootloader.efi.persistent out`);
}

function* amd64Causes(spec: VirtualMachineInstanceSpec, security: LaunchSecurity, path: FieldPath, config: ClusterConfig): Causes {
  const [technology, ...others] = technologiesOf(security);
  if (!technology || others.length > 0) {
    yield forbidden(path, 'launchSecurity must hold one technology: set one of sev, snp and tdx');
    return;
  }
  const gate = technology === 'TDX' ? 'WorkloadEncryptionTDX' : 'WorkloadEncryptionSEV';
  if (!config.isEnabled(gate)) {
    yield invalid(path, gateOff(gate, `launchSecurity by ${technology}`));
    return;
  }
  yield* firmwareCauses(spec, technology, path);
  if (security.sev?.attestation && spec.startStrategy !== 'Paused') {
    yield invalid(path, 'SEV attestation happens before the guest runs: set startStrategy to Paused');
  }
  for (const { name, bootOrder } of spec.domain.devices.interfaces ?? []) {
    if (bootOrder !== undefined)
      yield invalid(path, `${technology} guests cannot boot from the network: take the boot order off interface "${name}"`);
  }
}

export const launchSecurity: Rule<VirtualMachineInstanceSpec> = function* (spec, at, config) {
  const security = spec.domain.launchSecurity;
  if (!security || spec.architecture === 's390x') return;
  if (spec.architecture === 'amd64') yield* amd64Causes(spec, security, field(at, 'launchSecurity'), config);
  else
    yield invalid(
      field(at, 'architecture'),
      `launchSecurity exists for amd64 and s390x only, not for "${spec.architecture ?? ''}": take it out`,
    );
};
