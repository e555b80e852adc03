// status.printableStatus: the VM's state in one word. An ordered list of checks; the first that holds gives the word.
import {
  isDeleting,
  type PersistentVolumeClaim,
  type PrintableStatus,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/index.js';
import { type DataVolume, dataVolumeNameOf, exceedsQuota, isBeingFilled, isBroken } from '../data-volumes.js';
import { isFinal, isSetToStart, runStrategyOf } from './predicates.js';

export interface PrintableInput {
  readonly vm: VirtualMachine;
  readonly vmi: VirtualMachineInstance | undefined;
  /** By name, in the VM's namespace. */
  readonly dataVolumes: ReadonlyMap<string, DataVolume>;
  readonly pvcs: ReadonlyMap<string, PersistentVolumeClaim>;
  /** Our own create or delete of the VMI has not come back from the watch yet. */
  readonly createPending: boolean;
  readonly deletePending: boolean;
  readonly now: number;
}

type Check = (input: PrintableInput) => boolean;

const conditionOf = (vmi: VirtualMachineInstance | undefined, type: string) => vmi?.status?.conditions?.find((c) => c.type === type);
const isPaused = (vmi: VirtualMachineInstance): boolean => conditionOf(vmi, 'Paused')?.status === 'True';

const syncFailed =
  (reason: string): Check =>
  ({ vmi }) => {
    const synchronized = conditionOf(vmi, 'Synchronized');
    return synchronized?.status === 'False' && synchronized.reason === reason;
  };

const isMigrating: Check = ({ vmi, now }) => {
  const state = vmi?.status?.migrationState;
  return state?.startTimestamp !== undefined && Date.parse(state.startTimestamp) <= now && !state.endTimestamp;
};

const volumesOf = (vm: VirtualMachine) => vm.spec.template.spec?.volumes ?? [];

function dataVolumesOf({ vm, dataVolumes }: PrintableInput): DataVolume[] {
  return volumesOf(vm)
    .map((v) => dataVolumes.get(dataVolumeNameOf(v) ?? ''))
    .filter((dv) => dv !== undefined);
}

const isWaitingForBinding: Check = ({ vm, vmi, pvcs }) =>
  isSetToStart(vm, vmi) &&
  volumesOf(vm).some((v) => {
    const pvc = pvcs.get(v.persistentVolumeClaim?.claimName ?? v.dataVolume?.name ?? '');
    return pvc !== undefined && pvc.status?.phase !== 'Bound';
  });

const STARTING = new Set(['', 'Pending', 'Scheduling', 'Scheduled']);
const BACKED_OFF = new Set(['Always', 'RerunOnFailure', 'Once']);

const isGone = ({ vmi, createPending }: PrintableInput): boolean => (vmi === undefined || isFinal(vmi)) && !createPending;

const CHECKS: readonly (readonly [PrintableStatus, Check])[] = [
  ['Terminating', ({ vm }) => isDeleting(vm)],
  ['Stopping', ({ vmi, deletePending }) => vmi !== undefined && !isFinal(vmi) && (isDeleting(vmi) || deletePending)],
  ['Migrating', isMigrating],
  ['Paused', ({ vmi }) => vmi?.status?.phase === 'Running' && isPaused(vmi)],
  ['Running', ({ vmi }) => vmi?.status?.phase === 'Running'],
  ['ErrorPvcNotFound', syncFailed('FailedPvcNotFound')],
  ['DataVolumeError', (input) => dataVolumesOf(input).some((volume) => isBroken(volume) || exceedsQuota(volume))],
  [
    'ErrorUnschedulable',
    ({ vmi }) => {
      const scheduled = conditionOf(vmi, 'PodScheduled');
      return scheduled?.status === 'False' && scheduled.reason === 'Unschedulable';
    },
  ],
  ['Provisioning', (input) => dataVolumesOf(input).some(isBeingFilled)],
  ['WaitingForVolumeBinding', isWaitingForBinding],
  ['ErrImagePull', syncFailed('ErrImagePull')],
  ['ImagePullBackOff', syncFailed('ImagePullBackOff')],
  ['Starting', ({ vmi, createPending }) => (vmi ? STARTING.has(vmi.status?.phase ?? '') : createPending)],
  [
    'CrashLoopBackOff',
    (input) => isGone(input) && (input.vm.status?.startFailure?.consecutiveFailCount ?? 0) > 0 && BACKED_OFF.has(runStrategyOf(input.vm)),
  ],
  ['Stopped', isGone],
  [
    'WaitingForReceiver',
    ({ vm, vmi }) => runStrategyOf(vm) === 'WaitAsReceiver' && (vmi === undefined || vmi.status?.phase === 'WaitingForSync'),
  ],
];

export function printableStatus(input: PrintableInput): PrintableStatus {
  return CHECKS.find(([, holds]) => holds(input))?.[0] ?? 'Unknown';
}
