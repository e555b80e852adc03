// What must hold of a KubeVirt CR, cause by cause: patches, certificate lifetimes, replicas, gates, amounts, TLS, seccomp. Each rule looks at
// the new CR, and where only a change counts also at the old one. Pure; called by admit-kubevirt.ts, which decides what a request means.
import type { KubeVirt, KubeVirtConfiguration, KubeVirtSpec } from '../../api/index.js';
import { isGateEnabled } from '../../core/config/gates.js';
import { parseDuration } from '../../core/duration.js';
import { lifetimes } from './certificates/specs.js';

export interface KubeVirtCause {
  readonly type: 'FieldValueInvalid' | 'FieldValueNotSupported' | 'FieldValueForbidden';
  readonly message: string;
  readonly field: string;
}

/** `old` is the spec before the change; empty on creation. */
type KubeVirtRule = (next: KubeVirtSpec, old: KubeVirtSpec) => KubeVirtCause[];

const invalid = (message: string, field = ''): KubeVirtCause => ({ type: 'FieldValueInvalid', message, field });
const unsupported = (message: string, field = ''): KubeVirtCause => ({ type: 'FieldValueNotSupported', message, field });

const CONFIGURATION = 'spec.configuration';

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // that is the answer
  }
}

const patches: KubeVirtRule = ({ customizeComponents }) =>
  (customizeComponents?.patches ?? [])
    .filter(({ patch }) => !isJson(patch))
    .map(({ patch }) => unsupported(`patch "${patch}" is not valid JSON: write the patch of its type as JSON text`));

const SELF_SIGNED = 'spec.certificateRotationStrategy.selfSigned';
const DEPRECATED_MIX =
  'caRotateInterval, certRotateInterval and caOverlapInterval are deprecated and conflict with the settings under ca and server: keep the latter';

function lifetimeCauses(spec: KubeVirtSpec): KubeVirtCause[] {
  const { ca, server } = lifetimes(spec);
  const [caDuration, caRenew] = [`${SELF_SIGNED}.ca.duration`, `${SELF_SIGNED}.ca.renewBefore`];
  const [leafDuration, leafRenew] = [`${SELF_SIGNED}.server.duration`, `${SELF_SIGNED}.server.renewBefore`];
  const causes: KubeVirtCause[] = [];
  if (ca.durationMs < ca.renewBeforeMs) {
    causes.push(
      invalid(`CA RenewBefore cannot exceed Duration (${caDuration} < ${caRenew}): renew later, or let the authority live longer`),
    );
  }
  if (server.durationMs < server.renewBeforeMs) {
    causes.push(
      invalid(`Cert RenewBefore cannot exceed Duration (${leafDuration} < ${leafRenew}): renew later, or let certificates live longer`),
    );
  }
  if (server.durationMs > ca.durationMs) {
    causes.push(
      invalid(`Certificate duration cannot exceed CA (${leafDuration} > ${caDuration}): shorten it, or lengthen the authority's`),
    );
  }
  return causes;
}

const certificates: KubeVirtRule = (spec) => {
  const own = spec.certificateRotateStrategy?.selfSigned;
  if (!own) return [];
  const old = [own.caRotateInterval, own.certRotateInterval, own.caOverlapInterval];
  const texts = [...old, own.ca?.duration, own.ca?.renewBefore, own.server?.duration, own.server?.renewBefore];
  const unreadable = texts.filter((text) => text !== undefined && parseDuration(text) === undefined);
  if (unreadable.length > 0) return unreadable.map((text) => invalid(`"${text}" is not a duration such as 24h or 1h30m`, SELF_SIGNED));
  const isMixed = (own.ca !== undefined || own.server !== undefined) && old.some((text) => text !== undefined);
  return [...(isMixed ? [unsupported(DEPRECATED_MIX)] : []), ...lifetimeCauses(spec)];
};

const replicas: KubeVirtRule = ({ infra }) =>
  infra?.replicas === 0 ? [invalid("infra replica count can't be 0: leave it out for the default, or give at least 1")] : [];

/** What ParseFloat of the original would read, but for hexadecimal. */
const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(inf|infinity)$/i;

const overheadRatio: KubeVirtRule = ({ configuration }) => {
  const ratio = configuration?.additionalGuestMemoryOverheadRatio;
  if (ratio === undefined) return [];
  const isNegative = ratio.startsWith('-');
  if (!FLOAT.test(ratio)) return [unsupported(`ratio provided, "${ratio}", cannot be parsed into float: write a number such as 1.25`)];
  const isSmall = isNegative || (!/inf/i.test(ratio) && Number(ratio) < 1);
  return isSmall ? [unsupported(`ratio provided, ${ratio}, cannot be smaller than 1.0: it multiplies the overhead that is reserved`)] : [];
};

const isOn = (gate: string, { developerConfiguration }: KubeVirtConfiguration): boolean =>
  isGateEnabled(gate, developerConfiguration?.featureGates ?? [], developerConfiguration?.disabledFeatureGates ?? []);

const templateDeployment: KubeVirtRule = ({ configuration = {} }) => {
  if (configuration.virtTemplateDeployment?.enabled !== true || isOn('Template', configuration)) return [];
  const field = `${CONFIGURATION}.virtTemplateDeployment.enabled`;
  return [invalid(`${field} needs the feature gate Template: take it out of disabledFeatureGates, or do not deploy templates`, field)];
};

