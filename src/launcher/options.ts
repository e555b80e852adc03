// The launcher's command line as one frozen object. Flag names and defaults are the reference's, so that a launcher pod made for one
// runs the other; called by src/main/virt-launcher.ts, which exits with 2 on a problem. Reads nothing but its argument.
import { parseArgs } from 'node:util';
import { fail, ok, type Result } from '../base/result.js';
import { parseDuration } from '../core/duration.js';

export interface LauncherOptions {
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  /** How long to wait for a domain before giving up. */
  readonly qemuTimeoutMs: number;
  /** From the kubelet's SIGTERM to the kill. */
  readonly gracePeriodSeconds: number;
  readonly allowEmulation: boolean;
  readonly allowCrossArchEmulation: boolean;
  /** Container disks are image volumes of the pod. */
  readonly imageVolume: boolean;
  readonly runAsNonroot: boolean;
  readonly firmwareAutoSelection: boolean;
  readonly vmStatsCollector: boolean;
  readonly simulateCrash: boolean;
  readonly ovmfPath: string;
  readonly hypervisor: 'kvm' | 'hyperv-direct';
  readonly libvirtLogFilters: string | undefined;
  /** Hook sidecars of the pod. */
  readonly hookSidecars: number;
  readonly agentIntervals: AgentIntervals;
}

export interface AgentIntervals {
  readonly sysMs: number;
  readonly fileMs: number;
  readonly userMs: number;
  readonly versionMs: number;
  readonly fsFreezeMs: number;
}

const string = (value: string) => ({ type: 'string', default: value }) as const;
const flag = { type: 'boolean', default: false } as const;

const FLAGS = {
  name: string(''),
  uid: string(''),
  namespace: string(''),
  'qemu-timeout': string('3m'),
  'kubevirt-share-dir': string('/var/run/kubevirt'),
  'ephemeral-disk-dir': string('/var/run/kubevirt-ephemeral-disks'),
  'container-disk-dir': string('/var/run/kubevirt/container-disks'),
  'hotplug-disk-dir': string('/var/run/kubevirt/hotplug-disks/'),
  'grace-period-seconds': string('30'),
  'hook-sidecars': string('0'),
  'disk-memory-limit': string('2097152000'),
  'ovmf-path': string('/usr/share/OVMF'),
  'qemu-agent-sys-interval': string('120s'),
  'qemu-agent-file-interval': string('300s'),
  'qemu-agent-user-interval': string('10s'),
  'qemu-agent-version-interval': string('300s'),
  'qemu-fsfreeze-status-interval': string('5s'),
  'libvirt-log-filters': string(''),
  hypervisor: string('kvm'),
  'allow-emulation': flag,
  'allow-cross-arch-emulation': flag,
  'image-volume': flag,
  'keep-after-failure': flag,
  'run-as-nonroot': flag,
  'upgrade-ordinal-ifaces': flag,
  'vgpu-dedicated-hook': flag,
  'vm-stats-collector': flag,
  'firmware-auto-selection': flag,
  'simulate-crash': flag,
} as const;

type Values = { [K in keyof typeof FLAGS]: (typeof FLAGS)[K]['type'] extends 'boolean' ? boolean : string };

/** "--flag=true" and "--flag=false" are the reference's spelling of a switch; parseArgs only knows "--flag". */
function normalise(argv: readonly string[]): string[] {
  return argv.flatMap((arg) => {
    const match = /^--([a-z-]+)=(true|false)$/.exec(arg);
    const isSwitch = match && FLAGS[match[1] as keyof typeof FLAGS]?.type === 'boolean';
    if (!isSwitch) return [arg];
    return match[2] === 'true' ? [`--${match[1]}`] : [];
  });
}

/** Each gives a sentence when the flags break its rule. */
const RULES: readonly ((values: Values) => string | undefined)[] = [
  (values) => {
    const missing = (['name', 'uid', 'namespace'] as const).find((key) => values[key] === '');
    return missing && `--${missing} is required`;
  },
  (values) => {
    const durations = Object.entries(values).filter(([key]) => key === 'qemu-timeout' || key.endsWith('-interval'));
    const bad = durations.find(([, value]) => (parseDuration(String(value)) ?? -1) < 0);
    return bad && `--${bad[0]}: "${bad[1]}" is no duration such as 3m or 120s`;
  },
  ({ 'grace-period-seconds': seconds }) => (/^\d+$/.test(seconds) ? undefined : `--grace-period-seconds: "${seconds}" is no whole number`),
  ({ 'hook-sidecars': count }) => (/^\d+$/.test(count) ? undefined : `--hook-sidecars: "${count}" is no whole number`),
  ({ hypervisor }) => (['kvm', 'hyperv-direct'].includes(hypervisor) ? undefined : `--hypervisor: "${hypervisor}" is not known`),
];

function problemOf(values: Values): string | undefined {
  return RULES.map((rule) => rule(values)).find((problem) => problem !== undefined);
}

const agentIntervals = (values: Values): AgentIntervals => {
  const ms = (key: keyof Values): number => parseDuration(String(values[key])) ?? 0;
  return {
    sysMs: ms('qemu-agent-sys-interval'),
    fileMs: ms('qemu-agent-file-interval'),
    userMs: ms('qemu-agent-user-interval'),
    versionMs: ms('qemu-agent-version-interval'),
    fsFreezeMs: ms('qemu-fsfreeze-status-interval'),
  };
};

function toOptions(values: Values): LauncherOptions {
  return {
    name: values.name,
    uid: values.uid,
    namespace: values.namespace,
    qemuTimeoutMs: parseDuration(values['qemu-timeout']) ?? 0,
    gracePeriodSeconds: Number(values['grace-period-seconds']),
    allowEmulation: values['allow-emulation'],
    allowCrossArchEmulation: values['allow-cross-arch-emulation'],
    imageVolume: values['image-volume'],
    runAsNonroot: values['run-as-nonroot'],
    firmwareAutoSelection: values['firmware-auto-selection'],
    vmStatsCollector: values['vm-stats-collector'],
    simulateCrash: values['simulate-crash'],
    ovmfPath: values['ovmf-path'],
    hypervisor: values.hypervisor as LauncherOptions['hypervisor'],
    libvirtLogFilters: values['libvirt-log-filters'] || undefined,
    hookSidecars: Number(values['hook-sidecars']),
    agentIntervals: agentIntervals(values),
  };
}

/** The options, or one sentence saying what is wrong with the command line. */
export function parseLauncherOptions(argv: readonly string[]): Result<LauncherOptions, string> {
  try {
    const { values } = parseArgs({ args: normalise(argv), options: FLAGS, strict: true, allowPositionals: false });
    const problem = problemOf(values as Values);
    return problem === undefined ? ok(Object.freeze(toOptions(values as Values))) : fail(problem);
  } catch (err) {
    // parseArgs throws for an unknown flag or a missing value; its sentence names the flag.
    return fail((err as Error).message);
  }
}
