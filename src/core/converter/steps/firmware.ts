// Which UEFI firmware a guest boots with: one that fits Secure Boot and memory encryption among the files in the image, or libvirt's choice.
// Used by the os step; a firmware that is not there is an error a person can act on.
import { KvError } from '../../../base/errors.js';
import { nvramFile } from '../../storage/paths.js';
import type { DomainOs } from '../domain.js';
import { hasSev, type Scope } from '../scope.js';

export type FirmwareNeeds = 'vmi' | 'domain' | 'arch' | 'asRoot' | 'firmwareFiles' | 'firmwareDir' | 'firmwareAutoSelection';

export type EfiParts = Pick<DomainOs, 'firmware' | 'firmwareFeatures' | 'loader' | 'nvram'>;

type Protection = 'none' | 'sev' | 'snp' | 'tdx';

interface FirmwareChoice {
  /** Candidates by preference; the second name is how distributions with 4 MiB images only call the same build. */
  readonly code: readonly string[];
  /** Undefined = the firmware keeps no variables. */
  readonly vars?: readonly string[];
}

const PLAIN_VARS = ['OVMF_VARS.fd', 'OVMF_VARS_4M.fd'];

/** amd64, by protection and Secure Boot; absent = no firmware can do both. */
const AMD64_FIRMWARE: Readonly<Record<string, FirmwareChoice>> = {
  // A Secure Boot build without enrolled keys boots anything and is preferred, since it can be turned on later.
  none: { code: ['OVMF_CODE.secboot.fd', 'OVMF_CODE.fd', 'OVMF_CODE_4M.secboot.fd', 'OVMF_CODE_4M.fd'], vars: PLAIN_VARS },
  'none+secureBoot': {
    code: ['OVMF_CODE.secboot.fd', 'OVMF_CODE_4M.secboot.fd'],
    vars: ['OVMF_VARS.secboot.fd', 'OVMF_VARS_4M.secboot.fd', 'OVMF_VARS_4M.ms.fd'],
  },
  sev: { code: ['OVMF_CODE.cc.fd'], vars: PLAIN_VARS },
  snp: { code: ['OVMF.amdsev.fd'] },
  tdx: { code: ['OVMF.inteltdx.fd'] },
  'tdx+secureBoot': { code: ['OVMF.inteltdx.secboot.fd'] },
};

const ARM64_FIRMWARE: Readonly<Record<string, FirmwareChoice>> = { none: { code: ['AAVMF_CODE.fd'], vars: ['AAVMF_VARS.fd'] } };

export function efiFirmware(scope: Pick<Scope, FirmwareNeeds>): EfiParts {
  const efi = scope.domain.firmware?.bootloader?.efi;
  if (!efi) return {};
  if (!scope.arch.efi) {
    throw new KvError(
      'Invalid',
      `spec.domain.firmware.bootloader.efi: ${scope.arch.name} guests boot with Open Firmware only: take efi out`,
    );
  }
  const secureBoot = efi.secureBoot !== false;
  const protection = protectionOf(scope);
  if (scope.firmwareAutoSelection && secureBoot && protection === 'none') return autoSelected(scope);
  const { code, vars } = findFirmware(scope, protection, secureBoot);
  // The stateless images are ROMs. TDX checks signatures without the SMM that libvirt's "secure" stands for.
  const stateless = protection === 'snp' || protection === 'tdx';
  return {
    loader: { readonly: true, secure: secureBoot && protection !== 'tdx', type: stateless ? 'rom' : 'pflash', value: code },
    nvram: stateless ? undefined : { template: vars, value: nvram(scope) },
  };
}

function protectionOf({ domain }: Pick<Scope, FirmwareNeeds>): Protection {
  if (domain.launchSecurity?.snp) return 'snp';
  if (hasSev(domain)) return 'sev';
  return domain.launchSecurity?.tdx ? 'tdx' : 'none';
}

function findFirmware(scope: Pick<Scope, FirmwareNeeds>, protection: Protection, secureBoot: boolean): { code: string; vars?: string } {
  const table = scope.arch.name === 'arm64' ? ARM64_FIRMWARE : AMD64_FIRMWARE;
  const choice = table[secureBoot ? `${protection}+secureBoot` : protection];
  const present = (names: readonly string[]): string | undefined =>
    names.map((name) => `${scope.firmwareDir}/${name}`).find((path) => scope.firmwareFiles.has(path));
  const code = choice && present(choice.code);
  const vars = choice?.vars && present(choice.vars);
  if (code && (vars || !choice.vars)) return { code, ...(vars ? { vars } : {}) };
  const wish = `SecureBoot=${secureBoot}, encryption=${protection}`;
  throw new KvError(
    'Invalid',
    `EFI OVMF rom missing for booting in EFI mode with ${wish}: ${choice ? `the launcher image has none of ${choice.code.join(', ')} with its variables in ${scope.firmwareDir}` : 'no firmware can do both, change firmware.bootloader.efi.secureBoot'}`,
  );
}

/** libvirt chooses among the installed firmware descriptions; arm64 keeps its variables where libvirt wants them. */
function autoSelected(scope: Pick<Scope, FirmwareNeeds>): EfiParts {
  return {
    firmware: 'efi',
    firmwareFeatures: {
      feature: [
        { enabled: true, name: 'secure-boot' },
        { enabled: true, name: 'enrolled-keys' },
      ],
    },
    nvram: scope.vmi.spec.architecture === 'arm64' ? undefined : { format: 'raw', value: nvram(scope) },
  };
}

const nvram = ({ vmi, asRoot }: Pick<Scope, FirmwareNeeds>): string => nvramFile(vmi.metadata.name ?? '', asRoot);
