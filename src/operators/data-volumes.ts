// CDI's DataVolumes as the VM and VMI controllers read them: which are filled, which only wait for a pod, which have failed. A cluster without
// CDI has none. Pure.
import type { DataVolumeSpec, KubeObject, Volume } from '../api/index.js';

export interface DataVolume extends KubeObject {
  spec?: DataVolumeSpec;
  status?: {
    phase?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

const phaseOf = ({ status }: DataVolume): string => status?.phase ?? '';
const conditionOf = ({ status }: DataVolume, type: string) => status?.conditions?.find((condition) => condition.type === type);

/** A guest can use it; a claim that a populator fills is bound only when a pod asks for it. */
export const isPopulated = (volume: DataVolume): boolean => ['Succeeded', 'PendingPopulation'].includes(phaseOf(volume));

export const awaitsConsumer = (volume: DataVolume): boolean => phaseOf(volume) === 'WaitForFirstConsumer';

export const hasFailed = (volume: DataVolume): boolean => phaseOf(volume) === 'Failed';

/** Failed, or being tried again and again. */
export function isBroken(volume: DataVolume): boolean {
  const running = conditionOf(volume, 'Running');
  const isFailing = running?.status === 'False' && ['Error', 'ImagePullFailed'].includes(running.reason ?? '');
  return hasFailed(volume) || isFailing;
}

/** Somebody fills it at the moment, or is about to. */
export const isBeingFilled = (volume: DataVolume): boolean =>
  !isPopulated(volume) && (conditionOf(volume, 'Bound')?.status === 'True' || !awaitsConsumer(volume));

export const exceedsQuota = (volume: DataVolume): boolean => conditionOf(volume, 'Bound')?.reason === 'ErrExceededQuota';

/** `disk is in phase ImportInProgress: why`, for conditions: how far it is would change them every second. */
export function stateOf(volume: DataVolume): string {
  const conditions = [conditionOf(volume, 'Running'), conditionOf(volume, 'Bound')];
  const why = conditions.find((condition) => condition?.status === 'False' && condition.message)?.message;
  return `${volume.metadata.name} is in phase ${phaseOf(volume) || 'Pending'}${why ? `: ${why}` : ''}`;
}

/** A DataVolume has its claim's name, so that a volume may name either. */
export const dataVolumeNameOf = ({ dataVolume, persistentVolumeClaim }: Volume): string | undefined =>
  dataVolume?.name ?? persistentVolumeClaim?.claimName;
