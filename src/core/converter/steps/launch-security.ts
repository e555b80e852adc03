// Encrypted guests on amd64: AMD SEV, SEV-ES, SEV-SNP and Intel TDX. Other architectures need nothing in the domain for it.
import type { LaunchSecurity, SEV } from '../../../api/index.js';
import { NOTHING, type Step } from '../step.js';
import { el, textEl, type XmlNode } from '../xml.js';

// Policy bits of AMD's SEV and SEV-SNP interfaces.
const SEV_NO_DEBUG = 1 << 0;
const SEV_ENCRYPTED_STATE = 1 << 2;
const SNP_SMT = 1 << 16;
const SNP_RESERVED = 1 << 17;

const hex = (bits: number): string => `0x${bits.toString(16)}`;

export const launchSecurity: Step<'vmi' | 'domain' | 'arch'> = {
  name: 'launch-security',
  render({ vmi, domain, arch }) {
    const wanted = domain.launchSecurity;
    const node =
      wanted && arch.name === 'amd64' ? securityNode(wanted, vmi.metadata.annotations?.['kubevirt.io/qgs-socket-path']) : undefined;
    return node ? { elements: [node] } : NOTHING;
  },
};

function securityNode({ sev, snp, tdx }: LaunchSecurity, quoteSocket: string | undefined): XmlNode | undefined {
  if (sev) return sevNode(sev);
  if (snp) return el('launchSecurity', { type: 'sev-snp' }, [textEl('policy', hex(SNP_SMT | SNP_RESERVED))]);
  return tdx && el('launchSecurity', { type: 'tdx' }, [el('quoteGenerationService', { path: quoteSocket })]);
}

function sevNode({ dhCert, session, policy }: SEV): XmlNode {
  const bits = SEV_NO_DEBUG | (policy?.encryptedState ? SEV_ENCRYPTED_STATE : 0);
  return el('launchSecurity', { type: 'sev' }, [
    dhCert ? textEl('dhCert', dhCert) : undefined,
    session ? textEl('session', session) : undefined,
    textEl('policy', hex(bits)),
  ]);
}
