// Mutation of VirtualMachineInstances: presets, defaults, finalizer and first phase on creation; on updates the status that a user sent is
// put back, since only KubeVirt's components write it. Pure.
import { isDeepStrictEqual } from 'node:util';
import { FINALIZER, type VirtualMachineInstance } from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { type DefaultsContext, defaultVmi } from '../../core/defaults/index.js';
import type { Mutation } from './mutation.js';
import { applyPresets, hasAppliedPreset, PRESET_WARNING, type VirtualMachineInstancePreset } from './preset.js';

export interface VmiMutationContext extends DefaultsContext {
  readonly presets: readonly VirtualMachineInstancePreset[];
  /** metav1.Time. */
  readonly now: string;
}

const refused = (error: string, code: number): Mutation<VirtualMachineInstance> => ({ refusal: { allowed: false, error, code } });

export function mutateVmiCreate(
  given: VirtualMachineInstance,
  config: ClusterConfig,
  context: VmiMutationContext,
): Mutation<VirtualMachineInstance> {
  const preset = applyPresets(given, context.presets);
  if (!preset.ok) return refused(preset.error, 422);
  const defaulted = defaultVmi(preset.value, config, context);
  if (!defaulted.ok) return refused(defaulted.error, 400);
  const vmi = defaulted.value;
  // The VM controller sets it too, so that no guest is without it when this webhook is not there.
  vmi.metadata.finalizers = [...new Set([...(vmi.metadata.finalizers ?? []), FINALIZER.vmi])];
  const transition = { phase: 'Pending', phaseTransitionTimestamp: context.now };
  vmi.status = {
    ...vmi.status,
    phase: 'Pending',
    phaseTransitionTimestamps: [...(vmi.status?.phaseTransitionTimestamps ?? []), transition],
  };
  return { object: vmi, warnings: hasAppliedPreset(vmi) ? [PRESET_WARNING] : [] };
}

export function mutateVmiUpdate(
  next: VirtualMachineInstance,
  old: VirtualMachineInstance,
  isOwnAccount: boolean,
): Mutation<VirtualMachineInstance> {
  if (isOwnAccount || isDeepStrictEqual(next.status ?? {}, old.status ?? {})) return { object: next, warnings: [] };
  // As whom the guest runs is always said; 0 is root.
  return { object: { ...next, status: { runtimeUser: 0, ...old.status } }, warnings: [] };
}
