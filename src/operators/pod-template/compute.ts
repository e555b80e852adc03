// The compute container: the launcher with the flags that are true for this VMI, its resources, its ports and probes.
import type { Container, VirtualMachineInstance } from '../../api/index.js';
import type { Amount } from '../../api/quantity.js';
import { KvError } from '../../base/errors.js';
import { hypervisorOf, ovmfPathFor } from '../../core/config/cluster-lookups.js';
import { selectorMatches } from '../../core/label-selector.js';
import { computeResources } from '../../core/resources/compute-resources.js';
import type { PodContext } from './context.js';
import { networkResources } from './networks.js';
import type { AllParts } from './parts.js';
import { podProbe } from './probes.js';
import { computeSecurity, isNonRoot, stateDirectories } from './security.js';
import { hookSidecars } from './sidecars.js';

/** From the end of the guest's grace period to the kill of QEMU, and once more to the kill of the pod. */
export const KILL_MARGIN_SECONDS = 15;
export const DEFAULT_GRACE_SECONDS = 30;
const NORMAL_VERBOSITY = 2;
/** Above it the programs below the launcher say all they can, too. */
const DEBUG_VERBOSITY = 5;

const FIRMWARE_CRASH_TEST = 'kubevirt.io/func-test-virt-launcher-fail-fast';
const KEEP_AFTER_FAILURE = 'kubevirt.io/keep-launcher-alive-after-failure';
const LOG_FILTERS = 'kubevirt.io/libvirt-log-filters';

export const graceSeconds = ({ spec }: VirtualMachineInstance): number => spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;

function switches(vmi: VirtualMachineInstance, ctx: PodContext): string[] {
  const annotations = vmi.metadata.annotations ?? {};
  const { config } = ctx;
  const wanted: [boolean, string][] = [
    [isNonRoot(vmi), '--run-as-nonroot'],
    [ctx.imageVolumes, '--image-volume'],
    [config.isEnabled('VMStatsCollector'), '--vm-stats-collector'],
    [config.isEnabled('FirmwareAutoSelection'), '--firmware-auto-selection'],
    [config.useEmulation, '--allow-emulation'],
    [config.isEnabled('CrossArchitectureVirtualization'), '--allow-cross-arch-emulation'],
    [annotations[KEEP_AFTER_FAILURE] === '' || annotations[KEEP_AFTER_FAILURE]?.startsWith('true') === true, '--keep-after-failure'],
    [annotations[FIRMWARE_CRASH_TEST] !== undefined, '--simulate-crash'],
  ];
  return wanted.flatMap(([applies, flag]) => (applies ? [flag] : []));
}

function launcherArgs(vmi: VirtualMachineInstance, ctx: PodContext): string[] {
  const ovmf = ovmfPathFor(ctx.config, vmi.spec.architecture || ctx.config.defaultArchitecture);
  const hypervisor = hypervisorOf(ctx.config);
  const hooks = hookSidecars(vmi, ctx).length;
  const filters = vmi.metadata.annotations?.[LOG_FILTERS];
  const { name = '', uid = '', namespace = '' } = vmi.metadata;
  const values: [string, string | undefined][] = [
    ['--name', name],
    ['--uid', uid],
    ['--namespace', namespace],
    ['--qemu-timeout', `${ctx.qemuTimeoutSeconds}s`],
    ['--grace-period-seconds', String(graceSeconds(vmi) + KILL_MARGIN_SECONDS)],
    ['--hook-sidecars', hooks > 0 ? String(hooks) : undefined],
    ['--ovmf-path', ovmf || undefined],
    ['--libvirt-log-filters', filters],
    ['--hypervisor', hypervisor.name === 'kvm' ? undefined : hypervisor.name],
  ];
  return [...values.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])), ...switches(vmi, ctx)];
}

type Env = NonNullable<Container['env']>;

const isTrue = (label: string | undefined): boolean => label?.toLowerCase() === 'true';

