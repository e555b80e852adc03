// Admission of a VirtualMachineInstance on create and update. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { VirtualMachineInstance } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { canonicalVmiSpec } from '../../../core/defaults/index.js';
import { allow, type Verdict, verdictOf } from '../../verdict.js';
import { type Cause, type Causes, invalid, notSupported } from '../rule.js';
import { hotplugCauses } from './hotplug-update.js';
import { reservedLabels } from './metadata.js';
import { vmiCreateCauses } from './rules.js';

export interface VmiUpdate {
  readonly vmi: VirtualMachineInstance;
  readonly old: VirtualMachineInstance;
  readonly isOwnAccount: boolean;
  readonly isNodeAgent: boolean;
  /** The node that the requesting service account's token is bound to. */
  readonly nodeName?: string;
}

export function admitVmiCreate(vmi: VirtualMachineInstance, config: ClusterConfig, isOwnAccount: boolean): Verdict {
  return verdictOf(vmiCreateCauses(vmi, config, isOwnAccount));
}

function nodeFault({ vmi, old, nodeName }: VmiUpdate): Cause | undefined {
  if (nodeName === undefined)
    return invalid('', 'Node restriction failed: the token of virt-handler names no node; it must be bound to its pod');
  const target = old.status?.migrationState?.targetNode ?? '';
  if (nodeName !== (old.status?.nodeName ?? '') && (target === '' || nodeName !== target)) {
    return invalid('', `Node restriction: the virt-handler of ${nodeName} may only change VMIs that run on its node or migrate to it`);
  }
  if (target === '' && vmi.status?.migrationState && (vmi.status.migrationState.targetNode ?? '') !== '') {
    return invalid('', 'Node restriction: the target node of a migration is set by virt-controller');
  }
  return undefined;
}

function* updateCauses(update: VmiUpdate, config: ClusterConfig): Causes {
  const { vmi, old, isOwnAccount } = update;
  const node = update.isNodeAgent && config.isEnabled('NodeRestriction') ? nodeFault(update) : undefined;
  if (node) {
    yield node;
    return;
  }
  const [next, before] = [canonicalVmiSpec(vmi.spec), canonicalVmiSpec(old.spec)];
  if (!isDeepStrictEqual(next, before)) {
    if (!isOwnAccount) {
      yield notSupported('', 'update of VMI object is restricted: change the VirtualMachine that owns it, or use the subresources');
      return;
    }
    const causes = [...hotplugCauses({ ...vmi, spec: next }, { ...old, spec: before }, config)];
    yield* causes;
    if (causes.length > 0) return;
  }
  if (!isOwnAccount && !isDeepStrictEqual(reservedLabels(old.metadata.labels), reservedLabels(vmi.metadata.labels))) {
    yield notSupported(
      '',
      `the labels ${Object.keys({ ...reservedLabels(old.metadata.labels), ...reservedLabels(vmi.metadata.labels) }).join(', ')} are reserved for KubeVirt's own components: leave them as they are`,
    );
  }
}

export function admitVmiUpdate(update: VmiUpdate, config: ClusterConfig): Verdict {
  const verdict = verdictOf(updateCauses(update, config));
  return verdict.allowed ? allow() : verdict;
}
