// Encrypted guests on amd64: AMD SEV, SEV-ES, SEV-SNP and Intel TDX. Other architectures need nothing in the domain for it.
import type { LaunchSecurity, SEV } from '../../../api/index.js';
import type { DomainLaunchSecurity } from '../domain.js';
import type { Fragment, Step } from '../step.js';

// Policy bits of AMD's SEV and SEV-SNP interfaces.
const SEV_NO_DEBUG = 1 << 0;
const SEV_ENCRYPTED_STATE = 1 << 2;
const SNP_SMT = 1 << 16;
const SNP_RESERVED = 1 << 17;

const hex = (bits: number): string => `0x${bits.toString(16)}`;

export const launchSecurity: Step<'vmi' | 'domain' | 'arch'> = {
  name: 'launch-security',
  render({ vmi, domain, arch }): Fragment {
    const wanted = arch.name === 'amd64' ? domain.launchSecurity : undefined;
    return { launchSecurity: wanted && security(wanted, vmi.metadata.annotations?.['kubevirt.io/qgs-socket-path']) };
  },
};

function security({ sev, snp, tdx }: LaunchSecurity, quoteSocket: string | undefined): DomainLaunchSecurity | undefined {
  if (sev) return sevSecurity(sev);
  if (snp) return { type: 'sev-snp', policy: hex(SNP_SMT | SNP_RESERVED) };
  return tdx && { type: 'tdx', quoteGenerationService: { path: quoteSocket } };
}

function sevSecurity({ dhCert, session, policy }: SEV): DomainLaunchSecurity {
  const bits = SEV_NO_DEBUG | (policy?.encryptedState ? SEV_ENCRYPTED_STATE : 0);
  return { type: 'sev', dhCert: dhCert || undefined, session: session || undefined, policy: hex(bits) };
}
