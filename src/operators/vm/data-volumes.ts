// The DataVolumes that a VM's templates stand for: which are to be made or taken over, what they look like, and whether the guest may start. CDI fills them.
// Pure; decide.ts asks, data-volume-perform.ts creates.
import { controllerOf, type DataVolumeSpec, type DataVolumeTemplateSpec, isDeleting, type VirtualMachine } from '../../api/index.js';
import { type DataVolume, exceedsQuota, hasFailed, isBeingFilled, isBroken, stateOf } from '../data-volumes.js';
import type { Failure, Seen } from './seen.js';
import { text } from './text.js';
import { controllerRefOf } from './vmi-from-vm.js';

export type DataVolumeStep =
  | { readonly do: 'createDataVolume'; readonly template: DataVolumeTemplateSpec }
  /** Made by somebody else, for this VM or before it: it shall go with the VM. */
  | { readonly do: 'adoptDataVolume'; readonly volume: DataVolume };

export interface TemplatesPlan {
  readonly steps: readonly DataVolumeStep[];
  /** False: the guest waits. */
  readonly isReady: boolean;
  readonly failure?: Failure;
  /** When to look again at what no event tells. */
  readonly recheckMs?: number;
}

const IMMEDIATE = 'kubevirt.io/immediate-data-volume-creation';
const CREATED_BY = 'kubevirt.io/created-by';
const ADOPT = 'cdi.kubevirt.io/allowClaimAdoption';

/** CDI may be installed. */
const CDI_RECHECK_MS = 15_000;

const READY: TemplatesPlan = { steps: [], isReady: true };
const nameOf = ({ metadata }: DataVolumeTemplateSpec): string => metadata?.name ?? '';

/** Made when the VM is, unless it says that its first start is early enough. */
const isImmediate = ({ metadata }: VirtualMachine): boolean => metadata.annotations?.[IMMEDIATE] !== 'false';

/** `starts`: the guest is to start now. */
export function planTemplates(seen: Seen, starts: boolean): TemplatesPlan {
  const { vm, dataVolumes, templateClaims } = seen;
  const templates = vm.spec.dataVolumeTemplates ?? [];
  if (templates.length === 0) return READY;
  // A claim that is there already, filled by whomever, needs no DataVolume.
  const missing = templates.filter((template) => !dataVolumes.has(nameOf(template)) && !templateClaims.has(nameOf(template)));
  if (missing.length > 0) return starts || isImmediate(vm) ? creation(seen, missing) : READY;
  const volumes = templates.flatMap((template) => dataVolumes.get(nameOf(template)) ?? []);
  const failure = failureOf(volumes);
  return {
    steps: volumes.filter(isOwnerless).map((volume) => ({ do: 'adoptDataVolume', volume })),
    isReady: !volumes.some(isBeingFilled),
    ...(failure ? { failure } : {}),
  };
}

const isOwnerless = (volume: DataVolume): boolean => !controllerOf(volume) && !isDeleting(volume);

function creation({ hasCdi }: Seen, missing: readonly DataVolumeTemplateSpec[]): TemplatesPlan {
  if (hasCdi) return { steps: missing.map((template) => ({ do: 'createDataVolume', template })), isReady: false };
  const message = text.noCdi(missing.map(nameOf).join(', '));
  return { steps: [], isReady: false, failure: { reason: 'FailedDataVolumeCreate', message }, recheckMs: CDI_RECHECK_MS };
}

function failureOf(volumes: readonly DataVolume[]): Failure | undefined {
  const broken = volumes.find((volume) => isBroken(volume) || exceedsQuota(volume));
  if (!broken) return undefined;
  const { name = '' } = broken.metadata;
  const what = exceedsQuota(broken) ? text.importExceedsQuota(name) : text.importFailed(name);
  return { reason: 'FailedDataVolumeImport', message: hasFailed(broken) ? what : `${what}: ${stateOf(broken)}` };
}

/** `source`: what a reference to a DataSource stands for. */
export function dataVolumeOf(vm: VirtualMachine, template: DataVolumeTemplateSpec, source?: DataVolumeSpec['source']): DataVolume {
  const { sourceRef, ...spec } = template.spec;
  const priority = spec.priorityClassName ?? vm.spec.template.spec?.priorityClassName;
  const { metadata } = template;
  return {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: {
      ...metadata,
      ...(vm.metadata.namespace === undefined ? {} : { namespace: vm.metadata.namespace }),
      labels: { ...metadata?.labels, [CREATED_BY]: vm.metadata.uid ?? '' },
      annotations: { ...metadata?.annotations, [ADOPT]: 'true' },
      ownerReferences: [controllerRefOf(vm)],
    },
    spec: {
      ...spec,
      ...(source ? { source } : {}),
      ...(sourceRef && !source ? { sourceRef } : {}),
      ...(priority ? { priorityClassName: priority } : {}),
    },
  };
}

/** Whose rights count when a claim is cloned. */
export function cloningAccount({ spec }: VirtualMachine): string {
  const guest = spec.template.spec;
  const volume = guest?.volumes?.find(({ serviceAccount }) => serviceAccount !== undefined);
  return guest?.serviceAccountName ?? volume?.serviceAccount?.serviceAccountName ?? 'default';
}
