// Admission of the KubeVirt CR: what may be created, changed and deleted. Pure; virt-operator's webhook server calls it with what it
// has read. Rejections say all causes at once, in the words that scripts of existing installations match.
import type { KubeVirt, KubeVirtConfiguration } from '../../api/index.js';
import { gateState } from '../../core/config/gates.js';
import { permittedDevices } from '../../core/devices/permitted.js';
import { type KubeVirtCause, kubeVirtCauses } from './admit-kubevirt-rules.js';

export type KubeVirtVerdict =
  | { readonly allowed: true; readonly warnings: readonly string[] }
  | { readonly allowed: false; readonly causes: readonly KubeVirtCause[] }
  | { readonly allowed: false; readonly error: string; readonly code: number };

/** How many objects of each kind are left. */
export interface Workloads {
  readonly vmis: number;
  readonly vms: number;
  readonly replicaSets: number;
}

const allow = (warnings: readonly string[] = []): KubeVirtVerdict => ({ allowed: true, warnings });
const ALREADY_CREATED = 'Kubevirt is already created: a cluster holds one installation; change the existing KubeVirt, or delete it first';

/** One installation a cluster. */
export function admitKubeVirtCreate(kv: KubeVirt, existing: readonly KubeVirt[]): KubeVirtVerdict {
  if (existing.length > 0) return { allowed: false, error: ALREADY_CREATED, code: 400 };
  return admitKubeVirtUpdate(kv, undefined);
}

/** Whether deleting this CR depends on what still runs. */
export const isDeletionGuarded = ({ spec, status }: KubeVirt): boolean =>
  spec.uninstallStrategy === 'BlockUninstallIfWorkloadsExist' && status?.phase === 'Deployed';

export function admitKubeVirtDelete(kv: KubeVirt, workloads: Workloads): KubeVirtVerdict {
  if (!isDeletionGuarded(kv)) return allow();
  const left = [
    [workloads.vmis, 'Virtual Machine Instances'],
    [workloads.vms, 'Virtual Machines'],
    [workloads.replicaSets, 'Virtual Machine Instance Replica Sets'],
  ].find(([count]) => count !== 0)?.[1];
  if (left === undefined) return allow();
  const error =
    `Rejecting the uninstall request, since there are still ${left} present. ` +
    'Either delete all KubeVirt related workloads or change the uninstall strategy before uninstalling KubeVirt.';
  return { allowed: false, error, code: 400 };
}

/** `old` undefined: the whole spec is new. */
export function admitKubeVirtUpdate(kv: KubeVirt, old: KubeVirt | undefined): KubeVirtVerdict {
  const causes = kubeVirtCauses(kv, old);
  return causes.length > 0 ? { allowed: false, causes } : allow(warningsFor(kv.spec.configuration ?? {}, old?.spec.configuration));
}

/** Only for what this change brings: an old wart must not warn at every change. */
function warningsFor(next: KubeVirtConfiguration, old: KubeVirtConfiguration | undefined): string[] {
  const known = new Set(old?.developerConfiguration?.featureGates ?? []);
  const gates = (next.developerConfiguration?.featureGates ?? []).filter((gate) => !known.has(gate));
  const nodeTypes = next.mediatedDevicesConfiguration?.nodeMediatedDeviceTypes ?? [];
  return [
    ...gates.flatMap(gateWarning),
    ...((next.architectureConfiguration as { ppc64le?: unknown } | undefined)?.ppc64le
      ? ['spec.configuration.architectureConfiguration.ppc64le admits ppc64le guests, which upstream KubeVirt no longer has.']
      : []),
    ...nodeTypes.flatMap(({ mediatedDevicesTypes }, at) =>
      mediatedDevicesTypes?.length ? [mediatedWarning(`nodeMediatedDeviceTypes[${at}].`)] : [],
    ),
    ...(next.mediatedDevicesConfiguration?.mediatedDevicesTypes?.length ? [mediatedWarning('')] : []),
    ...newProblems(next, old).map((problem) => `spec.configuration.permittedHostDevices: ${problem}`),
  ];
}

function newProblems(next: KubeVirtConfiguration, old: KubeVirtConfiguration | undefined): string[] {
  const known = new Set(permittedDevices(old?.permittedHostDevices).problems);
  return permittedDevices(next.permittedHostDevices).problems.filter((problem) => !known.has(problem));
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
