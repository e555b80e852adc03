// Admission of VirtualMachineRestores: to a VirtualMachine, one at a time for each, with sound overrides, policies and patches; state that
// belongs to one VM's firmware goes back to that VM only. Pure: the caller has read snapshot, content, target and the other restores.
import { field } from '../../../api/field-path.js';
import type { KubeObject, VirtualMachine, VirtualMachineRestore, VirtualMachineSnapshot } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { refuse, type Verdict, verdictOf } from '../../verdict.js';
import { gateOff } from '../gate-off.js';
import { sameReference, unchangedSpec } from '../reference.js';
import { type Cause, type Causes, invalid, required } from '../rule.js';
import { vmReference } from './vm-reference.js';

/** The part of a content that is read here; the stored VM has a spec, or it could not have been taken. */
export interface VirtualMachineSnapshotContent extends KubeObject {
  readonly spec: { readonly source: { readonly virtualMachine?: Pick<VirtualMachine, 'spec'> } };
}

export interface RestoreRequest {
  readonly restore: VirtualMachineRestore;
  readonly snapshot?: VirtualMachineSnapshot;
  readonly content?: VirtualMachineSnapshotContent;
  readonly target?: VirtualMachine;
  /** Restores of the same namespace. */
  readonly others: readonly VirtualMachineRestore[];
}

const ALLOWED_ROOTS = ['/spec/', '/metadata/labels/', '/metadata/annotations/'];
const VOLUME_POLICIES = ['InPlace', 'RandomizeNames', 'PrefixTargetName'];
const OWNERSHIP_POLICIES = ['Vm', 'None'];

/** Patches are flat JSON objects; members are split at commas, so that a value may hold neither comma nor colon. */
function memberFault(member: string): string | undefined {
  const parts = member.split(':').map((part) => part.trim());
  const [key, value = ''] = parts;
  if (parts.length !== 2)
    return `patch member ${member} is no single key and value: write patches as flat JSON objects with one ":" a member`;
  if (key !== '"path"' || ALLOWED_ROOTS.some((root) => value.startsWith(`"${root}`))) return undefined;
  return `patch path ${value} is not allowed: only elements below ${ALLOWED_ROOTS.join(', ')} can be patched`;
}

function* patches({ spec }: VirtualMachineRestore): Causes {
  for (const patch of spec.patches ?? []) {
    const members = patch.replace(/^[{}]+|[{}]+$/g, '').split(',');
    for (const member of members) {
      const fault = memberFault(member);
      if (fault) yield invalid('spec.patches', fault);
    }
  }
}

function* overrides({ spec }: VirtualMachineRestore): Causes {
  for (const [i, override] of (spec.volumeRestoreOverrides ?? []).entries()) {
    const at = field('spec', 'volumeRestoreOverrides', i);
    if (!override.volumeName) yield required(field(at, 'volumeName'), 'the override names no volume: set volumeName');
    if (!override.restoreName && !override.annotations && !override.labels) {
      yield required(at, 'the override changes nothing: set restoreName, labels or annotations');
    }
  }
}

function* policies({ spec }: VirtualMachineRestore): Causes {
  const { volumeRestorePolicy: volumes, volumeOwnershipPolicy: owners } = spec;
  if (volumes !== undefined && !VOLUME_POLICIES.includes(volumes)) {
    yield invalid('spec.volumeRestorePolicy', `volume restore policy "${volumes}" doesn't exist: use one of ${VOLUME_POLICIES.join(', ')}`);
  }
  if (owners !== undefined && !OWNERSHIP_POLICIES.includes(owners)) {
    yield invalid(
      'spec.volumeOwnershipPolicy',
      `volume ownership policy "${owners}" doesn't exist: use one of ${OWNERSHIP_POLICIES.join(', ')}`,
    );
  }
}

function* inProgress({ restore, others }: RestoreRequest): Causes {
  for (const other of others) {
    if (!sameReference(other.spec?.target, restore.spec.target) || other.status?.complete === true) continue;
    yield invalid('spec.target', `VirtualMachineRestore "${other.metadata.name}" in progress: wait until it is complete, or delete it`);
  }
}

/** Firmware state outside the disks: TPM secrets and UEFI variables. */
function keepsFirmwareState({ spec }: Pick<VirtualMachine, 'spec'>): boolean {
  const domain = spec.template?.spec?.domain;
  const tpm = domain?.devices?.tpm;
  const keepsTpm = tpm !== undefined && tpm.enabled !== false && tpm.persistent === true;
  return keepsTpm || domain?.firmware?.bootloader?.efi?.persistent === true;
}

type Finding = { readonly causes: readonly Cause[] } | { readonly error: string };

/** Whether what the snapshot holds may go to the target. A snapshot that is not there yet may still come. */
function fittingTarget({ snapshot, content, target }: RestoreRequest): Finding {
  const source = snapshot?.status?.sourceUID;
  const isSame = target !== undefined && (source === undefined || target.metadata.uid === source);
  if (!snapshot || isSame) return { causes: [] };
  const name = snapshot.status?.virtualMachineSnapshotContentName;
  if (name === undefined)
    return { error: `VirtualMachineSnapshot ${snapshot.metadata.name} has no content yet: wait until it is ready to use` };
  if (!content) return { error: `VirtualMachineSnapshotContent "${name}" of the snapshot was not found: take another snapshot` };
  const vm = content.spec.source.virtualMachine;
  if (!vm) return { error: `VirtualMachineSnapshotContent "${name}" holds no VirtualMachine: take another snapshot` };
  if (!keepsFirmwareState(vm)) return { causes: [] };
  const why = 'Restore to a different VM is not supported when snapshotted VM has backend storage (persistent TPM or EFI)';
  return { causes: [invalid('spec', `${why}: restore to the VM that the snapshot is of`)] };
}

export function admitRestoreCreate(request: RestoreRequest, config: ClusterConfig): Verdict {
  if (!config.isEnabled('Snapshot')) return refuse(gateOff('Snapshot', 'a restore'));
  const { restore } = request;
  const reference = [...vmReference(restore.spec?.target, 'spec.target')];
  if (reference.length > 0) return verdictOf([...reference, ...inProgress(request)]);
  const finding = fittingTarget(request);
  if ('error' in finding) return refuse(finding.error);
  return verdictOf([...patches(restore), ...finding.causes, ...overrides(restore), ...policies(restore), ...inProgress(request)]);
}

export const admitRestoreUpdate = (next: VirtualMachineRestore, old: VirtualMachineRestore): Verdict => verdictOf(unchangedSpec(next, old));
