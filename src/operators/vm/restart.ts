// Does the running guest need a restart to become what its VM says? Compares the template that it was started with and the one of now, both
// with instance type and preference written out, without the parts that come to a running guest by themselves. Pure.
import type { Disk, VirtualMachineInstance, VirtualMachineInstanceSpec, Volume } from '../../api/index.js';
import { isDeleting } from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { isLiveUpdate } from '../../core/config/cluster-lookups.js';
import { canonicalVmiSpec } from '../../core/defaults/index.js';
import { isHotpluggable } from '../../core/storage/hotpluggable.js';
import { deepEqual } from '../../runtime/patch.js';
import { comparedTemplates } from './instancetype-apply.js';
import { needsNetworkRestart } from './live-networks.js';
import { liveParts } from './live-update.js';
import { isFinal } from './predicates.js';
import { specOf } from './revision.js';
import { ownVmi, revisionOf, type Seen } from './seen.js';
import { text } from './text.js';

type Spec = VirtualMachineInstanceSpec;

export interface Compared {
  readonly started: Spec;
  readonly current: Spec;
}

const EMPTY: Spec = { domain: { devices: {} } };

/** undefined: nothing runs, or nothing can be said about it. */
export function comparedOf(seen: Seen): (Compared & { readonly vmi: VirtualMachineInstance }) | undefined {
  const vmi = ownVmi(seen);
  const stored = specOf(revisionOf(seen));
  if (!vmi || !stored || isFinal(vmi) || isDeleting(vmi)) return undefined;
  const compared = comparedTemplates(seen.vm, stored, seen.revisions);
  // As the VMI is stored: two spellings of one thing are no difference.
  return compared && { started: canonicalVmiSpec(compared.started ?? EMPTY), current: canonicalVmiSpec(compared.current ?? EMPTY), vmi };
}

const named = <T extends { name: string }>(list: readonly T[] | undefined, name: string): T | undefined =>
  list?.find((each) => each.name === name);

const comesAndGoes = (volume: Volume | undefined): boolean =>
  volume !== undefined && (isHotpluggable(volume) || volume.memoryDump?.hotpluggable === true);

const fixedVolumes = (list: readonly Volume[] | undefined): Volume[] => (list ?? []).filter((volume) => !comesAndGoes(volume));

/** Media come and go, drives do not. */
const fixedDisks = ({ domain, volumes }: Spec): Disk[] =>
  (domain.devices.disks ?? []).filter(({ name, cdrom }) => cdrom !== undefined || !comesAndGoes(named(volumes, name)));

/** Both without what the guest gets, or has got, while it runs. */
function fixedParts(
  spec: Spec,
  other: Spec,
  at: { readonly isLive: boolean; readonly hasNics: boolean; readonly uuid: string | undefined },
): unknown {
  const { volumes: _v, networks, nodeSelector, affinity, tolerations, domain, ...rest } = spec;
  const { cpu, memory, firmware, devices, ...others } = domain;
  const { disks: _d, interfaces, ...fixed } = devices;
  const { sockets, ...cores } = cpu ?? {};
  const { guest, ...pages } = memory ?? {};
  const { uuid, ...boot } = firmware ?? {};
  const isGiven = {
    sockets: hasBoth(spec, other, ({ domain: { cpu: c } }) => c?.sockets),
    guest: hasBoth(spec, other, ({ domain: { memory: m } }) => m?.guest),
  };
  return {
    rest,
    others,
    devices: fixed,
    disks: fixedDisks(spec),
    volumes: fixedVolumes(spec.volumes),
    cores,
    pages,
    boot,
    uuid: uuid === at.uuid ? undefined : uuid,
    ...(at.hasNics ? { networks: networks ?? [], interfaces: interfaces ?? [] } : {}),
    ...(at.isLive ? {} : { nodeSelector, affinity, tolerations }),
    sockets: at.isLive && isGiven.sockets ? undefined : sockets,
    guest: at.isLive && isGiven.guest ? undefined : guest,
  };
}

const hasBoth = (a: Spec, b: Spec, of: (spec: Spec) => unknown): boolean => Boolean(of(a)) && Boolean(of(b));

function isStructural({ started, current, vmi }: Compared & { readonly vmi: VirtualMachineInstance }, config: ClusterConfig): boolean {
  if (deepEqual(started, current)) return false;
  const at = {
    isLive: isLiveUpdate(config),
    hasNics: needsNetworkRestart(started, current, vmi),
    uuid: vmi.spec.domain.firmware?.uuid,
  };
  return at.hasNics || !deepEqual(fixedParts(started, current, at), fixedParts(current, started, at));
}

/** Why, in the words of the RestartRequired condition. */
export function restartReason(seen: Seen): string | undefined {
  const compared = comparedOf(seen);
  if (!compared) return undefined;
  if (isStructural(compared, seen.config)) return text.restartRequired;
  if (!isLiveUpdate(seen.config)) return undefined;
  return liveParts(compared.current, compared.vmi, seen.config).find(({ restart }) => restart !== undefined)?.restart;
}