const roleAggregation: KubeVirtRule = ({ configuration = {} }) => {
  const strategy = configuration.roleAggregationStrategy;
  if (strategy === undefined || strategy === 'AggregateToDefault' || isOn('OptOutRoleAggregation', configuration)) return [];
  const field = `${CONFIGURATION}.roleAggregationStrategy`;
  return [invalid(`${field} ${strategy} needs the feature gate OptOutRoleAggregation: take it out of disabledFeatureGates`, field)];
};

const DOWNTIME_GATES = ['MigrationStallDetection', 'MigrationDowntimeTuning'] as const;

/** What was set while a gate was on may stay. */
const maxDowntime: KubeVirtRule = ({ configuration = {} }, { configuration: old = {} }) => {
  const value = configuration.migrations?.maxDowntimeMs;
  if (value === undefined || value === old.migrations?.maxDowntimeMs || DOWNTIME_GATES.some((gate) => isOn(gate, configuration))) return [];
  const field = `${CONFIGURATION}.migrationConfiguration.maxDowntimeMs`;
  return [invalid(`maxDowntimeMs cannot be set or changed without the feature gate ${DOWNTIME_GATES.join(' or ')}: enable one`, field)];
};

const AES_128 = ['AES_128_CBC_SHA', 'AES_128_GCM_SHA256'];
const AES_256 = ['AES_256_CBC_SHA', 'AES_256_GCM_SHA384'];
const WEAK = ['RC4_128_SHA', 'AES_128_CBC_SHA256'];
/** The IANA names of the cipher suites that exist in TLS up to 1.2 as Go's library knows them, and the three of TLS 1.3. */
const CIPHERS: ReadonlySet<string> = new Set([
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  ...[...AES_128, ...AES_256, ...WEAK, '3DES_EDE_CBC_SHA'].map((name) => `TLS_RSA_WITH_${name}`),
  ...[...AES_128, ...AES_256, ...WEAK, 'CHACHA20_POLY1305_SHA256'].map((name) => `TLS_ECDHE_ECDSA_WITH_${name}`),
  ...[...AES_128, ...AES_256, ...WEAK, 'CHACHA20_POLY1305_SHA256', '3DES_EDE_CBC_SHA'].map((name) => `TLS_ECDHE_RSA_WITH_${name}`),
]);

const tls: KubeVirtRule = ({ configuration }, { configuration: old }) => {
  const given = configuration?.tlsConfiguration;
  const ciphers = given?.ciphers ?? [];
  if (!given || ciphers.length === 0 || same(given, old?.tlsConfiguration)) return [];
  const at = `${CONFIGURATION}.tlsConfiguration`;
  if (!given.minTLSVersion || given.minTLSVersion === 'VersionTLS13') {
    const message = `You cannot specify ciphers when ${at}.minTLSVersion is empty or VersionTLS13: TLS 1.3 chooses its own; set VersionTLS12`;
    return [unsupported(message, `${at}.ciphers`)];
  }
  return [...ciphers.entries()]
    .filter(([, cipher]) => !CIPHERS.has(cipher))
    .map(([i, cipher]) =>
      unsupported(`${cipher} is not a valid cipher: use IANA names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`, `${at}.ciphers#${i}`),
    );
};

const seccomp: KubeVirtRule = ({ configuration }, { configuration: old }) => {
  const profile = configuration?.seccompConfiguration?.virtualMachineInstanceProfile;
  if (!profile || same(configuration?.seccompConfiguration, old?.seccompConfiguration)) return [];
  const at = `${CONFIGURATION}.seccompConfiguration.virtualMachineInstanceProfile.customProfile`;
  const custom = profile.customProfile;
  if (!custom) return [invalid(`${at} needs to be set: name a localhostProfile, or set runtimeDefaultProfile`, at)];
  if (custom.localhostProfile === undefined || !custom.runtimeDefaultProfile) return [];
  const [local, fallback] = [`${at}.localhostProfile`, `${at}.runtimeDefaultProfile`];
  return [
    invalid(`${local} cannot be set when ${fallback} is set: keep one`, local),
    invalid(`${fallback} cannot be set when ${local} is set: keep one`, fallback),
  ];
};

/** Dropping all developer settings is no change of gates. */
function gatesChanged({ configuration: next }: KubeVirtSpec, { configuration: old }: KubeVirtSpec): boolean {
  const [after, before] = [next?.developerConfiguration, old?.developerConfiguration];
  if (!after) return false;
  if (!before) return true;
  return !same(
    [after.featureGates ?? [], after.disabledFeatureGates ?? []],
    [before.featureGates ?? [], before.disabledFeatureGates ?? []],
  );
}

const gates: KubeVirtRule = (next, old) => {
  const { featureGates = [], disabledFeatureGates = [] } = next.configuration?.developerConfiguration ?? {};
  if (!gatesChanged(next, old)) return [];
  return featureGates
    .filter((gate) => disabledFeatureGates.includes(gate))
    .map((gate) => ({
      type: 'FieldValueForbidden' as const,
      field: `${CONFIGURATION}.developerConfiguration.featureGates`,
      message: `feature gate "${gate}" exists on both "FeatureGates" and "DisabledFeatureGates": take it out of one`,
    }));
};

const RULES: readonly KubeVirtRule[] = [
  patches,
  certificates,
  overheadRatio,
  templateDeployment,
  roleAggregation,
  maxDowntime,
  tls,
  seccomp,
  replicas,
  gates,
];

export const kubeVirtCauses = ({ spec }: KubeVirt, old: KubeVirt | undefined): KubeVirtCause[] =>
  RULES.flatMap((rule) => rule(spec, old?.spec ?? {}));