function verbosityOf({ metadata }: VirtualMachineInstance, { config }: PodContext): number {
  const label = metadata.labels?.logVerbosity;
  if (label === undefined) return config.spec.developerConfiguration?.logVerbosity?.virtLauncher || NORMAL_VERBOSITY;
  if (/^[+-]?\d+$/.test(label)) return Number(label);
  throw new KvError('Invalid', `label logVerbosity "${label}" of ${metadata.name} is no whole number: write one from 0 to 9`, {
    reason: 'InvalidVerbosity',
  });
}

function environment(vmi: VirtualMachineInstance, ctx: PodContext): Env {
  const labels = vmi.metadata.labels ?? {};
  const verbosity = verbosityOf(vmi, ctx);
  const isVerbose = verbosity > DEBUG_VERBOSITY;
  const values: [string, string | undefined][] = [
    ['VIRT_LAUNCHER_LOG_VERBOSITY', verbosity === NORMAL_VERBOSITY ? undefined : String(verbosity)],
    ['LIBVIRT_DEBUG_LOGS', isTrue(labels.debugLogs) || isVerbose ? '1' : undefined],
    ['VIRTIOFSD_DEBUG_LOGS', isTrue(labels.virtiofsdDebugLogs) || isVerbose ? '1' : undefined],
  ];
  return [
    ...stateDirectories(vmi),
    ...values.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ];
}

function ports({ spec }: VirtualMachineInstance): NonNullable<Container['ports']> {
  return (spec.domain.devices.interfaces ?? []).flatMap((iface) =>
    (iface.ports ?? []).map(({ name, port, protocol }) => ({
      ...(name ? { name } : {}),
      containerPort: port,
      protocol: protocol || 'TCP',
    })),
  );
}

const LIMITS_RATIO_LABEL = 'alpha.kubevirt.io/auto-memory-limits-ratio';
const DEFAULT_LIMITS_RATIO = 2;

function memoryRatio({ quotaResources, namespaceLabels }: PodContext): number | undefined {
  if (!quotaResources?.has('limits.memory')) return undefined;
  const labelled = Number(namespaceLabels?.[LIMITS_RATIO_LABEL]);
  return labelled >= 1 ? labelled : DEFAULT_LIMITS_RATIO;
}

/** A selector that the configuration does not set selects no namespace. */
function wantsCpuLimits({ config, quotaResources, namespaceLabels }: PodContext): boolean {
  if (quotaResources?.has('limits.cpu')) return true;
  return selectorMatches(config.spec.autoCPULimitNamespaceLabelSelector, namespaceLabels);
}

function resources(vmi: VirtualMachineInstance, ctx: PodContext, overhead: Amount): NonNullable<Container['resources']> {
  const ratio = memoryRatio(ctx);
  const { requests, limits, claims } = computeResources(vmi, {
    config: ctx.config,
    overhead,
    autoCpuLimits: wantsCpuLimits(ctx),
    ...(ratio === undefined ? {} : { autoMemoryRatio: ratio }),
    networkResources: networkResources(vmi, ctx),
  });
  return { requests, limits, ...(claims ? { claims: [...claims] } : {}) };
}

export function computeContainer(vmi: VirtualMachineInstance, ctx: PodContext, overhead: Amount, { mounts, devices }: AllParts): Container {
  const readiness = podProbe(vmi, vmi.spec.readinessProbe);
  const liveness = podProbe(vmi, vmi.spec.livenessProbe);
  const open = ports(vmi);
  return {
    name: 'compute',
    image: ctx.launcherImage,
    ...(ctx.config.spec.imagePullPolicy ? { imagePullPolicy: ctx.config.spec.imagePullPolicy } : {}),
    command: ['/usr/bin/tini', '-s', '--', '/usr/bin/virt-launcher'],
    args: launcherArgs(vmi, ctx),
    env: environment(vmi, ctx),
    resources: resources(vmi, ctx, overhead),
    securityContext: computeSecurity(vmi),
    volumeMounts: [...mounts],
    ...(devices.length > 0 ? { volumeDevices: [...devices] } : {}),
    ...(open.length > 0 ? { ports: open } : {}),
    ...(readiness ? { readinessProbe: readiness } : {}),
    ...(liveness ? { livenessProbe: liveness } : {}),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}
