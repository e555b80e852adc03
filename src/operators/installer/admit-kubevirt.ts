// Admission of the KubeVirt CR: what may be created, changed and deleted. Pure; virt-operator's webhook server calls it with what it
// has read. Rejections say all causes at once, in the words that scripts of existing installations match.
import type { KubeVirt, KubeVirtConfiguration, KubeVirtSpec } from '../../api/index.js';
import { gateState } from '../../core/config/gates.js';
import { lifetimes, parseDuration } from './certificates/specs.js';

export interface KubeVirtCause {
  readonly type: 'FieldValueInvalid' | 'FieldValueNotSupported' | 'FieldValueForbidden';
  readonly message: string;
  readonly field: string;
}

export type KubeVirtVerdict =
  | { readonly allowed: true; readonly warnings: readonly string[] }
  | { readonly allowed: false; readonly causes: readonly KubeVirtCause[] }
  | { readonly allowed: false; readonly error: string; readonly code: number };

/** How many objects of each kind are left. */
export interface Workloads {
  readonly vmis: number;
  readonly vms: number;
}

const allow = (warnings: readonly string[] = []): KubeVirtVerdict => ({ allowed: true, warnings });
const invalid = (message: string, field = ''): KubeVirtCause => ({ type: 'FieldValueInvalid', message, field });
const unsupported = (message: string, field = ''): KubeVirtCause => ({ type: 'FieldValueNotSupported', message, field });

/** One installation a cluster. */
export function admitKubeVirtCreate(kv: KubeVirt, existing: readonly KubeVirt[]): KubeVirtVerdict {
  if (existing.length > 0) return { allowed: false, error: 'Kubevirt is already created', code: 400 };
  return admitKubeVirtUpdate(kv, undefined);
}

/** Whether deleting this CR depends on what still runs. */
export const isDeletionGuarded = ({ spec, status }: KubeVirt): boolean =>
  spec.uninstallStrategy === 'BlockUninstallIfWorkloadsExist' && status?.phase === 'Deployed';

export function admitKubeVirtDelete(kv: KubeVirt, workloads: Workloads): KubeVirtVerdict {
  if (!isDeletionGuarded(kv)) return allow();
  const left = workloads.vmis > 0 ? 'Virtual Machine Instances' : workloads.vms > 0 ? 'Virtual Machines' : undefined;
  if (!left) return allow();
  const error =
    `Rejecting the uninstall request, since there are still ${left} present. ` +
    'Either delete all KubeVirt related workloads or change the uninstall strategy before uninstalling KubeVirt.';
  return { allowed: false, error, code: 400 };
}

/** `old` undefined: the whole spec is new. */
export function admitKubeVirtUpdate(kv: KubeVirt, old: KubeVirt | undefined): KubeVirtVerdict {
  const { spec } = kv;
  const configuration = spec.configuration ?? {};
  const causes = [
    ...patchCauses(spec),
    ...certificateCauses(spec),
    ...(spec.infra?.replicas === 0 ? [invalid("infra replica count can't be 0")] : []),
    ...gateCauses(configuration),
    ...overheadCauses(configuration),
    ...tlsCauses(configuration),
    ...seccompCauses(configuration),
    ...gatedCauses(spec),
  ];
  return causes.length > 0 ? { allowed: false, causes } : allow(warningsFor(configuration, old?.spec.configuration));
}

function patchCauses({ customizeComponents }: KubeVirtSpec): KubeVirtCause[] {
  return (customizeComponents?.patches ?? [])
    .filter(({ patch }) => !isJson(patch))
    .map(({ patch }) => unsupported(`patch "${patch}" is not valid JSON`));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // that is the answer
  }
}

const SELF_SIGNED = 'spec.certificateRotationStrategy.selfSigned';
const DEPRECATED_MIX =
  'caRotateInterval, certRotateInterval and caOverlapInterval are deprecated and conflict with CertConfig defined rotation parameters';

function certificateCauses(spec: KubeVirtSpec): KubeVirtCause[] {
  const own = spec.certificateRotateStrategy?.selfSigned;
  if (!own) return [];
  const old = [own.caRotateInterval, own.certRotateInterval, own.caOverlapInterval];
  const texts = [...old, own.ca?.duration, own.ca?.renewBefore, own.server?.duration, own.server?.renewBefore];
  const unreadable = texts.filter((text) => text !== undefined && parseDuration(text) === undefined);
  if (unreadable.length > 0) return unreadable.map((text) => invalid(`"${text}" is not a duration such as 24h or 1h30m`, SELF_SIGNED));
  if ((own.ca || own.server) && old.some((text) => text !== undefined)) return [unsupported(DEPRECATED_MIX)];
  const { ca, server } = lifetimes(spec);
  const [caDuration, caRenew] = [`${SELF_SIGNED}.ca.duration`, `${SELF_SIGNED}.ca.renewBefore`];
  const [leafDuration, leafRenew] = [`${SELF_SIGNED}.server.duration`, `${SELF_SIGNED}.server.renewBefore`];
  return [
    ...(ca.durationMs < ca.renewBeforeMs ? [invalid(`CA RenewBefore cannot exceed Duration (${caDuration} < ${caRenew})`)] : []),
    ...(server.durationMs < server.renewBeforeMs
      ? [invalid(`Cert RenewBefore cannot exceed Duration (${leafDuration} < ${leafRenew})`)]
      : []),
    ...(server.durationMs > ca.durationMs ? [invalid(`Certificate duration cannot exceed CA (${leafDuration} > ${caDuration})`)] : []),
  ];
}

function gateCauses({ developerConfiguration }: KubeVirtConfiguration): KubeVirtCause[] {
  const disabled = new Set(developerConfiguration?.disabledFeatureGates ?? []);
  return (developerConfiguration?.featureGates ?? [])
    .filter((gate) => disabled.has(gate))
    .map((gate) => ({
      type: 'FieldValueForbidden' as const,
      field: 'spec.configuration.developerConfiguration.featureGates',
      message: `feature gate "${gate}" exists on both "FeatureGates" and "DisabledFeatureGates"`,
    }));
}

function overheadCauses({ additionalGuestMemoryOverheadRatio: ratio }: KubeVirtConfiguration): KubeVirtCause[] {
  if (ratio === undefined || ratio === '') return [];
  const value = Number(ratio);
  if (Number.isNaN(value)) {
    return [unsupported(`ratio provided, ${ratio}, cannot be parsed into float: strconv.ParseFloat: parsing "${ratio}": invalid syntax`)];
  }
  return value < 1 ? [unsupported(`ratio provided, ${ratio}, cannot be smaller than 1.0`)] : [];
}

function tlsCauses({ tlsConfiguration: tls }: KubeVirtConfiguration): KubeVirtCause[] {
  if (!tls?.ciphers?.length || (tls.minTLSVersion && tls.minTLSVersion !== 'VersionTLS13')) return [];
  const at = 'spec.configuration.tlsConfiguration';
  return [unsupported(`You cannot specify ciphers when ${at}.minTLSVersion is empty or VersionTLS13`, `${at}.ciphers`)];
}

function seccompCauses({ seccompConfiguration }: KubeVirtConfiguration): KubeVirtCause[] {
  const profile = seccompConfiguration?.virtualMachineInstanceProfile;
  if (!profile) return [];
  const at = 'spec.configuration.seccompConfiguration.virtualMachineInstanceProfile.customProfile';
  const custom = profile.customProfile;
  if (!custom) return [invalid(`${at} needs to be set`, at)];
  if (!custom.localhostProfile || !custom.runtimeDefaultProfile) return [];
  const [local, fallback] = [`${at}.localhostProfile`, `${at}.runtimeDefaultProfile`];
  return [
    invalid(`${local} cannot be set when ${fallback} is set`, local),
    invalid(`${fallback} cannot be set when ${local} is set`, fallback),
  ];
}

/** Settings that mean nothing while their gate is off. Both gates are on unless disabled. */
function gatedCauses({ configuration }: KubeVirtSpec): KubeVirtCause[] {
  const disabled = configuration?.developerConfiguration?.disabledFeatureGates ?? [];
  const causes: KubeVirtCause[] = [];
  if (configuration?.roleAggregationStrategy === 'Manual' && disabled.includes('OptOutRoleAggregation')) {
    const field = 'spec.configuration.roleAggregationStrategy';
    causes.push(invalid(`${field} Manual needs the feature gate OptOutRoleAggregation`, field));
  }
  if (configuration?.virtTemplateDeployment?.enabled && disabled.includes('Template')) {
    const field = 'spec.configuration.virtTemplateDeployment';
    causes.push(invalid(`${field} needs the feature gate Template`, field));
  }
  return causes;
}

/** Only for what this change brings: an old wart must not warn at every change. */
function warningsFor(next: KubeVirtConfiguration, old: KubeVirtConfiguration | undefined): string[] {
  const known = new Set(old?.developerConfiguration?.featureGates ?? []);
  const gates = (next.developerConfiguration?.featureGates ?? []).filter((gate) => !known.has(gate));
  const nodeTypes = next.mediatedDevicesConfiguration?.nodeMediatedDeviceTypes ?? [];
  return [
    ...gates.flatMap(gateWarning),
    ...((next.architectureConfiguration as { ppc64le?: unknown } | undefined)?.ppc64le
      ? ['spec.configuration.architectureConfiguration.ppc64le is deprecated and no longer supported.']
      : []),
    ...nodeTypes.flatMap(({ mediatedDevicesTypes }, at) =>
      mediatedDevicesTypes?.length ? [mediatedWarning(`nodeMediatedDeviceTypes[${at}].`)] : [],
    ),
    ...(next.mediatedDevicesConfiguration?.mediatedDevicesTypes?.length ? [mediatedWarning('')] : []),
  ];
}

const mediatedWarning = (at: string): string =>
  `spec.configuration.mediatedDevicesConfiguration.${at}mediatedDevicesTypes is deprecated, use mediatedDeviceTypes`;

function gateWarning(gate: string): string[] {
  switch (gateState(gate)) {
    case 'GA':
      return [
        `feature gate ${gate} is deprecated (feature state is "General Availability"), therefore it can be safely removed and is redundant. ` +
          'For more info, please look at: https://github.com/kubevirt/kubevirt/blob/main/docs/deprecation.md',
      ];
    case 'Deprecated':
      return [`feature gate ${gate} is deprecated and will be removed`];
    case 'Discontinued':
      return gate === 'Passt' || gate === 'Macvtap'
        ? [`${gate} network binding is discontinued since v1.3. Please refer to Kubevirt user guide for alternatives.`]
        : [`feature gate ${gate} is discontinued: machines that use the feature are refused`];
    case undefined:
      return [`feature gate ${gate} is unknown and has no effect`];
    default:
      return [];
  }
}
